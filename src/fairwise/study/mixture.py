"""How many pairs of which kind each participant is shown: the table ``[design]`` of ``study.toml``."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Self

from pydantic import Field, model_validator

from fairwise.study.toml import Input, Line, SettingsTable

KINDS = ("fixed", "stratified", "anchors", "repeats", "checks", "active")
"""Kinds of pairs beside uniform ones."""

OFFERED_KINDS = ("anchors", "repeats", "checks", "fixed", "active")
"""Those that the console asks for: stratified ones need strata too."""

Count = Annotated[int, Field(ge=0, le=1000)]


class Design(SettingsTable):
    """How many of the pairs are of another kind than uniform."""

    fixed: Annotated[Count, Field(title="Fixed"), Input("The same for every participant.", locked=True)] = 0
    """Pairs that are the same for every participant."""

    stratified: Count = 0
    """Pairs spread evenly over the combinations of the two people's strata."""

    anchors: Annotated[
        Count,
        Field(title="Anchors"),
        Input("The same pairs for several people, so that their agreement can be measured.", locked=True),
    ] = 0
    """Pairs from a pool that participants share, so that their agreement can be measured."""

    repeats: Annotated[
        Count,
        Field(title="Repeats"),
        Input("Earlier pairs once more with sides swapped: how steady are the answers?", locked=True),
    ] = 0
    """Earlier pairs once more with sides swapped; they measure how steady answers are, and do not count."""

    checks: Annotated[
        Count,
        Field(title="Checks"),
        Input("Two people with identical records: does the participant look?", locked=True),
    ] = 0
    """Pairs of two people with identical records; they measure attention, and do not count."""

    active: Annotated[
        Count,
        Field(title="Active"),
        Input("Chosen on the way, where the answer is least certain; their answers need weights later.", locked=True),
    ] = 0
    """Pairs chosen on the way, where the answer is least certain by what was answered so far; they need weights."""

    anchor_pool: Annotated[
        int,
        Field(ge=0, le=10_000, title="Anchor pairs in all"),
        Input("0: as many as everyone is shown, so that all are shown the same.", locked=True),
    ] = 0
    """How many anchor pairs there are; 0 for as many as everyone is shown, so that all are shown the same."""

    anchor_people: Annotated[int, Field(ge=1, title="People for each anchor pair"), Input("Who finish it.")] = 2
    """How many participants who finished every anchor pair should have."""

    strata: tuple[Line, ...] = ()
    """The columns whose values divide people into strata, such as sex and race; at most 50 strata."""

    lease_hours: Annotated[
        int,
        Field(ge=1, le=24 * 365, title="Hours without an answer"),
        Input("After these, the anchors of someone who left are given to someone else."),
    ] = 24
    """After so many hours without an answer, the anchors of someone who left are given to someone else."""

    @property
    def pool(self) -> int:
        """How many anchor pairs there are."""
        return (self.anchor_pool or self.anchors) if self.anchors else 0

    @property
    def lease(self) -> timedelta:
        """How long someone who does not answer keeps their slot."""
        return timedelta(hours=self.lease_hours)

    @property
    def beside_uniform(self) -> dict[str, int]:
        """How many pairs of each other kind there are."""
        return {kind: number for kind in KINDS if (number := getattr(self, kind))}

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if 0 < self.anchor_pool < self.anchors:
            raise ValueError(f"anchor_pool = {self.anchor_pool}: fewer than the {self.anchors} anchors of everyone")
        if self.stratified and not self.strata:
            raise ValueError("stratified pairs need strata: name the columns by which people are divided")
        return self
