"""Estimators of one's own as rules: trees and linear ones in words, behind common transformers too; others by name."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from fairwise.learning.encoding import NumberColumn, TableEncoder
from fairwise.learning.model.pipeline_rules import agree_on_gaps, seen_behind
from fairwise.learning.model.point_rules import PointsRule, linear_rule
from fairwise.learning.model.questions import AtMost, IsMissing, Person, Wording
from fairwise.learning.model.tree_rules import Fills, Line, Node, RuleRow, Source, TreeRule, encoded_columns, simplified
from fairwise.learning.oracles.repeated_fits import split
from fairwise.learning.oracles.scikit_learn import FittedClassifiers, is_linear

_MOST_LEAVES = 300  # nobody reads more


@dataclass(frozen=True, eq=False, repr=False)
class EstimatorRule:
    """What a fitted estimator of one's own says; its name is all that is told of it."""

    name: str
    limit: float | None
    wording: Wording

    @property
    def head(self) -> str:
        one, zero, say = self.wording.label(1), self.wording.label(0), self.wording.say
        if self.limit is None:
            return say("what {name} predicts").format(name=self.name)
        text = say("{one} where the score of {name} is more than {limit}, otherwise {zero}")
        return text.format(one=one, name=self.name, limit=self.wording.number(self.limit), zero=zero)

    def lines(self) -> list[Line]:
        return []

    def reason(self, person: Person) -> str:  # noqa: ARG002
        return self.head

    def column_shares(self) -> dict[str, float]:
        return {}

    def fills(self) -> Fills:
        return {}

    def statements(self) -> Iterator[RuleRow]:
        yield RuleRow(self.head)

    def __str__(self) -> str:
        return self.head

    __repr__ = __str__


def estimator_rules(
    classifiers: FittedClassifiers, encoder: TableEncoder | None, kinds: Mapping[str, str] | None, wording: Wording
) -> Iterator[PointsRule | TreeRule | EstimatorRule]:
    """Each classifier of a mixture; ``kinds`` are those of the people's columns where a Pipeline gets them as they are.

    Words are used where they give the very same labels: of a model that decides by sums or by questions, behind
    transformers of which that can be said (:func:`seen_behind`).
    """
    seen: dict[int, list[Source] | None] = {}
    for steps, models in classifiers.by_transformers():
        sources = list(encoded_columns(encoder)) if encoder is not None else seen_behind(steps, kinds or {})
        seen.update((at, sources) for _, places in models for at in places.tolist())
    if not agree_on_gaps(source for sources in seen.values() for source in sources or ()):
        seen = dict.fromkeys(seen)
    for at, (member, threshold) in enumerate(zip(classifiers.members, classifiers.thresholds.tolist(), strict=True)):
        if isinstance(member, int):
            yield TreeRule(float(member), wording)
            continue
        limit, model, sources = None if isnan(threshold) else threshold, split(member)[1], seen[at]
        if sources is not None and is_linear(model) and model.coef_.size == len(sources):
            coef, intercept = np.ravel(model.coef_).astype(float), float(np.ravel(model.intercept_)[0])
            yield linear_rule(coef, intercept, limit or 0.0, sources, wording)
        elif sources is not None and _is_small_tree(model) and model.n_features_in_ == len(sources):
            yield TreeRule(_root(model, limit, sources), wording)
        else:
            yield EstimatorRule(" ".join(repr(member).split()), limit, wording)


def _is_small_tree(model: Any) -> bool:
    return type(model) in (DecisionTreeClassifier, ExtraTreeClassifier) and model.tree_.n_leaves <= _MOST_LEAVES


def _root(model: DecisionTreeClassifier, limit: float | None, sources: Sequence[Source]) -> Node:
    """A fitted tree in the people's own columns; label 1 in the leaves where its share is above the limit."""
    tree = model.tree_
    shares = tree.value[:, 0, :]
    labels = model.classes_[np.argmax(shares, axis=1)] if limit is None else shares[:, 1] > limit

    def below(node: int) -> Node:
        if tree.children_left[node] < 0:
            return float(labels[node])
        left, right = below(tree.children_left[node]), below(tree.children_right[node])
        source, at = sources[tree.feature[node]], float(tree.threshold[node])
        if not isinstance(source, NumberColumn):  # whether a 0 or 1 is at most that
            return left if at >= 1 else right if at < 0 else (source, right, left)
        asked: Node = AtMost(source.name, _largest(source, at), source.fill), left, right
        if at == inf:  # whatever is there is at most that
            asked = left
        if not isnan(source.fill):
            return asked
        if tree.missing_go_to_left[node]:
            return IsMissing(source.name), left, asked
        return (IsMissing(source.name), right, left) if at == inf else asked

    return simplified(below(0), {})


def _largest(source: NumberColumn, limit: float) -> float:
    """The largest number that scikit-learn's trees find to be at most the limit: they compare in single precision.

    Scaled and rounded, a larger number is never smaller, so it is found by halving among all doubles.
    """

    def is_at_most(place: int) -> bool:
        with np.errstate(over="ignore"):
            return float(np.float32((_double(place) - source.shift) / source.scale)) <= limit

    low, high = _place(-np.finfo(float).max), _place(np.finfo(float).max)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_at_most(middle) else (low, middle - 1)
    return _double(low)


def _place(value: float) -> int:
    """Where a double is among all of them in their order, 0 at the place of 0."""
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return int(bits) if bits >= 0 else -(int(bits) & 0x7FFF_FFFF_FFFF_FFFF)


def _double(place: int) -> float:
    (value,) = struct.unpack("<d", struct.pack("<q", abs(place)))
    return float(value) if place >= 0 else -float(value)
