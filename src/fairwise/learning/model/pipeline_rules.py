"""What a model behind scikit-learn's transformers sees, in the people's own columns; where that can be said exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, RobustScaler, StandardScaler

from fairwise.learning.encoding import NumberColumn
from fairwise.learning.model.point_rules import UnscaledColumn
from fairwise.learning.model.questions import Is, IsMissing
from fairwise.learning.model.tree_rules import Source
from fairwise.learning.oracles.repeated_fits import Steps


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
    """What the model behind these transformers gets of people with columns of these kinds; None if it cannot be said.

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
    """What a fitted transformer makes of the columns. A subclass may do anything, so types are compared."""
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
