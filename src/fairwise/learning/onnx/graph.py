"""A fitted model as an ONNX graph: its encoding, its classifiers, and what mixes their labels."""

from __future__ import annotations

import json
from importlib import metadata
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import onnx
import pandas as pd
from numpy.typing import NDArray
from onnx import TensorProto, compose, helper, numpy_helper
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.pipeline import Pipeline

from fairwise.errors import InputError
from fairwise.learning.encoding import CategoryColumn, NumberColumn, TableEncoder
from fairwise.learning.oracles.base import FloatArray, IntArray
from fairwise.learning.oracles.linear import LinearClassifiers
from fairwise.learning.oracles.scikit_learn import FittedClassifiers, Steps
from fairwise.learning.oracles.tree_classifiers import TreeClassifiers
from fairwise.learning.target import AmountTarget

if TYPE_CHECKING:
    from fairwise.learning.model.fitted import FittedModel


OPSETS = {"": 19, "ai.onnx.ml": 3}  # the first that compares text


class Values(NamedTuple):
    """A tensor of text, or else of doubles."""

    name: str
    is_text: bool


class Graph:
    """Nodes and constants, each result under a name of its own; the inputs are named as the columns.

    The output ``(people, width)`` is of doubles.
    """

    def __init__(self, columns: list[Values], output: str, width: int) -> None:
        self.columns = columns
        self._output, self._width = output, width
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._taken = {output, *(column.name for column in columns)}

    def add(self, operator: str, *inputs: str | NDArray[Any], **attributes: Any) -> str:
        """Name of the operator's result; arrays among its inputs become constants."""
        names = [self._constant(value) if isinstance(value, np.ndarray) else value for value in inputs]
        result = self._name(operator)
        self._nodes.append(helper.make_node(operator, names, [result], **attributes))
        return result

    def as_doubles(self, name: str) -> str:
        return self.add("Cast", name, to=TensorProto.DOUBLE)

    def repeated(self, row: FloatArray) -> str:
        """A row ``(1, k)`` for each person."""
        people = self.add("Shape", self.columns[0].name, start=0, end=1)
        return self.add("Expand", row, self.add("Concat", people, np.array([row.shape[1]]), axis=0))

    def include(self, converted: onnx.ModelProto, inputs: list[str]) -> list[str]:
        """Put another graph behind these values; names of its results."""
        inside = compose.add_prefix(converted, f"{self._name('inside')}/").graph
        for name, entry in zip(inputs, inside.input, strict=True):
            self._nodes.append(helper.make_node("Identity", [name], [entry.name]))
        self._nodes += inside.node
        self._constants += inside.initializer
        return [entry.name for entry in inside.output]

    def end(self, result: str) -> None:
        self._nodes.append(helper.make_node("Identity", [result], [self._output]))

    def model(self, properties: dict[str, str]) -> onnx.ModelProto:
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.STRING if is_text else TensorProto.DOUBLE, ["people", 1])
            for name, is_text in self.columns
        ]
        outputs = [helper.make_tensor_value_info(self._output, TensorProto.DOUBLE, ["people", self._width])]
        graph = helper.make_graph(self._nodes, "fairwise", inputs, outputs, self._constants)
        opsets = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
        whole = helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=helper.find_min_ir_version_for(opsets),
            producer_name="fairwise",
            producer_version=metadata.version("fairwise"),
        )
        helper.set_model_props(whole, properties)
        onnx.checker.check_model(whole, full_check=True)
        return whole

    def _constant(self, value: NDArray[Any]) -> str:
        name = self._name("constant")
        self._constants.append(numpy_helper.from_array(value, name))
        return name

    def _name(self, kind: str) -> str:
        number = len(self._taken)
        while (name := f"{kind}_{number}") in self._taken:
            number += 1
        self._taken.add(name)
        return name


def text(*values: str) -> NDArray[Any]:
    """A row ``(1, k)`` of texts."""
    return np.array([values], dtype=object)


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
    """Return what a fitted transformer makes of these values, side by side."""
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


