"""One line of the table of benchmarks, and how to time what goes into it."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from time import perf_counter, process_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.rivals import Duel
    from fairwise.reporting.drawing import Drawing


@dataclass(frozen=True)
class Row:
    """What was asked and what was measured; ``reached`` is None where there is no bar, only a number to know."""

    what: str
    bar: str
    measured: str
    reached: bool | None
    notes: str = ""
    """Markdown: how it was measured, and numbers that do not fit into the table."""

    ratios: dict[str, float] = field(default_factory=dict)
    """Named numbers of which larger is better, for the guard (:mod:`benchmarks.guard`)."""

    duels: tuple[Duel, ...] = ()
    """Problems that we and a rival solved."""

    figures: tuple[Drawing, ...] = ()

    @property
    def verdict(self) -> str:
        return {True: "yes", False: "**no**", None: "—"}[self.reached]


def seconds(action: Callable[[], object]) -> float:
    start = perf_counter()
    action()
    return perf_counter() - start


def busy_seconds(action: Callable[[], object]) -> float:
    """Processor time, which other programs disturb less."""
    start = process_time()
    action()
    return process_time() - start


def median_seconds(action: Callable[[], object], times: int) -> float:
    """Median over several runs, after one that is not counted."""
    action()
    return median(seconds(action) for _ in range(times))


def table(header: list[str], lines: list[list[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [header, ["---"] * len(header), *lines])
