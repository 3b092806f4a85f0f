"""The two small contracts between a solver and the classifiers it mixes.

A solver never looks inside a classifier. It asks an :class:`Oracle` for the cheapest one under given costs, and
a :class:`Classifiers` collection for the labels its members give.
"""

from __future__ import annotations

from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
LabelArray = NDArray[np.uint8]


class Classifiers(Protocol):
    """``k`` classifiers of one kind, kept together as arrays."""

    def __len__(self) -> int: ...

    def labels(self, rows: Any) -> LabelArray:
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


class Oracle(Protocol):
    """Answers cost-sensitive classification problems over one hypothesis class; oracles are its subclasses.

    The cost of a classifier ``h`` is ``sum_p cost[p] * h(p)`` over the points it was built for, where ``cost`` is
    the cost of label 1 minus that of label 0 (Algorithm 1 of the paper, written as one difference).
    """

    exact: bool
    """Whether :meth:`best_response` is a proven minimiser over the whole class."""

    cheap: bool
    """Whether a call takes milliseconds, so that a solver may ask many times on the chance of something better."""

    hypothesis_class: str
    """The class in words, as the certificate names it."""

    def constants(self) -> Classifiers:
        """The classifiers "always 0" and "always 1", in this order."""
        ...

    def best_response(self, cost: FloatArray, warm: Classifiers | None = None) -> Classifiers:
        """One classifier of (nearly) least cost; ``warm`` holds good ones to start from."""
        ...

    def variations(self, cost: FloatArray) -> tuple[Classifiers, LabelArray] | None:  # noqa: ARG002
        """Classifiers of low cost that follow from earlier answers at next to no expense, with their labels ``(k, P)``.

        None where asking again is as cheap.
        """
        return None


@runtime_checkable
class PlainOracle(Protocol):
    """An oracle whose classifier of least error on the training people is not the one to use on others."""

    plain_class: str
    """What :meth:`plain_model` searches, and how, in words."""

    def plain_model(self, error_cost: FloatArray) -> Classifiers:
        """The one classifier to use where nothing but errors counts."""
        ...