PROBABILITIES, AMOUNTS = "probabilities", "amounts"  # what graphs give


def to_onnx(model: FittedModel, missing: str = "") -> onnx.ModelProto:
    """Return the graph of probabilities, or of mean amounts ``(n, 1)`` added as ``problem.mean_value`` adds them.

    ``missing`` stands for a missing value in columns that are no numbers.
    """
    target = model._target
    output, width = (AMOUNTS, 1) if isinstance(target, AmountTarget) else (PROBABILITIES, len(target.classes))
    columns = _columns(model)
    _check_names(columns, model._encoder, missing, output)
    graph = Graph(columns, output, width)
    others = _mixed(graph, _labels(graph, model, missing), model)
    if isinstance(target, AmountTarget):
        sums = graph.add("CumSum", graph.add("Mul", others, target.shares_of_range[None, 1:]), np.array(1))
        share = graph.add("Min", graph.add("Max", _last(graph, sums), np.array([[0.0]])), np.array([[1.0]]))
        scaled = graph.add("Mul", share, np.array([[target.high - target.low]]))
        graph.end(graph.add("Add", scaled, np.array([[target.low]])))
        return graph.model({"amounts": json.dumps([target.low, target.high])})
    first = graph.add("Sub", np.array([[1.0]]), _last(graph, graph.add("CumSum", others, np.array(1))))
    if width > 2:  # a sum of rounded parts
        first = graph.add("Max", first, np.array([[0.0]]))
    graph.end(graph.add("Concat", first, others, axis=1))
    return graph.model({"classes": json.dumps(target.classes.tolist(), default=str)})


def _labels(graph: Graph, model: FittedModel, missing: str) -> str:
    """Labels ``(n, k)`` that the classifiers of a mixture give, as doubles."""
    encoded = "" if model._encoder is None else _encoded(graph, model._encoder, missing)
    match model.classifiers_:
        case TreeClassifiers() as trees:
            return _tree_labels(graph, encoded, trees)
        case LinearClassifiers() as linear:
            return _linear_labels(graph, encoded, linear)
        case FittedClassifiers() as fitted:
            return estimator_labels(graph, encoded, missing, fitted, n_labels=len(model._target.classes))
        case other:
            raise InputError(f"{type(other).__name__} cannot be written as ONNX.")


def _columns(model: FittedModel) -> list[Values]:
    if model._encoder is not None:
        return [Values(column.name, isinstance(column, CategoryColumn)) for column in model._encoder.columns]
    return [Values(name, kind == "text") for name, kind in (model._column_kinds or {}).items()]


def _check_names(columns: list[Values], encoder: TableEncoder | None, missing: str, output: str) -> None:
    if not isinstance(missing, str):
        raise InputError(f"missing={missing!r} is not allowed: it must be a text.")
    if any(column.name == output for column in columns):
        raise InputError(f"A column is called {output!r}, as the graph's output is: rename the column, and fit again.")
    for column in encoder.columns if encoder else ():
        if isinstance(column, CategoryColumn) and missing in column.categories:
            raise InputError(
                f"missing={missing!r} is a category of column {column.name!r}: give another text for missing values."
            )


def _encoded(graph: Graph, encoder: TableEncoder, missing: str) -> str:
    """The matrix ``(n, d)`` that :meth:`TableEncoder.encode` makes."""
    parts = []
    for column in encoder.columns:
        if isinstance(column, NumberColumn):
            absent = graph.add("IsNaN", column.name)
            filled = graph.add("Where", absent, np.array([[column.fill]]), column.name)
            parts.append(
                graph.add("Div", graph.add("Sub", filled, np.array([[column.shift]])), np.array([[column.scale]]))
            )
        else:
            absent = graph.add("Equal", column.name, text(missing))
            if column.categories:
                parts.append(graph.as_doubles(graph.add("Equal", column.name, text(*column.categories))))
        if column.marks_missing:
            parts.append(graph.as_doubles(absent))
    return graph.add("Concat", *parts, axis=1)


