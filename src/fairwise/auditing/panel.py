"""The judges of a study as a group: who they are, how far they agree, and how steady they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from fairwise.judgments import (
    check_failures,
    find_conflicts,
    krippendorff_alpha,
    position_bias,
    repeat_consistency,
)

if TYPE_CHECKING:
    from fairwise.judgments import Judgments
    from fairwise.judgments.agreement import Agreement
    from fairwise.judgments.conflicts import Conflicts
    from fairwise.judgments.reliability import CheckFailures, PositionBias, RepeatConsistency


@dataclass(frozen=True, eq=False)
class Panel:
    """The judges as a group.

    ``n_affected`` is None where nothing at all is known about the judges. ``designs`` counts rows by how their pair was
    chosen; ``n_not_counted`` of the rows only measure reliability or were answered anew.
    """

    n_judges: int
    n_rows: int
    n_not_counted: int
    designs: dict[str, int]
    attributes: pd.DataFrame
    affected: tuple[str, ...]
    n_affected: int | None
    agreement: Agreement
    agreement_on_same: Agreement
    conflicts: Conflicts
    repeats: RepeatConsistency
    sides: PositionBias
    checks: CheckFailures

    @classmethod
    def of(cls, judgments: Judgments, affected: Sequence[str]) -> Panel:
        attributes = judgments.judge_attributes
        frame = judgments.frame
        return cls(
            n_judges=judgments.n_judges,
            n_rows=len(frame),
            n_not_counted=len(frame) - len(judgments.counted()),
            designs={str(name): int(count) for name, count in frame["design"].value_counts().items()},
            attributes=attributes,
            affected=tuple(affected),
            n_affected=_affected(attributes, affected),
            agreement=krippendorff_alpha(judgments),
            agreement_on_same=krippendorff_alpha(judgments, "same or not"),
            conflicts=find_conflicts(judgments),
            repeats=repeat_consistency(judgments),
            sides=position_bias(judgments),
            checks=check_failures(judgments),
        )


def _affected(attributes: pd.DataFrame, affected: Sequence[str]) -> int | None:
    if attributes.isna().to_numpy().all():
        return None
    marks = {value.casefold() for value in affected}
    marked = attributes.astype(object).map(lambda value: str(value).casefold() in marks)
    return int(marked.any(axis="columns").sum())
