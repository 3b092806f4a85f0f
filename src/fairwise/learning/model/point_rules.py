"""Linear classifiers as points for each column, in the people's own units."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import frexp, isfinite, nan
from statistics import median

import numpy as np

from fairwise.learning.encoding import NumberColumn
from fairwise.learning.model.questions import Each, Is, IsMissing, Person, Wording
from fairwise.learning.model.tree_rules import Fills, Line, RuleRow, Source, TreeRule, fills
from fairwise.learning.oracles.base import FloatArray

Term = tuple[float, Each | Is | IsMissing]
"""Points, and what they are given for."""


class UnscaledColumn(NumberColumn):
    """A number as it is, of which nobody noted how far it spreads."""


@dataclass(frozen=True, eq=False, repr=False)
class PointsRule:
    """Label 1 where ``start`` and the points, added in the order of the terms, are more than ``limit``.

    Doing this in double precision gives the very sums of linear classifiers, ours and scikit-learn's: the encoder's
    scale is a power of two, so it can be moved from the value to its points without rounding, unless something is below
    1e-300; another scale stays with the value.
    """

    start: float
    terms: tuple[Term, ...]
    limit: float
    wording: Wording

    @property
    def head(self) -> str:
        one, zero, limit = self.wording.label(1), self.wording.label(0), self.wording.number(self.limit)
        text = self.wording.say("{one} where the points add up to more than {limit}, otherwise {zero}")
        return text.format(one=one, limit=limit, zero=zero)

    def lines(self) -> list[Line]:
        """What stands below the head."""
        return [(0, f"{self.wording.number(points)} {words}") for words, points in self.items()]

    def items(self) -> Iterator[tuple[str, float]]:
        say = self.wording.say
        yield say("to start with"), self.start
        for points, term in self.terms:
            words = term.words(self.wording)
            yield words if isinstance(term, Each) else say("where {question}").format(question=words), points

    def total(self, person: Person) -> float:
        """The points of this person, added in the order of the terms."""
        total = self.start
        for points, term in self.terms:
            total += points * term.amount(person)
        return total

    def reason(self, person: Person) -> str:
        """The points of this person, those that count most first."""
        say, number = self.wording.say, replace(self.wording, exact=False).number
        total, by_column = self.start, list[tuple[float, str]]()
        for points, term in self.terms:
            more = points * term.amount(person)
            total += more
            by_column.append((more, self.wording.column(term.column)))
        parts = [
            say("{points} for {column}").format(points=number(more), column=name)
            for more, name in sorted(by_column, key=lambda one: -abs(one[0]))
            if more
        ]
        added = ", ".join([f"{number(self.start)} {say('to start with')}", *parts])
        if total > self.limit:
            text = say("{points} points, more than {limit}: {added}")
        else:
            text = say("{points} points, not more than {limit}: {added}")
        return text.format(points=number(total), limit=number(self.limit), added=added)

    def column_shares(self) -> dict[str, float]:
        """How much of the points is decided by each column; 1 in all, or NaN each where that is not known.

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
        known = isfinite(total) and total > 0
        return {column: step / total if known else nan for column, step in steps.items()}

    def fills(self) -> Fills:
        """What missing values count as."""
        return fills(term for _, term in self.terms if isinstance(term, Each | Is))

    def statements(self) -> Iterator[RuleRow]:
        """One for each term, and two for what follows from the sum."""
        for words, points in self.items():
            yield RuleRow(words, points)
        limit = self.wording.number(self.limit)
        yield RuleRow(self.wording.say("the points add up to more than {limit}").format(limit=limit), label=1)
        yield RuleRow(self.wording.say("otherwise"), label=0)

    def __str__(self) -> str:
        return "\n".join([f"{self.head}:", *(f"    {text}" for _, text in self.lines())])

    __repr__ = __str__


