"""Side by side with a rival: the same problem, the same measures, one form of table."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.row import table

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Measured:
    """Error and violation of the randomised classifier on the training people, and what it took."""

    seconds: float
    oracle_calls: int | None
    error: float
    violation: float

    def cells(self) -> list[str]:
        calls = "—" if self.oracle_calls is None else f"{self.oracle_calls:,}"
        return [f"{self.seconds:.3g}", calls, f"{self.error:.4f}", f"{self.violation:.4f}"]


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
    header = ["problem", "seconds", "oracle calls", "error", "violation", "times faster", "reached"]
    return table(header, [_line(duel) for duel in duels])


def summary(rows: dict[str, tuple[Duel, ...]]) -> str:
    """Every rival on a line: medians over its problems, ours / theirs."""
    header = ["row", "problems", "seconds", "oracle calls", "error", "violation", "times faster", "least"]
    return table(header, [[name, str(len(duels)), *_medians(duels)] for name, duels in rows.items()])


def _line(duel: Duel) -> list[str]:
    both = [f"{ours} / {theirs}" for ours, theirs in zip(duel.us.cells(), duel.them.cells(), strict=True)]
    return [duel.problem, *both, f"{duel.times_faster:.3g}", "yes" if duel.reached else "**no**"]


def _medians(duels: tuple[Duel, ...]) -> list[str]:
    ours, theirs = (
        Measured(
            seconds=median(each.seconds for each in side),
            oracle_calls=_median_calls(side),
            error=median(each.error for each in side),
            violation=median(each.violation for each in side),
        )
        for side in ([duel.us for duel in duels], [duel.them for duel in duels])
    )
    both = [f"{mine} / {other}" for mine, other in zip(ours.cells(), theirs.cells(), strict=True)]
    slowest = min(duel.times_faster for duel in duels)
    return [*both, f"{median_times_faster(duels):.3g}", f"{slowest:.3g}"]


def _median_calls(side: Sequence[Measured]) -> int | None:
    calls = [each.oracle_calls for each in side if each.oracle_calls is not None]
    return round(median(calls)) if calls else None
