"""Estimators of scikit-learn and the transformers before them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pandas as pd
from onnx import TensorProto
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.pipeline import Pipeline

from fairwise.errors import InputError
from fairwise.learning.onnx.graph import OPSETS, Graph, Values, text
from fairwise.learning.oracles.base import FloatArray, IntArray
from fairwise.learning.oracles.repeated_fits import Steps
from fairwise.learning.oracles.scikit_learn import FittedClassifiers

_NEAR = 1e-5  # to 0 or 1: many people's probabilities are there, closer to each other than single precision can tell
_MISSING = "nan"  # how skl2onnx writes a missing value among categories


def estimator_labels(
    graph: Graph, encoded: str, missing: str, classifiers: FittedClassifiers, *, n_labels: int = 2
) -> str:
    """Labels ``(n, k)`` of fitted estimators of scikit-learn's; rows are transformed once for all who share that."""
    parts: list[str] = []
    order: list[IntArray] = []
    for steps, models in classifiers.by_transformers():
        linear = [(model, at) for model, at in models if isinstance(model, LinearClassifierMixin)]
        constant = [(model, at) for model, at in models if isinstance(model, int)]
        others = [(model, at) for model, at in models if not isinstance(model, int | LinearClassifierMixin)]
        rows = encoded if encoded or not (linear or others) else _transformed(graph, steps, missing)
        order += [at for _, at in (*constant, *linear, *others)]
        parts += [graph.repeated(np.full((1, len(at)), float(label))) for label, at in constant]
        if n_labels > 2:
            parts += [_largest_labels(graph, rows, model, len(at)) for model, at in linear]
        elif linear:
            parts.append(_product_labels(graph, rows, linear, classifiers.thresholds))
        parts += [_converted_labels(graph, rows, model, classifiers.thresholds[at]) for model, at in others]
    labels = graph.add("Concat", *parts, axis=1)
    return graph.add("Gather", labels, np.argsort(np.concatenate(order)), axis=1)


def _product_labels(graph: Graph, rows: str, linear: list[tuple[Any, IntArray]], thresholds: FloatArray) -> str:
    """Labels ``(n, m)`` of linear estimators at their positions, all in one matrix product."""
    coef = np.concatenate([np.repeat(np.reshape(model.coef_, (1, -1)), len(at), axis=0) for model, at in linear])
    intercept = np.concatenate([np.repeat(model.intercept_, len(at)) for model, at in linear])
    above = np.nan_to_num(thresholds[np.concatenate([at for _, at in linear])], nan=0.0)
    product = graph.add("MatMul", rows, np.ascontiguousarray(coef.T, dtype=float))
    return graph.as_doubles(graph.add("Greater", graph.add("Add", product, intercept[None].astype(float)), above[None]))


def _largest_labels(graph: Graph, rows: str, model: Any, times: int) -> str:
    """Labels ``(n, times)`` of a linear estimator of several labels: that of the largest sum; of two, one has 0."""
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    if len(coef) == 1:
        coef, intercept = np.concatenate([np.zeros_like(coef), coef]), np.concatenate([np.zeros(1), intercept])
    product = graph.add("MatMul", rows, np.ascontiguousarray(coef.T, dtype=float))
    sums = graph.add("Add", product, intercept[None].astype(float))
    label = graph.add("Gather", np.asarray(model.classes_, dtype=float), graph.add("ArgMax", sums, axis=1))
    return graph.add("Concat", *(label for _ in range(times)), axis=1)


def _transformed(graph: Graph, steps: Steps, missing: str) -> str:
    """The people's columns behind a Pipeline's transformers, ``(n, d)``."""
    columns = [
        Values(graph.add("Where", graph.add("Equal", name, text(missing)), text(_MISSING), name), is_text=True)
        if is_text
        else Values(name, is_text=False)
        for name, is_text in graph.columns
    ]
    rows = _joined(graph, columns) if not steps else _applied(graph, Pipeline(steps), columns)
    if rows.is_text:
        raise InputError("An estimator that reads text itself cannot be written as ONNX: encode it in a Pipeline.")
    return rows.name


def _applied(graph: Graph, transformer: Any, values: list[Values]) -> Values:
    """What a fitted transformer makes of these values, side by side."""
    match transformer:
        case None | "passthrough":
            return _joined(graph, values)
        case Pipeline():
            for _, step in transformer.steps:
                values = [_applied(graph, step, values)]
            return values[0]
        case ColumnTransformer():
            return _routed(graph, transformer, values)
        case SimpleImputer():
            return _imputed(graph, transformer, _joined(graph, values))
    whole = _joined(graph, values)
    kind = StringTensorType if whole.is_text else DoubleTensorType
    width = getattr(transformer, "n_features_in_", len(values))  # those of text do not say it
    converted = _convert(transformer, [("rows", kind([None, width]))])
    result, *_ = graph.include(converted, [whole.name])
    if converted.graph.output[0].type.tensor_type.elem_type == TensorProto.STRING:
        return Values(result, is_text=True)
    return Values(graph.as_doubles(result), is_text=False)


