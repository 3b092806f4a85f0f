"""Which two people are close enough to be treated the same."""

from collections.abc import Iterator, Mapping
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

    The distance of x and x' is ``Σ_k weights[k] · |x_k - x'_k|``, or the largest of these terms; between two
    different categories the difference is 1. A weight is therefore per unit of its column. Columns of weight
    0 are ignored, and so are those not listed. `categories` says which columns are to be described as such.
    """

    weights: Mapping[str, float]
    threshold: float
    combine: Literal["sum", "largest"] = "sum"
    categories: tuple[str, ...] = ()

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
        combined: Floats = np.sum(terms, axis=0) if self.combine == "sum" else np.max(terms, axis=0)
        return combined

    def describe(self) -> str:
        """Say it in words."""
        if self.threshold == ALWAYS:
            return "everybody is the same"
        if self.threshold < 0:
            return "nobody is the same as anybody else"
        ignored = f"ignores {listed(self.ignored)}; " if self.ignored else ""
        if not self.columns:
            return f"{ignored}everybody is the same"
        return f"{ignored}same {', '.join(self._conditions())}"

    def _conditions(self) -> Iterator[str]:
        numbers = [name for name in self.columns if name not in self.categories]
        equal = [name for name in self.columns if name in self.categories and self.weights[name] > self.threshold]
        if numbers:
            limits = listed(f"{self.threshold / self.weights[name]:.3g} of {name}" for name in numbers)
            together = " together" if self.combine == "sum" else " each"
            yield f"within {limits}{together if len(numbers) > 1 else ''}"
        if equal:
            yield f"with equal {listed(equal)}"
        for name in self.columns:
            if name in self.categories and name not in equal:
                room = self.weights[name] / self.threshold if self.combine == "sum" else 0
                yield f"{name} may differ" + (f" (that takes {room:.0%} of the room)" if room else "")
