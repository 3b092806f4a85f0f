"""What either solver returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from fairwise.learning.multipliers import Multipliers
    from fairwise.learning.oracles.base import Classifiers, FloatArray

Stopped: TypeAlias = Literal["gap", "rounds", "oracle", "iterations", "time"]
"""Why a search ended: its gap is small enough, all rounds asked for were played, its oracle found nothing more though
the gap is open, or a limit was reached."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A mixture, the multipliers that go with it, and what the solver can say about the distance to the optimum.

    ``bound`` is the Lagrangian value at the best multipliers seen. It is a proof only where ``exact`` is true, that
    is where every oracle call behind it was a proven minimum; ``multipliers`` are then those that prove it.
    """

    classifiers: Classifiers
    weights: FloatArray
    error: float
    multipliers: Multipliers
    bound: float
    exact: bool
    hypothesis_class: str
    oracle_calls: int
    trajectory: dict[str, FloatArray]
    stopped: Stopped
    plain_error: float
    """The least of any classifier found, rules or not."""

    constant_weight: float = 0.0
    """How often a constant decides, where the solver knows."""

    pool: Classifiers | None = None
    """Every classifier found, with or without weight; None where those of the mixture are all."""
