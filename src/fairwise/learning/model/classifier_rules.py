"""Single classifiers as rules: trees as questions, which may be merged into one tree, and linear ones as points."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import frexp, isfinite, isnan, nan
from statistics import median
from typing import NamedTuple

import numpy as np

from fairwise.learning.encoding import NumberColumn, TableEncoder
from fairwise.learning.model.questions import AtMost, Each, Is, IsMissing, Known, Person, Question, Wording
from fairwise.learning.oracles.base import FloatArray
from fairwise.learning.oracles.tree_classifiers import TreeClassifiers

Node = float | tuple[Question, "Node", "Node"]
"""A probability of label 1; or a question, what is below where the answer is yes, and what is below where it is no."""

Condition = tuple[Question, bool]
"""A question and its answer."""

Line = tuple[int, str]
"""Depth and text of a line."""

Source = NumberColumn | Is | IsMissing
"""Meaning of a matrix column: a number, or 1 where the answer to a question is yes, otherwise 0."""

Fills = dict[str, float | str]
"""Replacement of missing values by column."""


class RuleRow(NamedTuple):
    """A part of a rule as a row of a table: when it holds, and the points or the label (0 or 1) that it gives then."""

    when: str
    points: float = nan
    label: int | None = None


_NOTHING = Known()
_MOST_LEAVES = 300  # nobody reads more
_MOST_EACH = 64  # leaves of a tree that is merged with others
_MOST_STEPS = 50_000  # trees looked at: less than half a second


@dataclass(frozen=True, eq=False, repr=False)
class TreeRule:
    """Nested questions; of a classifier each way ends in a label, of a merged mixture in a probability."""

    root: Node
    wording: Wording
    gives_labels: bool = True

    @property
    def head(self) -> str:
        if isinstance(self.root, tuple):
            return ""
        return self.wording.say("{leaf} for everyone").format(leaf=self._leaf(self.root))

    def lines(self) -> list[Line]:
        """Return the lines below the head."""
        return list(self._lines(self.root, 0)) if isinstance(self.root, tuple) else []

    def _lines(self, node: Node, depth: int, *, otherwise: bool = False) -> Iterator[Line]:
        say = self.wording.say
        if not isinstance(node, tuple):
            yield depth, say("otherwise: {leaf}").format(leaf=self._leaf(node))
            return
        question, yes, no = node
        text = say("otherwise if {question}:") if otherwise else say("if {question}:")
        asked = text.format(question=question.words(self.wording))
        if isinstance(yes, tuple):
            yield depth, asked
            yield from self._lines(yes, depth + 1)
        else:
            yield depth, f"{asked} {self._leaf(yes)}"
        yield from self._lines(no, depth, otherwise=True)

    def _leaf(self, value: float) -> str:
        return self.wording.label(value) if self.gives_labels else self.wording.share(value)

    def leaves(self) -> Iterator[tuple[str, float]]:
        """Every region with the value it gets: the conditions that lead there."""

        def below(node: Node, path: tuple[Condition, ...]) -> Iterator[tuple[str, float]]:
            if not isinstance(node, tuple):
                yield self._conditions(path) or self.wording.say("always"), node
                return
            for branch, yes in ((node[1], True), (node[2], False)):
                yield from below(branch, (*path, (node[0], yes)))

        return below(self.root, ())

    def reason(self, person: Person) -> str:
        """The conditions that lead to this person's region."""
        node, path = self.root, list[Condition]()
        while isinstance(node, tuple):
            question, yes, no = node
            holds = question.holds(person)
            node = yes if holds else no
            if isinstance(question, Is) and not holds:
                question = question.of_person(person)
                holds = isinstance(question, IsMissing)
            path.append((question, holds))
        return self._conditions(path)

    def _conditions(self, path: Iterable[Condition]) -> str:
        """Join conditions: without those that follow from later ones, and those about one column together."""
        needed: dict[object, Condition] = {}
        for question, yes in path:
            if yes and not isinstance(question, AtMost):  # a category, or none: nothing else is to be said of it
                needed = {key: one for key, one in needed.items() if one[0].column != question.column}
            needed[(question.column, yes) if isinstance(question, AtMost) else question] = question, yes
        compared = {question.column for question, _ in needed.values() if isinstance(question, AtMost)}
        for column in compared & {
            question.column for question, yes in needed.values() if _shows_presence(question, yes)
        }:
            needed.pop(IsMissing(column), None)  # a number that is compared is there
            for key, (question, yes) in list(needed.items()):
                if isinstance(question, AtMost) and question.column == column:
                    needed[key] = replace(question, fill=0.0), yes
        if not self.wording.exact:
            _join_negations(needed)
        columns = list(dict.fromkeys(question.column for question, _ in needed.values()))
        together = sorted(needed.values(), key=lambda one: columns.index(one[0].column))
        return self.wording.say(" and ").join(question.words(self.wording, yes=yes) for question, yes in together)

    def column_shares(self) -> dict[str, float]:
        """The columns that it asks about, 1 for each."""
        return dict.fromkeys((question.column for question in questions(self.root)), 1.0)

    def fills(self) -> Fills:
        """Return what missing values count as."""
        return fills(question for question in questions(self.root) if isinstance(question, AtMost | Is))

    def statements(self) -> Iterator[RuleRow]:
        """One for each region."""
        for when, value in self.leaves():
            yield RuleRow(when, label=int(value))

    def __str__(self) -> str:
        return "\n".join(filter(None, [self.head, *("    " * depth + text for depth, text in self.lines())]))

    __repr__ = __str__