def _routed(graph: Graph, transformer: ColumnTransformer, values: list[Values]) -> Values:
    """Here and not by skl2onnx, which brings several columns together in single precision."""
    if len(values) == 1:
        whole, columns = values[0], range(transformer.n_features_in_)
        values = [Values(graph.add("Gather", whole.name, np.array([at]), axis=1), whole.is_text) for at in columns]
    parts = []
    for name, part, _ in transformer.transformers_:
        places = transformer._transformer_to_input_indices[name]
        if part == "drop" or not len(places):
            continue
        made = _applied(graph, part, [values[at] for at in places])
        weight = (transformer.transformer_weights or {}).get(name)
        parts.append(
            made if weight is None else Values(graph.add("Mul", made.name, np.array([[float(weight)]])), False)
        )
    return _joined(graph, parts)


def _imputed(graph: Graph, imputer: SimpleImputer, values: Values) -> Values:
    """Here and not by skl2onnx, which fills single precision and no text."""
    fill = imputer.statistics_
    if imputer.add_indicator or not pd.isna(imputer.missing_values) or pd.isna(fill).any():
        raise InputError(
            "A SimpleImputer is written as ONNX only where missing values are NaN, no indicator is added and every "
            "column had values."
        )
    if values.is_text:
        absent = graph.add("Equal", values.name, text(_MISSING))
        return Values(graph.add("Where", absent, text(*map(str, fill)), values.name), is_text=True)
    absent = graph.add("IsNaN", values.name)
    return Values(graph.add("Where", absent, np.asarray(fill, dtype=float)[None], values.name), is_text=False)


def _joined(graph: Graph, values: list[Values]) -> Values:
    if len({is_text for _, is_text in values}) > 1:
        raise InputError("A transformer of text and numbers at once cannot be written as ONNX: use one for each.")
    if len(values) == 1:
        return values[0]
    return Values(graph.add("Concat", *(name for name, _ in values), axis=1), values[0].is_text)


def _converted_labels(graph: Graph, rows: str, model: Any, thresholds: FloatArray) -> str:
    """Labels ``(n, m)`` of one estimator at some thresholds, by skl2onnx and so in single precision."""
    moved = ~np.isnan(thresholds)
    if moved.any() and hasattr(model, "decision_function"):
        raise InputError(
            f"{type(model).__name__} cannot be written as ONNX: the mixture moves thresholds on its decision function, "
            "which skl2onnx does not give. Linear estimators and those with probabilities alone can be."
        )
    extreme = [float(at) for at in thresholds if 0 < at < _NEAR or 1 - _NEAR < at < 1]
    if extreme:
        raise InputError(
            f"{type(model).__name__} cannot be written as ONNX: the mixture decides at a probability of "
            f"{extreme[0]!r}, which skl2onnx's single precision cannot tell from those beside it. Linear estimators "
            "are written in double precision."
        )
    kinds = [("rows", FloatTensorType([None, model.n_features_in_]))]
    converted = _convert(model, kinds, options={id(model): {"zipmap": False}})
    label, *probability = graph.include(converted, [graph.add("Cast", rows, to=TensorProto.FLOAT)])
    own = graph.add("Unsqueeze", graph.as_doubles(label), np.array([1]))
    if not moved.any():
        return graph.add("Concat", *(own for _ in thresholds), axis=1)
    score = graph.as_doubles(graph.add("Gather", *probability, np.array([1]), axis=1))
    above = graph.as_doubles(graph.add("Greater", score, np.nan_to_num(thresholds, nan=0.0)[None]))
    return graph.add("Where", moved[None], above, own)


def _convert(model: Any, kinds: list[tuple[str, Any]], **settings: Any) -> onnx.ModelProto:
    try:
        converted: onnx.ModelProto = convert_sklearn(model, initial_types=kinds, target_opset=OPSETS, **settings)
        onnx.checker.check_model(converted, full_check=True)  # some write what cannot be
    except Exception as error:  # converters of others fail in ways of their own
        reason = " ".join(str(error).split())[:300]
        raise InputError(f"{type(model).__name__} cannot be written as ONNX by skl2onnx: {reason}") from error
    for domain in sorted({entry.domain for entry in converted.opset_import} - OPSETS.keys()):
        raise InputError(f"{type(model).__name__} cannot be written as ONNX alone: it needs operators of {domain}.")
    return converted
