"""The two small contracts between a solver and the classifiers it mixes.

A solver never looks inside a classifier. It asks an :class:`Oracle` for the cheapest one under given costs, and
a :class:`Classifiers` collection for the labels its members give: 0, 1 and so on.

Costs are those of each label but the first, less that of the first: a table ``(P, k - 1)`` for ``k`` labels. For two
labels its only column comes as a vector ``(P,)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from fairwise.learning.oracles.linear import RegressionTerms
    from fairwise.learning.problem import Problem

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
LabelArray = NDArray[np.uint8]
ClassArray = NDArray[Any]
"""Labels as users write them."""

Rows: TypeAlias = Any
"""People as classifiers see them: an encoded matrix, or a table where a Pipeline does its own encoding."""

RowValues = NDArray[Any]
"""Values of rows, ``(k, rows)``: bytes for pairs alone, floats where there are statistical rules beside them."""


_LABELS_AT_ONCE = 1 << 22


def point_slices(n_points: int, n_classifiers: int) -> Iterator[slice]:
    """Slices of the points such that labels of all classifiers, as floats, take little memory."""
    step = max(1, _LABELS_AT_ONCE // max(n_classifiers, 1))
    return (slice(start, start + step) for start in range(0, n_points, step))


def total_costs(labels: LabelArray, cost: FloatArray) -> FloatArray:
    """``sum_p cost[p, label - 1]`` over the points ``(t,)`` for labels ``(t, P)``; of a vector, of label 1."""
    totals = np.zeros(len(labels))
    for part in point_slices(len(cost), len(labels)):
        if cost.ndim == 1:
            totals += labels[:, part].astype(float) @ cost[part]
            continue
        for label, column in enumerate(np.ascontiguousarray(cost[part].T), 1):
            totals += (labels[:, part] == label).astype(float) @ column
    return totals


def n_labels(cost: FloatArray) -> int:
    """Return the number of labels of a table of costs."""
    return 2 if cost.ndim == 1 else 1 + cost.shape[1]


def by_label(cost: FloatArray) -> FloatArray:
    """The cost of every label ``(P, k)``, the first of which costs nothing."""
    return np.concatenate([np.zeros((len(cost), 1)), cost[:, None] if cost.ndim == 1 else cost], axis=1)


class Classifiers(Protocol):
    """``k`` classifiers of one kind, kept together as arrays."""

    def __len__(self) -> int: ...

    def __getitem__(self, position: int | slice) -> Any:
        """The classifier at this position: a collection of one, or the fitted estimator where it is scikit-learn's.

        Of a slice, the collection of those.
        """
        ...

    def __iter__(self) -> Iterator[Any]:
        """Each of them, in the order of the mixture's weights."""
        ...

    def labels(self, rows: Rows) -> LabelArray:
        """Labels ``(k, n)`` that each classifier gives to each of ``n`` rows, the same in any batch and order."""
        ...

    def take(self, which: IntArray) -> Self:
        """The classifiers at these positions."""
        ...

    def joined(self, other: Self) -> Self:
        """These classifiers followed by ``other``."""
        ...

    def state(self) -> dict[str, Any]:
        """Plain arrays from which ``type(self)(**state)`` makes the same classifiers again."""
        ...


class ArrayClassifiers:
    """Base of dataclasses whose fields are arrays with an entry for each classifier."""

    def __len__(self) -> int:
        return len(getattr(self, self.__match_args__[0]))  # type: ignore[attr-defined]

    def __getitem__(self, position: int | slice) -> Self:
        return self.take(np.atleast_1d(np.arange(len(self))[position]))

    def __iter__(self) -> Iterator[Self]:
        return (self[position] for position in range(len(self)))

    def take(self, which: IntArray) -> Self:
        return type(self)(*(array[which] for array in self.state().values()))

    def joined(self, other: Self) -> Self:
        return type(self)(*map(np.concatenate, zip(self.state().values(), other.state().values(), strict=True)))

    def state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__match_args__}  # type: ignore[attr-defined]


