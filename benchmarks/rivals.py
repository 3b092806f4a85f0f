"""Side by side with a rival: the same problem, the same measures, one form of table."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.row import table

if TYPE_CHECKING:
    from collections.abc import Sequence


MEASURES = ("seconds", "oracle calls", "error", "held-out error", "violation")


@dataclass(frozen=True)
class Measured:
    """Error and violation of the randomised classifier on the training people, and what it took.

    ``held_out`` is the error on people it was not fitted to, in folds; None where all of them are needed to fit.
    """

    seconds: float
    oracle_calls: int | None
    error: float
    violation: float
    held_out: float | None = None

    def cells(self) -> list[str]:
        calls = "—" if self.oracle_calls is None else f"{self.oracle_calls:,}"
        held_out = "—" if self.held_out is None else f"{self.held_out:.4f}"
        return [f"{self.seconds:.3g}", calls, f"{self.error:.4f}", held_out, f"{self.violation:.4f}"]


@dataclass(frozen=True)
class Duel:
    """One problem, solved by both."""

    problem: str
    us: Measured
    them: Measured
    reached: bool

    @property
    def times_faster(self) -> float:
        return self.them.seconds / self.us.seconds


def median_times_faster(duels: Sequence[Duel]) -> float:
    return median(duel.times_faster for duel in duels)


def duel_table(duels: tuple[Duel, ...]) -> str:
    """Every problem on a line, ours / theirs."""
    header = ["problem", *MEASURES, "times faster", "reached"]
    return table(header, [_line(duel) for duel in duels])


def summary(rows: dict[str, tuple[Duel, ...]]) -> str:
    """Every rival on a line: medians over its problems, ours / theirs."""
    header = ["row", "problems", *MEASURES, "times faster", "least"]
    return table(header, [[name, str(len(duels)), *_medians(duels)] for name, duels in rows.items()])


def _line(duel: Duel) -> list[str]:
    both = [f"{ours} / {theirs}" for ours, theirs in zip(duel.us.cells(), duel.them.cells(), strict=True)]
    return [duel.problem, *both, f"{duel.times_faster:.3g}", "yes" if duel.reached else "**no**"]


def _medians(duels: tuple[Duel, ...]) -> list[str]:
    ours, theirs = (
        Measured(
            seconds=median(each.seconds for each in side),
            oracle_calls=_whole(_median_known([each.oracle_calls for each in side])),
            error=median(each.error for each in side),
            violation=median(each.violation for each in side),
            held_out=_median_known([each.held_out for each in side]),
        )
        for side in ([duel.us for duel in duels], [duel.them for duel in duels])
    )
    both = [f"{mine} / {other}" for mine, other in zip(ours.cells(), theirs.cells(), strict=True)]
    slowest = min(duel.times_faster for duel in duels)
    return [*both, f"{median_times_faster(duels):.3g}", f"{slowest:.3g}"]


def _median_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
