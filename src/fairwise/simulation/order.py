"""Which of two people is due treatment at least as good."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.simulation.perception import Points, listed, need, worth


@dataclass(frozen=True)
class Merit:
    """One score for everybody; an order is due where two scores differ by more than the margin."""

    points: Mapping[str, Points]
    margin: float = 0.0

    def leaning(self, left: pd.DataFrame, right: pd.DataFrame) -> NDArray[np.int8]:
        """Return 1 where the left one is due at least as much, -1 for the right one, 0 for no order."""
        need(self.points, left)
        ahead = np.zeros(len(left))
        for name, points in self.points.items():
            ahead += worth(left[name], points) - worth(right[name], points)
        return _noticed(ahead, self.margin)

    def describe(self) -> str:
        """Say it in words."""
        return f"at least as good treatment is due to {listed(map(_wish, self.points, self.points.values()))}"


@dataclass(frozen=True)
class Step:
    """One column, what it is worth, and the smallest difference in worth that goes unnoticed no more."""

    column: str
    points: Points
    unnoticed: float


@dataclass(frozen=True)
class FirstNoticeable:
    """The first column with a noticeable difference decides alone.

    Differences that are too small one by one add up over a chain of people, so that A can be put before B, B
    before C and C before A.
    """

    steps: tuple[Step, ...]

    def leaning(self, left: pd.DataFrame, right: pd.DataFrame) -> NDArray[np.int8]:
        """Return 1 where the left one is due at least as much, -1 for the right one, 0 for no order."""
        need([step.column for step in self.steps], left)
        leaning = np.zeros(len(left), dtype=np.int8)
        for step in self.steps:
            ahead = worth(left[step.column], step.points) - worth(right[step.column], step.points)
            leaning = np.where(leaning == 0, _noticed(ahead, step.unnoticed), leaning)
        return leaning

    def describe(self) -> str:
        """Say it in words."""
        order = listed(_wish(step.column, step.points) for step in self.steps)
        return f"the first noticeable difference decides: {order}, in this order"


def _noticed(ahead: NDArray[np.float64], unnoticed: float) -> NDArray[np.int8]:
    # Scores are sums of products: what differs only by rounding does not differ.
    return np.where(np.abs(ahead) > unnoticed + 1e-9, np.sign(ahead), 0).astype(np.int8)


def _wish(column: str, points: Points) -> str:
    if isinstance(points, Mapping):
        return f"{column} {max(points, key=lambda value: points[value])}"
    return f"{'more' if points > 0 else 'less'} {column}"