@dataclass(frozen=True, eq=False, repr=False)
class MostPointsRule:
    """The label with the most points, of equal ones the first; label 0 has none, ``others`` are those of the rest."""

    others: tuple[PointsRule, ...]
    wording: Wording

    @property
    def head(self) -> str:
        return f"the label with the most points, of equal ones the first; {self.wording.label(0)} has 0 points"

    def lines(self) -> list[Line]:
        """What stands below the head."""
        lines = list[Line]()
        for label, rule in enumerate(self.others, 1):
            lines.append((0, f"points for {self.wording.label(label)}:"))
            lines += [(1 + depth, text) for depth, text in rule.lines()]
        return lines

    def reason(self, person: Person) -> str:
        """The points of this person for each label."""
        number = replace(self.wording, exact=False).number
        totals = [(self.wording.label(label), rule.total(person)) for label, rule in enumerate(self.others, 1)]
        return ", ".join(f"{number(total)} points for {label}" for label, total in totals)

    def column_shares(self) -> dict[str, float]:
        """How much of the points is decided by each column, averaged over the labels that have any."""
        shares, known = defaultdict[str, float](float), [rule for rule in self.others if rule.terms]
        for rule in known:
            for column, share in rule.column_shares().items():
                shares[column] += share / len(known)
        return dict(shares)

    def fills(self) -> Fills:
        """What missing values count as."""
        return {column: fill for rule in self.others for column, fill in rule.fills().items()}

    def statements(self) -> Iterator[RuleRow]:
        """One for each term of each label, and one for each that has the most."""
        for label, rule in enumerate(self.others, 1):
            for words, points in rule.items():
                yield RuleRow(f"{words}, for {self.wording.label(label)}", points)
        for label in range(1 + len(self.others)):
            yield RuleRow(f"{self.wording.label(label)} has the most points", label=label)

    def __str__(self) -> str:
        return "\n".join([f"{self.head}:", *(f"{'    ' * (1 + depth)}{text}" for depth, text in self.lines())])

    __repr__ = __str__


def most_points_rule(
    coef: FloatArray, intercept: FloatArray, sources: list[Source], wording: Wording
) -> MostPointsRule | TreeRule:
    """The label of the largest of ``intercept + coef @ x`` and 0 (label 0); ``coef`` is ``(k - 1, d)``."""
    if not coef.any():
        return TreeRule(float(np.argmax(np.append(0.0, intercept))), wording)
    scaled = readable(np.column_stack([coef, intercept]).ravel(), 0.0)[0].reshape(len(coef), -1)
    return MostPointsRule(tuple(_points(row[:-1], float(row[-1]), 0.0, sources, wording) for row in scaled), wording)


def linear_rule(
    coef: FloatArray, intercept: float, limit: float, sources: Iterable[Source], wording: Wording
) -> PointsRule | TreeRule:
    """``[intercept + x . coef > limit]`` in the people's own units; ``coef`` is ``(d,)``, of as many sources."""
    rule = _points(coef, intercept, limit, sources, wording)
    return rule if rule.terms else TreeRule(float(intercept > limit), wording)


def _points(
    coef: FloatArray, intercept: float, limit: float, sources: Iterable[Source], wording: Wording
) -> PointsRule:
    terms = list[Term]()
    for weight, source in zip(coef.tolist(), sources, strict=True):
        if weight == 0.0:
            continue
        if isinstance(source, Is | IsMissing):
            terms.append((weight, source))
            continue
        points = weight / source.scale
        exact = isfinite(points) and points * source.scale == weight and abs(points) > np.finfo(float).tiny
        exact = exact and frexp(source.scale)[0] == 0.5  # only a power of two is moved without rounding
        exact = exact and source.kind == "number"  # nobody counts a day in microseconds
        unit = 1.0 if exact else source.scale
        spread = nan if isinstance(source, UnscaledColumn) else source.scale
        each = Each(source.name, unit, source.shift, source.fill, spread)
        terms.append((points if exact else weight, each))
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
