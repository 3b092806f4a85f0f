"""Linear classifiers as points for each column, in the people's own units; and estimators of one's own by name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import frexp, isfinite
from statistics import median

import numpy as np
from sklearn.base import BaseEstimator

from fairwise.learning.encoding import TableEncoder
from fairwise.learning.model.questions import Each, Is, IsMissing, Person, Wording
from fairwise.learning.model.tree_rules import Line, RuleRow, TreeRule, encoded_columns
from fairwise.learning.oracles.base import FloatArray

Term = tuple[float, Each | Is | IsMissing]
"""Points, and what they are given for."""


@dataclass(frozen=True, eq=False, repr=False)
class PointsRule:
    """Label 1 where ``start`` and the points, added in the order of the terms, are more than ``limit``.

    Doing this in double precision gives the very sums of our linear classifiers: the encoder's scale is a power of two,
    so it can be moved from the value to its points without rounding, unless something is below 1e-300. scikit-learn's
    linear classifiers add in another order; the label is the same unless the sum is within rounding of the limit.
    """

    start: float
    terms: tuple[Term, ...]
    limit: float
    wording: Wording

    @property
    def head(self) -> str:
        one, zero, limit = self.wording.label(1), self.wording.label(0), self.wording.number(self.limit)
        return f"{one} where the points add up to more than {limit}, otherwise {zero}"

    def lines(self) -> list[Line]:
        """What stands below the head."""
        return [(0, f"{self.wording.number(points)} {words}") for words, points in self._items()]

    def _items(self) -> Iterator[tuple[str, float]]:
        yield "to start with", self.start
        for points, term in self.terms:
            words = term.words(self.wording)
            yield words if isinstance(term, Each) else f"where {words}", points

    def reason(self, person: Person) -> str:
        """The points of this person, those that count most first."""
        number = replace(self.wording, exact=False).number
        total, by_column = self.start, list[tuple[float, str]]()
        for points, term in self.terms:
            more = points * term.amount(person)
            total += more
            by_column.append((more, self.wording.column(term.column)))
        parts = [f"{number(more)} for {name}" for more, name in sorted(by_column, key=lambda one: -abs(one[0])) if more]
        compared = "more than" if total > self.limit else "not more than"
        added = ", ".join([f"{number(self.start)} to start with", *parts])
        return f"{number(total)} points, {compared} {number(self.limit)}: {added}"

    def column_shares(self) -> dict[str, float]:
        """How much of the points is decided by each column; 1 in all.

        Of a number, the points for a step of about a standard deviation; of a category, the difference between the one
        with the most and the one with the fewest points.
        """
        steps, of_categories = defaultdict[str, float](float), defaultdict[str, list[float]](list)
        for points, term in self.terms:
            if isinstance(term, Each):
                steps[term.column] += abs(points) * (term.spread / term.unit)
            else:
                of_categories[term.column].append(points)
        for column, points_of in of_categories.items():
            steps[column] += max(*points_of, 0.0) - min(*points_of, 0.0)
        total = sum(steps.values())
        return {column: step / total for column, step in steps.items()} if isfinite(total) and total > 0 else {}

    def fills(self) -> dict[str, float]:
        """What missing numbers count as."""
        return {term.column: term.fill for _, term in self.terms if isinstance(term, Each)}

    def statements(self) -> Iterator[RuleRow]:
        """One for each term, and two for what follows from the sum."""
        for words, points in self._items():
            yield RuleRow(words, points)
        yield RuleRow(f"the points add up to more than {self.wording.number(self.limit)}", label=1)
        yield RuleRow("otherwise", label=0)

    def __str__(self) -> str:
        return "\n".join([f"{self.head}:", *(f"    {text}" for _, text in self.lines())])

    __repr__ = __str__


@dataclass(frozen=True, eq=False, repr=False)
class EstimatorRule:
    """What a fitted estimator of one's own says; its name is all that is known of it."""

    name: str
    limit: float | None
    wording: Wording

    @property
    def head(self) -> str:
        one, zero = self.wording.label(1), self.wording.label(0)
        if self.limit is None:
            return f"what {self.name} predicts"
        return f"{one} where the score of {self.name} is more than {self.wording.number(self.limit)}, otherwise {zero}"

    def lines(self) -> list[Line]:
        return []

    def reason(self, person: Person) -> str:  # noqa: ARG002
        return self.head

    def column_shares(self) -> dict[str, float]:
        return {}

    def fills(self) -> dict[str, float]:
        return {}

    def statements(self) -> Iterator[RuleRow]:
        yield RuleRow(self.head)

    def __str__(self) -> str:
        return self.head

    __repr__ = __str__


def linear_rule(
    coef: FloatArray, intercept: float, limit: float, encoder: TableEncoder, wording: Wording
) -> PointsRule | TreeRule:
    """``[intercept + x . coef > limit]`` of encoded rows in the people's own units; ``coef`` is ``(d,)``."""
    terms = list[Term]()
    for weight, source in zip(coef.tolist(), encoded_columns(encoder), strict=True):
        if weight == 0.0:
            continue
        if isinstance(source, Is | IsMissing):
            terms.append((weight, source))
            continue
        points = weight / source.scale
        exact = isfinite(points) and points * source.scale == weight and abs(points) > np.finfo(float).tiny
        unit = 1.0 if exact else source.scale
        each = Each(source.name, unit, source.shift, source.fill, source.scale)
        terms.append((points if exact else weight, each))
    if not terms:
        return TreeRule(float(intercept > limit), wording)
    return PointsRule(float(intercept), tuple(terms), float(limit), wording)


def readable(coef: FloatArray, intercept: float) -> tuple[FloatArray, float]:
    """The same signs with half of the coefficients above 8 or so: times a power of two, which rounds nothing."""
    if not coef.any():
        return coef, intercept
    power = 4 - frexp(median(np.abs(coef[coef != 0.0]).tolist()))[1]
    both = np.append(coef, intercept)
    with np.errstate(all="ignore"):
        larger = np.ldexp(both, power)
        rounded = not np.isfinite(larger).all() or not np.array_equal(np.ldexp(larger, -power), both)
    return (coef, intercept) if rounded else (larger[:-1], float(larger[-1]))


def estimator_rule(
    member: BaseEstimator | int, threshold: float, encoder: TableEncoder | None, wording: Wording
) -> PointsRule | TreeRule | EstimatorRule:
    """A classifier of a mixture of scikit-learn's: linear ones as points, where they get encoded rows."""
    if isinstance(member, int):
        return TreeRule(float(member), wording)
    limit = None if np.isnan(threshold) else float(threshold)
    if encoder is not None and type(member).__module__.startswith("sklearn.linear_model"):
        coef, intercept = getattr(member, "coef_", None), getattr(member, "intercept_", 0.0)
        if isinstance(coef, np.ndarray) and coef.shape == (1, len(encoder.outputs)):
            return linear_rule(coef[0].astype(float), float(np.ravel(intercept)[0]), limit or 0.0, encoder, wording)
    return EstimatorRule(" ".join(repr(member).split()), limit, wording)
