"""What either solver returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairwise.learning.multipliers import Multipliers
    from fairwise.learning.oracles.base import Classifiers, FloatArray


@dataclass(frozen=True, eq=False)
class Solution:
    """A mixture, the multipliers that go with it, and what the solver can say about the distance to the optimum.

    ``bound`` is the Lagrangian value at the best multipliers seen. It is a proof only where ``exact`` is true, that
    is where every oracle call behind it was a proven minimum.
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
    pool: Classifiers | None = None
    """Every classifier found, with or without weight; None where those of the mixture are all."""
