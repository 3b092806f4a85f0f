"""What either solver returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

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
    multipliers: Multipliers
    bound: float
    exact: bool
    hypothesis_class: str
    oracle_calls: int
    trajectory: dict[str, FloatArray]


def trajectory_frame(columns: dict[str, FloatArray]) -> pd.DataFrame:
    """One row per round or iteration: error, max_violation, gap."""
    length = len(next(iter(columns.values()))) if columns else 0
    index = pd.RangeIndex(1, length + 1, name="round")
    return pd.DataFrame({name: np.asarray(values) for name, values in columns.items()}, index=index)