def _join_negations(needed: dict[object, Condition]) -> None:
    """Replace what a category is not by what it is, where only one category, or a missing value, is left."""
    for column in {question.column for question, yes in needed.values() if isinstance(question, Is) and not yes}:
        keys = [key for key, (question, _) in needed.items() if isinstance(question, Is) and question.column == column]
        negated = [question for key in keys if isinstance(question := needed[key][0], Is)]
        others = tuple(one for one in negated[0].others if all(one in question.others for question in negated))
        may_be_missing = negated[0].may_be_missing and needed.get(IsMissing(column), (None, True))[1]
        if len(others) == 1 or (may_be_missing and not others):
            needed.pop(IsMissing(column), None)
            for key in keys[1:]:
                del needed[key]
            left = replace(negated[0], others=others, may_be_missing=may_be_missing)
            needed[keys[0]] = (left, False) if others else (IsMissing(column), True)
        else:
            for key, question in zip(keys, negated, strict=True):
                needed[key] = replace(question, may_be_missing=may_be_missing and len(keys) == 1), False


def _shows_presence(question: Question, yes: bool) -> bool:
    """Whether the answer says that the value is not missing, of a column in which that counts as nothing else."""
    if isinstance(question, AtMost):
        return yes and isnan(question.fill)
    return question == IsMissing(question.column) and not yes


def questions(node: Node) -> Iterator[Question]:
    """All questions of a tree, from the root on."""
    if isinstance(node, tuple):
        yield node[0]
        yield from questions(node[1])
        yield from questions(node[2])


def fills(terms: Iterable[AtMost | Is | Each]) -> Fills:
    """Return the replacements of the columns that have one."""
    return {term.column: term.fill for term in terms if term.fill is not None and term.fill == term.fill}


def roots(classifiers: TreeClassifiers, encoder: TableEncoder) -> list[Node]:
    """The trees of a mixture in the people's own columns, without questions that change nothing."""
    sources = list(encoded_columns(encoder))

    def root(which: int) -> Node:
        feature, threshold, leaf = classifiers.feature[which], classifiers.threshold[which], classifiers.leaf[which]

        def below(node: int) -> Node:
            if node >= feature.size:
                return float(leaf[node - feature.size])
            left, right = below(2 * node + 1), below(2 * node + 2)
            source, limit = sources[feature[node]], float(threshold[node])
            if isinstance(source, NumberColumn):
                if not np.isfinite(limit):
                    return left if limit > 0 else right
                # Of trees, numbers keep their units: the shift is 0 and the scale is 1.
                return AtMost(source.name, limit * source.scale + source.shift, source.fill), left, right
            # Whether a 0 or 1 is at most the limit.
            return left if limit >= 1 else right if limit < 0 else (source, right, left)

        return simplified(below(0), {})

    return [root(which) for which in range(len(classifiers))]


