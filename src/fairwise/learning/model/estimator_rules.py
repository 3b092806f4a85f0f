"""Rules of scikit-learn's estimators: trees and linear models in words, behind common transformers too."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan, nan
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from fairwise.learning.encoding import NumberColumn, TableEncoder
from fairwise.learning.model.classifier_rules import (
    Fills,
    Line,
    Node,
    PointsRule,
    RuleRow,
    Source,
    TreeRule,
    UnscaledColumn,
    encoded_columns,
    linear_rule,
    simplified,
)
from fairwise.learning.model.questions import AtMost, Is, IsMissing, Person, Wording
from fairwise.learning.oracles.scikit_learn import FittedClassifiers, Steps, is_linear, split


class NotInWordsError(Exception):
    """A transformer of which no words are known that give the very same numbers."""


@dataclass(frozen=True)
class _Text:
    """A column of text as it is; what is missing counts as ``fill``, if there is one."""

    name: str
    fill: str | None = None


class _Seen(NamedTuple):
    """The columns at some place of a Pipeline, and whether they are in a sparse matrix, which is scaled otherwise."""

    columns: list[Source | _Text]
    sparse: bool = False


def seen_behind(steps: Steps, kinds: Mapping[str, str]) -> list[Source] | None:
    """Return what the model behind these transformers gets of columns of these kinds; None if it is not known exactly.

    Numbers are ``(x - shift) / scale`` as scikit-learn computes it, rounding for rounding, in double precision.
    """
    seen = _Seen(
        [_Text(name) if kind == "text" else UnscaledColumn(name, 0.0, 1.0, nan, False) for name, kind in kinds.items()]
    )
    try:
        seen = _in_turn(Pipeline(steps), seen)
    except NotInWordsError:
        return None
    sources = [column for column in seen.columns if not isinstance(column, _Text)]
    return sources if len(sources) == len(seen.columns) and agree_on_gaps(sources) else None


def agree_on_gaps(sources: Iterable[Source]) -> bool:
    """Whether a missing value of a column counts as one thing wherever it is used."""
    counted: dict[str, str] = {}
    names = ((source.name if isinstance(source, NumberColumn) else source.column, source.fill) for source in sources)
    return all(counted.setdefault(name, repr(fill)) == repr(fill) for name, fill in names)


def _behind(transformer: Any, seen: _Seen) -> _Seen:
    """Return what a fitted transformer makes of the columns. A subclass may do anything, so types are compared."""
    kind = type(transformer)
    if transformer in (None, "passthrough") or (kind is FunctionTransformer and transformer.func is None):
        return seen
    if isinstance(transformer, SelectorMixin) and kind.__module__.startswith("sklearn."):
        return seen._replace(columns=[seen.columns[at] for at in np.flatnonzero(transformer.get_support())])
    if kind not in _WORDS or (seen.sparse and kind in _OF_DENSE):
        raise NotInWordsError
    return _WORDS[kind](transformer, seen)


def _in_turn(pipeline: Pipeline, seen: _Seen) -> _Seen:
    for _, step in pipeline.steps:
        seen = _behind(step, seen)
    return seen


def _routed(transformer: ColumnTransformer, seen: _Seen) -> _Seen:
    if transformer.transformer_weights:
        raise NotInWordsError
    columns: list[Source | _Text] = []
    for name, part, _ in transformer.transformers_:
        places = transformer._transformer_to_input_indices[name]
        if len(places) and not (isinstance(part, str) and part == "drop"):
            columns += _behind(part, seen._replace(columns=[seen.columns[at] for at in places])).columns
    return _Seen(columns, transformer.sparse_output_)


def _imputed(imputer: SimpleImputer, seen: _Seen) -> _Seen:
    if not pd.isna(imputer.missing_values):
        raise NotInWordsError
    columns = [
        _filled(column, fill)
        for column, fill in zip(seen.columns, imputer.statistics_, strict=True)
        if not pd.isna(fill)
    ]
    if imputer.add_indicator:
        for at in imputer.indicator_.features_:
            column, fill = seen.columns[at], imputer.statistics_[at]
            if not isinstance(column, NumberColumn) or not isnan(column.fill) or pd.isna(fill):
                raise NotInWordsError
            columns.append(IsMissing(column.name, float(fill)))
    return _Seen(columns)


def _filled(column: Source | _Text, fill: Any) -> Source | _Text:
    match column:
        case UnscaledColumn() if isnan(column.fill):
            return replace(column, fill=float(fill))
        case _Text(fill=None) if isinstance(fill, str):
            return replace(column, fill=fill)
        case NumberColumn() if isnan(column.fill):  # what fills it is in units of its own
            raise NotInWordsError
        case _Text(fill=None):
            raise NotInWordsError
    return column  # nothing is missing here


def _scaled(scaler: StandardScaler | RobustScaler | MaxAbsScaler, seen: _Seen) -> _Seen:
    """These subtract, then divide, as :class:`NumberColumn` does; MinMaxScaler multiplies, which rounds otherwise."""
    if getattr(scaler, "clip", False):
        raise NotInWordsError
    centred = getattr(scaler, "with_mean", getattr(scaler, "with_centering", False))
    divided = getattr(scaler, "with_std", getattr(scaler, "with_scaling", True))
    n = len(seen.columns)
    shifts = getattr(scaler, "mean_" if type(scaler) is StandardScaler else "center_") if centred else np.zeros(n)
    scales = scaler.scale_ if divided else np.ones(n)
    columns: list[Source | _Text] = []
    for column, shift, scale in zip(seen.columns, shifts, scales, strict=True):
        match column:
            case UnscaledColumn():
                columns.append(NumberColumn(column.name, float(shift), float(scale), column.fill, False))
            case _:
                raise NotInWordsError
    return _Seen(columns)


def _one_hot(encoder: OneHotEncoder, seen: _Seen) -> _Seen:
    """A question for each category; what was never seen answers no to all."""
    rare = getattr(encoder, "infrequent_categories_", None) or []
    if any(categories is not None for categories in rare):
        raise NotInWordsError
    dropped = [None] * len(seen.columns) if encoder.drop_idx_ is None else encoder.drop_idx_
    columns: list[Source | _Text] = []
    for column, categories, left_out in zip(seen.columns, encoder.categories_, dropped, strict=True):
        if not isinstance(column, _Text) or sum(map(pd.isna, categories)) > 1:
            raise NotInWordsError
        questions: list[Source | _Text] = []
        texts = [category for category in categories.tolist() if isinstance(category, str)]
        may_be_missing = len(texts) < len(categories)
        for category in categories.tolist():
            if pd.isna(category) and column.fill is None:
                questions.append(IsMissing(column.name))
            elif isinstance(category, str):
                others = tuple(one for one in texts if one != category)
                questions.append(Is(column.name, category, column.fill, others, may_be_missing))
            else:
                raise NotInWordsError
        columns += [question for at, question in enumerate(questions) if at != left_out]
    return _Seen(columns, encoder.sparse_output)


_OF_DENSE = (SimpleImputer, StandardScaler, RobustScaler, MaxAbsScaler)
_WORDS: dict[type, Callable[[Any, _Seen], _Seen]] = {
    Pipeline: _in_turn,
    ColumnTransformer: _routed,
    OneHotEncoder: _one_hot,
    **dict.fromkeys(_OF_DENSE[1:], _scaled),
    SimpleImputer: _imputed,
}


_MOST_LEAVES = 300  # nobody reads more


@dataclass(frozen=True, eq=False, repr=False)
class EstimatorRule:
    """Decision of a fitted estimator of the user's own, described by its name alone."""

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
    """Return the position of a double among all doubles in their order; that of 0.0 is 0."""
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return int(bits) if bits >= 0 else -(int(bits) & 0x7FFF_FFFF_FFFF_FFFF)


def _double(place: int) -> float:
    (value,) = struct.unpack("<d", struct.pack("<q", abs(place)))
    return float(value) if place >= 0 else -float(value)