def _tree_labels(graph: Graph, rows: str, trees: TreeClassifiers) -> str:
    """Labels ``(n, k)``: each node's from its children's, from the leaves up, as :meth:`TreeClassifiers.labels`."""
    nodes = np.stack([trees.feature.ravel(), trees.threshold.ravel()])
    (column, threshold), which = np.unique(nodes, axis=1, return_inverse=True)
    which = which.reshape(trees.feature.shape)
    asked = graph.add("Gather", rows, column.astype(np.int64), axis=1)
    goes_left = graph.add("LessOrEqual", asked, threshold[None])
    value: str | FloatArray = trees.leaf[None].astype(float)
    ends, axis, step = np.array([trees.leaf.shape[1]]), np.array([2]), np.array([2])
    for level in reversed(range(trees.depth)):
        left, right = (graph.add("Slice", value, np.array([side]), ends, axis, step) for side in (0, 1))
        here = which[:, 2**level - 1 : 2 ** (level + 1) - 1].astype(np.int64)
        value = graph.add("Where", graph.add("Gather", goes_left, here, axis=1), left, right)
    return graph.add("Squeeze", value, axis)


def _linear_labels(graph: Graph, rows: str, linear: LinearClassifiers) -> str:
    """Labels ``(n, k)``: the intercept, then column after column, in the order of ``linear_kernels``.

    Of more than two labels every one but the first has such a sum, and the first of the largest decides.
    """
    k = linear.intercept.size
    step = helper.make_graph(
        [
            helper.make_node("Unsqueeze", ["x", "last"], ["column"]),
            helper.make_node("Mul", ["column", "coef"], ["product"]),
            helper.make_node("Add", ["score", "product"], ["sum"]),
        ],
        "add_column",
        [
            helper.make_tensor_value_info("score", TensorProto.DOUBLE, ["people", k]),
            helper.make_tensor_value_info("x", TensorProto.DOUBLE, ["people"]),
            helper.make_tensor_value_info("coef", TensorProto.DOUBLE, [k]),
        ],
        [helper.make_tensor_value_info("sum", TensorProto.DOUBLE, ["people", k])],
        [numpy_helper.from_array(np.array([1]), "last")],
    )
    scores = graph.add(
        "Scan",
        graph.repeated(linear.intercept.reshape(1, -1)),
        graph.add("Transpose", rows, perm=[1, 0]),
        np.ascontiguousarray(linear.coef.reshape(k, -1).T),
        num_scan_inputs=2,
        body=step,
    )
    if linear.coef.ndim == 2:
        return graph.as_doubles(graph.add("Greater", scores, np.array([[0.0]])))
    by_classifier = graph.add("Reshape", scores, np.array([-1, *linear.intercept.shape]))
    padded = graph.add("Pad", by_classifier, np.array([0, 0, 1, 0, 0, 0]), np.array(0.0))
    return graph.as_doubles(graph.add("ArgMax", padded, axis=2, keepdims=0))


def _mixed(graph: Graph, labels: str, model: FittedModel) -> str:
    """Probabilities of all labels but the first ``(n, labels - 1)`` from labels ``(n, k)``.

    A running sum, as its order is that of :class:`Mixture`.
    """
    given = graph.add("Unsqueeze", labels, np.array([2]))
    is_this = graph.as_doubles(graph.add("Equal", given, np.arange(1.0, len(model._target.classes))[None, None]))
    sums = graph.add("CumSum", graph.add("Mul", is_this, model.weights_[None, :, None]), np.array(1))
    total = graph.add("Squeeze", _last(graph, sums), np.array([1]))
    others = graph.add("Min", total, np.array([[1.0]]))
    if model._threshold is None:
        return others
    return graph.as_doubles(graph.add("GreaterOrEqual", others, np.array([[model._threshold]])))


def _last(graph: Graph, values: str) -> str:
    """The last along the second axis, which stays: ``(n, 1)`` of ``(n, k)``."""
    return graph.add("Slice", values, np.array([-1]), np.array([np.iinfo(np.int64).max]), np.array([1]))