def encoded_columns(encoder: TableEncoder) -> Iterator[Source]:
    """Yield the meaning of each encoded column."""
    for column in encoder.columns:
        if isinstance(column, NumberColumn):
            yield column
            fill: float | None = column.fill
        else:
            for category in column.categories:
                others = tuple(one for one in column.categories if one != category)
                yield Is(column.name, category, None, others, column.marks_missing)
            fill = None
        if column.marks_missing:
            yield IsMissing(column.name, fill)


def simplified(node: Node, known: Mapping[str, Known]) -> Node:
    """The tree without questions whose answer follows from what is known, or changes nothing."""
    if not isinstance(node, tuple):
        return node
    question, yes, no = node
    before = known.get(question.column, _NOTHING)
    answer = question.answer(before)
    if answer is not None:
        return simplified(yes if answer else no, known)
    yes = simplified(yes, {**known, question.column: question.learned(before, yes=True)})
    no = simplified(no, {**known, question.column: question.learned(before, yes=False)})
    return yes if yes == no else (question, yes, no)


Labels = Sequence[float | None]
"""Label of each tree, None where that is not known yet."""


def merged(trees: Sequence[Node], decided: Callable[[Labels], float | None]) -> Node | None:
    """One tree that gives everyone what ``decided`` makes of the trees' labels; None if it is too large to be read.

    At every node the question is asked that most trees have nearest to their root.
    """
    if any(sum(1 for _ in questions(tree)) >= _MOST_EACH for tree in trees):
        return None
    leaves = steps = 0

    def grow(trees: Sequence[Node], known: Mapping[str, Known]) -> Node:
        nonlocal leaves, steps
        steps += len(trees)
        if leaves > _MOST_LEAVES or steps > _MOST_STEPS:
            raise _TooLargeError
        value = decided([None if isinstance(tree, tuple) else tree for tree in trees])
        if value is not None:
            leaves += 1
            return value
        question = _first_question(trees)
        before = known.get(question.column, _NOTHING)
        if_yes = {**known, question.column: question.learned(before, yes=True)}
        if_no = {**known, question.column: question.learned(before, yes=False)}
        yes = grow([simplified(tree, if_yes) for tree in trees], if_yes)
        no = grow([simplified(tree, if_no) for tree in trees], if_no)
        return yes if yes == no else (question, yes, no)

    try:
        return grow(trees, {})
    except _TooLargeError:
        return None


class _TooLargeError(Exception):
    """There are more regions than anyone reads."""


def _first_question(trees: Sequence[Node]) -> Question:
    asked = defaultdict[Question, float](float)

    def count(node: Node, share: float) -> None:
        if isinstance(node, tuple):
            asked[node[0]] += share
            count(node[1], share / 2)
            count(node[2], share / 2)

    for tree in trees:
        count(tree, 1.0)
    return max(asked, key=asked.__getitem__)


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
        """Return the lines below the head."""
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
        """Return the share of the points that each column decides; NaN each where that is not known.

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
        """Return what missing values count as."""
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
        """Return the lines below the head."""
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
        """Return the share of the points that each column decides, averaged over the labels that have any."""
        shares, known = defaultdict[str, float](float), [rule for rule in self.others if rule.terms]
        for rule in known:
            for column, share in rule.column_shares().items():
                shares[column] += share / len(known)
        return dict(shares)

    def fills(self) -> Fills:
        """Return what missing values count as."""
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
    """Scale coefficients by a power of two, which rounds nothing, so that half of them are above 8 or so."""
    if not coef.any():
        return coef, intercept
    power = 4 - frexp(median(np.abs(coef[coef != 0.0]).tolist()))[1]
    both = np.append(coef, intercept)
    with np.errstate(all="ignore"):
        larger = np.ldexp(both, power)
        rounded = not np.isfinite(larger).all() or not np.array_equal(np.ldexp(larger, -power), both)
    return (coef, intercept) if rounded else (larger[:-1], float(larger[-1]))
