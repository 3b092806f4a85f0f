"""Decision trees as questions in words, and a mixture of them merged into one tree of probabilities."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import NamedTuple

import numpy as np

from fairwise.learning.encoding import NumberColumn, TableEncoder
from fairwise.learning.model.questions import AtMost, Each, Is, IsMissing, Known, Person, Question, Wording
from fairwise.learning.oracles.tree_classifiers import TreeClassifiers

Node = float | tuple[Question, "Node", "Node"]
"""A probability of label 1; or a question, what is below where the answer is yes, and what is below where it is no."""

Condition = tuple[Question, bool]
"""A question and its answer."""

Line = tuple[int, str]
"""How deep it is, and what it says."""

Source = NumberColumn | Is | IsMissing
"""What a column of a matrix says of a person: a number, or 1 where the answer to a question is yes, otherwise 0."""

Fills = dict[str, float | str]
"""What a missing value counts as, by column."""


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
        """What stands below the head."""
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
        """Without those that follow from later ones, and those about one column together."""
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
        """What missing values count as."""
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
    """Of those columns in which a missing value counts as anything."""
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
    """What each encoded column says."""
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
"""What each tree says, None where that is not known yet."""


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
