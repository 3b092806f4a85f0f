"""A second round: participants see how the panel answered and why, and keep or change what they said.

The table ``[deliberation]`` of ``study.toml``, and which pairs are worth talking about.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from itertools import zip_longest
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from fairwise.study.toml import Input, SettingsTable

FEWEST_OTHERS = 3
"""What the panel said about a pair is shown to someone only if so many others answered it: counts of fewer people would
tell what one of them said."""

MOST_LISTED = 1000
"""So many pairs a second round may be about."""


def _as_text(value: object) -> object:
    """TOML has dates of its own."""
    return value.isoformat() if type(value) is date else value


def _check_day(text: str) -> str:
    try:
        return text and date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError("no day of the calendar; allowed: a day such as 2026-12-31, or nothing") from None


Day = Annotated[str, BeforeValidator(_as_text), AfterValidator(_check_day)]


class Deliberation(SettingsTable):
    """Whether there is a second round, and when the first one ends."""

    on: Annotated[
        bool,
        Field(title="A second round, in which participants see how the others answered"),
        Input("It needs fixed pairs or anchors, as it is about pairs that several people answered."),
    ] = False
    """Whether participants come back to see how the others answered, and why, and keep or change what they said."""

    pairs: Annotated[
        int, Field(ge=1, le=MOST_LISTED, title="Pairs that everyone is shown again"), Input("At most.")
    ] = 10
    """How many pairs each participant is shown again at most: the most disputed of those that they answered."""

    close_on: Annotated[
        Day,
        Field(title="Last day of the first round"),
        Input("Such as 2026-12-31, in UTC. Empty: it ends by hand, or by the number below."),
    ] = ""
    """The last day of the first round, such as 2026-12-31, in UTC; empty if no day ends it."""

    close_after: Annotated[
        int,
        Field(ge=0, le=10**6, title="Participants who end the first round when they have finished"),
        Input("0: it ends by hand, or on the day above."),
    ] = 0
    """The first round ends when so many have finished; 0 if no number ends it."""

    rooms: Annotated[
        bool,
        Field(title="Rooms talk"),
        Input("In a room all answer the same fixed pair, see the answers on the wall, talk, and answer it again."),
    ] = False
    """Whether people in a room answer the fixed pairs together, talk about each and answer again."""

    @property
    def until(self) -> datetime | None:
        """The moment at which the first round ends by itself, if there is one."""
        if not (self.on and self.close_on):
            return None
        return datetime.combine(date.fromisoformat(self.close_on), time(), UTC) + timedelta(days=1)

    def check(self, *, shared: int, fixed: int, second_look: bool) -> None:
        """Refuse a second round that has nothing to be about; `shared` pairs are answered by several people.

        Those of them that are `fixed` are answered by all.
        """
        if self.rooms and (second_look or self.on):
            raise ValueError(
                "deliberation.rooms: people answer again in their room, and are asked no third time; "
                "switch off second_look and deliberation.on"
            )
        if self.rooms and not fixed:
            raise ValueError(
                "deliberation.rooms: a room talks about pairs that all in it answer, and there are none; "
                "needed: design.fixed"
            )
        if self.on and second_look:
            raise ValueError("second_look is on as well, but deliberation has a second round of its own; choose one")
        if self.on and not shared:
            raise ValueError(
                "deliberation.on: no pairs are answered by several people, so there is nothing to talk about; "
                "needed: design.fixed or design.anchors"
            )


class Chosen(StrEnum):
    """Why a pair is on the list of the second round."""

    DISPUTED = "disputed"
    EXPENSIVE = "expensive"


def disagreement(counts: Collection[int]) -> float:
    """How likely two different people, drawn at random among those who answered a pair, said different things.

    With n_k people who gave answer k, and n in all: 1 - sum_k n_k (n_k - 1) / (n (n - 1)).

    >>> disagreement([2, 2]), disagreement([4, 0]), disagreement([1])
    (0.6666666666666667, 0.0, 0.0)
    """
    n = sum(counts)
    return 1 - sum(k * (k - 1) for k in counts) / (n * (n - 1)) if n > 1 else 0.0


def listed(
    disputed: Iterable[tuple[str, str]], expensive: Iterable[tuple[str, str]]
) -> list[tuple[tuple[str, str], Chosen]]:
    """The pairs of a second round, the most important first: of the two kinds by turns, none twice."""
    found: dict[tuple[str, str], Chosen] = {}
    for pairs in zip_longest(disputed, expensive):
        for pair, why in zip(pairs, Chosen, strict=True):
            if pair is not None:
                found.setdefault(pair, why)
    return [*found.items()][:MOST_LISTED]