class Oracle(Protocol):
    """Answers cost-sensitive classification problems over one hypothesis class; oracles are its subclasses.

    What a solver wants to know of an oracle it asks here, and never what class it is of.

    The cost of a classifier ``h`` is :func:`total_costs` over the points it was built for: ``sum_p cost[p] * h(p)``
    for two labels, where ``cost`` is that of label 1 minus that of label 0 (Algorithm 1 of the paper, written as one
    difference), and ``sum_p cost[p, h(p) - 1]``, nothing where ``h(p)`` is 0, for more.
    """

    exact: bool
    """Whether :meth:`best_response` is a proven minimiser over the whole class."""

    cheap: bool
    """Whether a call takes milliseconds, so that a solver may ask many times on the chance of something better."""

    hypothesis_class: str
    """The class in words, as the certificate names it."""

    def constants(self) -> Classifiers:
        """The classifiers "always 0", "always 1" and so on, in this order."""
        ...

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> Classifiers:
        """One classifier of (nearly) least cost; ``warm`` holds good ones to start from."""
        ...

    def known_labels(self, response: Classifiers) -> LabelArray | None:  # noqa: ARG002
        """Labels ``(1, P)`` that the last response gives the points, where finding it has told them already."""
        return None

    def best_responses(self, cost: FloatArray, warm: Classifiers | None = None) -> Classifiers:
        """Return the best response, and behind it others of low cost that its search finds at little expense."""
        return self.best_response(cost, warm)

    def variations(self, cost: FloatArray, below: float, most: int) -> tuple[Classifiers, LabelArray] | None:  # noqa: ARG002
        """Classifiers that follow from earlier answers at next to no expense, with their labels ``(k, P)``.

        The ``most`` cheapest of those that cost less than ``below``; None where asking again is as cheap.
        """
        return None

    n_variations: int = 8
    """Number of variations that enter the programme at once."""

    variation_rounds: int = 1000
    """Number of rounds of variations before the next question."""

    max_iter: int = 200
    """Limit of iterations of a search without proof: a heuristic may never meet its own bound."""

    plain_class: str = ""
    """Class and method of :meth:`plain_model` in words."""

    def plain_model(self, error_cost: FloatArray) -> Classifiers | None:  # noqa: ARG002
        """The one classifier to use on other people where nothing but errors counts; None for that of least error."""
        return None

    is_regression: bool = False
    """Whether a response is the least squares of the costs, so that games against it can be played compiled."""

    seed_rounds: int = 0
    """Number of rounds of such a game that find classifiers worth starting from."""

    def regression_terms(self, problem: Problem) -> RegressionTerms | None:  # noqa: ARG002
        """Return what a game against the regression needs of the people; None where the class is not linear."""
        return None


class Ranking:
    """Points sorted once by their score ``(P,)``, for thresholds under any cost."""

    def __init__(self, score: FloatArray) -> None:
        self._values, self._position = np.unique(score, return_inverse=True)

    def cheapest(self, cost: FloatArray) -> tuple[float, float]:
        """Return the threshold ``t`` with the least ``sum cost[score > t]``, between two scores, and that cost."""
        values = self._values
        above = np.cumsum(np.bincount(self._position, cost)[::-1])[::-1]  # cost of label 1 from each value up
        below = np.concatenate([[values[0] - 1.0], (values[:-1] + values[1:]) / 2])  # thresholds under each value
        usable = np.append(True, (below[1:] >= values[:-1]) & (below[1:] < values[1:]))
        candidates = np.append(np.where(usable, above, np.inf), 0.0)
        best = int(np.argmin(candidates))
        return float(np.append(below, values[-1])[best]), float(candidates[best])

    def above(self, threshold: float) -> LabelArray:
        """Return the labels ``(P,)`` of this threshold."""
        return np.asarray(self._values > threshold, dtype=np.uint8)[self._position]
