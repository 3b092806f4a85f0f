"""What a simulated person sees of two people, when they are close enough to be the same, and which comes first."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairwise.errors import InputError

Floats: TypeAlias = NDArray[np.float64]

# What one unit of a number, or each value of a category, is worth.
Points: TypeAlias = float | Mapping[str, float]


@dataclass(frozen=True)
class Discount:
    """Counts only a part of some numbers for everybody except one group."""

    columns: tuple[str, ...]
    group: str
    except_for: object
    factor: float = 0.5

    def applied(self, people: pd.DataFrame) -> pd.DataFrame:
        """Return the table as the person sees it."""
        need([self.group, *self.columns], people)
        factor = np.where(people[self.group] == self.except_for, 1.0, self.factor)
        return people.assign(**{name: people[name] * factor for name in self.columns})

    def describe(self) -> str:
        """Say it in words."""
        return f"counts {self.factor:.0%} of {listed(self.columns)} where {self.group} is not {self.except_for}"


def is_number(column: pd.Series) -> bool:
    """Tell numbers, of which differences have a size, from categories, which are equal or not."""
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)


def gap(left: pd.Series, right: pd.Series) -> Floats:
    """Return how far apart two columns are: the absolute difference, or 0 and 1 for categories.

    Two missing values are equal; a missing number is infinitely far from any number.
    """
    nothing, nothing_else = left.isna().to_numpy(), right.isna().to_numpy()
    if is_number(left):
        apart = np.nan_to_num(np.abs(_floats(left) - _floats(right)))
        apart[nothing != nothing_else] = np.inf
        return apart
    differ = np.asarray(left.astype(object).to_numpy() != right.astype(object).to_numpy(), dtype=bool)
    differ[nothing | nothing_else] = (nothing != nothing_else)[nothing | nothing_else]
    return differ.astype(np.float64)


def worth(column: pd.Series, points: Points) -> Floats:
    """Return what each value is worth; a missing or unlisted value is worth 0."""
    if isinstance(points, Mapping):
        return np.array([points.get(value, 0.0) for value in column], dtype=np.float64)
    return np.nan_to_num(_floats(column)) * points


def need(columns: Iterable[str], people: pd.DataFrame) -> None:
    """Refuse a table without these columns."""
    missing = [name for name in columns if name not in people.columns]
    if missing:
        raise InputError(f"people: no column {listed(missing)}; there are {listed(people.columns)}")


def listed(names: Iterable[str]) -> str:
    """Return names as one says them: x, y and z."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else str(last)


def _floats(column: pd.Series) -> Floats:
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


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
        return _direction(ahead, self.margin)

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
            leaning = np.where(leaning == 0, _direction(ahead, step.unnoticed), leaning)
        return leaning

    def describe(self) -> str:
        """Say it in words."""
        order = listed(_wish(step.column, step.points) for step in self.steps)
        return f"the first noticeable difference decides: {order}, in this order"


def _direction(ahead: NDArray[np.float64], unnoticed: float) -> NDArray[np.int8]:
    # Scores are sums of products: what differs only by rounding does not differ.
    return np.where(np.abs(ahead) > unnoticed + 1e-9, np.sign(ahead), 0).astype(np.int8)


def _wish(column: str, points: Points) -> str:
    if isinstance(points, Mapping):
        return f"{column} {max(points, key=lambda value: points[value])}"
    return f"{'more' if points > 0 else 'less'} {column}"
