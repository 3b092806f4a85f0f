"""What a search by column generation knows on its way: its limits, where it stands, and the oracle's answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import NamedTuple

import numpy as np

from fairwise.learning.oracles.base import Classifiers, FloatArray, RowValues
from fairwise.learning.solvers.master import MasterSolution
from fairwise.learning.solvers.progress import Watch
from fairwise.learning.solvers.solution import Multipliers


@dataclass(frozen=True)
class Limits:
    """When a search ends: at this gap, after so many iterations, at this moment of the monotonic clock."""

    tol: float
    max_iter: int
    deadline: float
    watch: Watch | None = None
    preliminary: bool = False
    """Whether the search only fills the pool for another one, so that no callback may end it by its gap."""

    def over(self) -> bool:
        return monotonic() > self.deadline

    def patience(self, least: int, part: int) -> int:
        """How many iterations may bring nothing: whoever allows more of them in all waits longer."""
        return max(least, self.max_iter // part)


class Iteration(NamedTuple):
    """What the trajectory tells of one."""

    error: float
    max_violation: float
    gap: float


@dataclass(eq=False)
class Search:
    """Where a search stands: the programme over what is known, and the best multipliers with the bound they give."""

    master: MasterSolution
    bound: float = -np.inf
    best: Multipliers | None = None
    cost: float = np.inf
    """The least cost known at ``best``."""

    precision: float = 0.0
    """To which the programme was solved, where it is very large."""

    promised: float = -np.inf
    """Below which no mixture of what was known at the last question can be."""

    trajectory: list[Iteration] = field(default_factory=list)

    @property
    def gap(self) -> float:
        return self.master.value - self.bound

    @property
    def may_fall(self) -> bool:
        """Whether the programme's value may be lower now by more than half of the gap."""
        return self.promised < self.master.value - 0.5 * self.gap

    def learn(self, bound: float, at: Multipliers, cost: float) -> None:
        if bound > self.bound:
            self.bound, self.best, self.cost = bound, at, cost


@dataclass(frozen=True, eq=False)
class Answer:
    """Some classifiers with their errors ``(k,)`` and row values ``(k, n_rows)``."""

    found: Classifiers
    errors: FloatArray
    values: RowValues

    def costs(self, at: Multipliers) -> FloatArray:
        """``err(h) + lambda @ values(h)`` of each."""
        return np.asarray(self.errors + self.values @ at.rows)
