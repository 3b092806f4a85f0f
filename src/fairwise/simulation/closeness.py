"""Which two people are close enough to be treated the same."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from fairwise.simulation.perception import Floats, gap, listed, need

ALWAYS = np.inf
NEVER = -1.0


@dataclass(frozen=True)
class Closeness:
    """Same when the distance is at most `threshold`.

    The distance of x and x' is Σ_k weights[k] · |x_k − x'_k|, or the largest of these terms; between two
    different categories the difference is 1. A weight is therefore per unit of its column; columns of weight 0
    and columns that are not listed are ignored.
    """

    weights: Mapping[str, float]
    threshold: float
    combine: Literal["sum", "largest"] = "sum"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that matter."""
        return tuple(name for name, weight in self.weights.items() if weight > 0)

    @property
    def ignored(self) -> tuple[str, ...]:
        """The columns that were looked at and found to be no reason."""
        return tuple(name for name, weight in self.weights.items() if weight <= 0)

    def distance(self, left: pd.DataFrame, right: pd.DataFrame) -> Floats:
        """Return the distance of each row of `left` to the same row of `right`."""
        need(self.columns, left)
        terms = [self.weights[name] * gap(left[name], right[name]) for name in self.columns]
        if not terms:
            return np.zeros(len(left))
        return np.sum(terms, axis=0) if self.combine == "sum" else np.max(terms, axis=0)

    def describe(self) -> str:
        if self.threshold == ALWAYS:
            return "everybody is the same"
        if self.threshold < 0:
            return "nobody is the same as anybody else"
        ignored = f"ignores {listed(self.ignored)}; " if self.ignored else ""
        if not self.columns:
            return f"{ignored}everybody is the same"
        limits = listed(f"{self.threshold / self.weights[name]:.2g} in {name}" for name in self.columns)
        together = "taken together" if self.combine == "sum" else "each"
        return f"{ignored}same up to a difference of {limits}, {together}"
