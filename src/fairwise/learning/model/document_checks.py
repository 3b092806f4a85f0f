"""Whether the parts of a model file fit each other: columns, encoder, classifiers and weights."""

from __future__ import annotations

from math import isfinite, isnan
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from fairwise.learning.encoding import MAX_CATEGORIES, NumberColumn, TableEncoder
from fairwise.learning.model.file_checks import require
from fairwise.learning.model.mixture import Mixture
from fairwise.learning.oracles.linear import LinearClassifiers
from fairwise.learning.oracles.scikit_learn import FittedClassifiers, unpack
from fairwise.learning.oracles.tree_classifiers import TreeClassifiers

Document = dict[str, Any]
"""What a file holds, by name."""

_ROUNDING = 1e-6  # by how much the weights of a mixture may miss 1


def check_document(document: Document, features: list[Any], encoder: TableEncoder | None, mixture: Mixture) -> None:
    """Raise a ValueError for the first part of a model file that does not fit the others."""
    n_columns, names, threshold = document["n_features"], document["feature_names"], document["threshold"]
    require(type(n_columns) is int and n_columns >= 1, "the number of columns is none")
    require(len(names) in {0, n_columns}, "there are more or fewer columns than names of columns")
    require(
        isinstance(features, list)
        and 1 <= len(features) <= n_columns
        and all(type(name) in (str, int) for name in features)
        and len(set(features)) == len(features)
        and (not names or set(features) <= set(names)),
        "it does not say which columns are used",
    )
    kinds = document.get("column_kinds")
    require(kinds is None or set(kinds.values()) <= {"number", "text"}, "a column is neither numbers nor text")
    classes = document["classes"]
    require(len(set(classes)) == len(classes) >= 2, "the outcomes are not two or more")
    require(threshold is None or len(classes) == 2, "a threshold is of two outcomes")
    require(type(document["seed"]) is int, "the seed is no whole number")
    require(threshold is None or (type(threshold) is float and not isnan(threshold)), "the threshold is no number")
    if encoder is not None:
        require(len(encoder.columns) == len(features), "more or fewer columns are encoded than are used")
        _check_encoder(encoder, features if names else [])
    _check_mixture(mixture, encoder)
    for table in (document["prices"], document["trajectory"], document["group_rules"]):
        require(len({len(column) for column in table.values()}) <= 1, "a table has columns of different lengths")


def _check_encoder(encoder: TableEncoder, names: list[str]) -> None:
    require(not names or names == [column.name for column in encoder.columns], "columns are encoded by other names")
    for column in encoder.columns:
        require(type(column.marks_missing) is bool, f"column {column.name!r} does not say whether values were missing")
        if isinstance(column, NumberColumn):
            numbers = (column.shift, column.scale, column.fill)
            require(
                all(type(number) is float and isfinite(number) for number in numbers) and column.scale > 0,
                f"column {column.name!r} is shifted or scaled by what is no number",
            )
            require(column.kind in ("number", "date", "duration"), f"column {column.name!r} is of no known kind")
        else:
            require(
                all(type(category) is str for category in column.categories)
                and len(set(column.categories)) == len(column.categories) <= MAX_CATEGORIES,
                f"column {column.name!r} has categories that are no text, or twice there, or too many",
            )


def _check_mixture(mixture: Mixture, encoder: TableEncoder | None) -> None:
    weights, classifiers = mixture.weights, mixture.classifiers
    require(
        isinstance(weights, np.ndarray)
        and weights.dtype == np.float64
        and weights.shape == (len(classifiers),)
        and len(weights) >= 1
        and bool((weights >= 0).all())
        and abs(float(weights.sum()) - 1.0) <= _ROUNDING,
        "the weights are not one for each classifier, from 0 up, and 1 together",
    )
    if isinstance(classifiers, FittedClassifiers):
        require(
            classifiers.thresholds.shape == (len(classifiers.members),)
            and all(
                0 <= member < mixture.n_labels if type(member) is int else hasattr(member, "predict")
                for member in classifiers.members
            ),
            "a classifier is none, or has no threshold",
        )
        return
    require(encoder is not None, "it is not said how columns are encoded")
    width = len(encoder.outputs) if encoder else 0
    if isinstance(classifiers, TreeClassifiers):
        require(classifiers.feature.max() < width, "a tree looks at a column that is not there")
        require(classifiers.leaf.max() < mixture.n_labels, "a tree decides what is no outcome")
    if isinstance(classifiers, LinearClassifiers):
        coef, intercept = classifiers.coef, classifiers.intercept
        labels = () if mixture.n_labels == 2 else (mixture.n_labels - 1,)
        require(
            coef.shape == (len(weights), *labels, width) and intercept.shape == (len(weights), *labels),
            "coefficients are not one for each column",
        )
        require(np.isfinite(coef).all() and np.isfinite(intercept).all(), "a coefficient is no number")


def members_of(packed: list[Any], transformers: list[Any], uses: Any) -> list[Any]:
    """Pipelines with their transformers; a ValueError where they are not those of :func:`pack`."""
    require(
        isinstance(uses, np.ndarray)
        and uses.dtype.kind in "iu"
        and uses.shape == (len(packed),)
        and bool(((uses >= -1) & (uses < len(transformers))).all())
        and all(type(member) is Pipeline for member, place in zip(packed, uses, strict=True) if place >= 0),
        "a Pipeline's transformers are not there",
    )
    return unpack(packed, transformers, uses)
