"""Our own classifiers, what encodes rows for them, and what mixes labels of any."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from fairwise.errors import InputError
from fairwise.learning.encoding import CategoryColumn, NumberColumn, TableEncoder
from fairwise.learning.onnx.estimators import estimator_labels
from fairwise.learning.onnx.graph import Graph, Values, text
from fairwise.learning.oracles.base import FloatArray
from fairwise.learning.oracles.linear import LinearClassifiers
from fairwise.learning.oracles.scikit_learn import FittedClassifiers
from fairwise.learning.oracles.tree_classifiers import TreeClassifiers
from fairwise.learning.target import AmountTarget

PROBABILITIES, AMOUNTS = "probabilities", "amounts"  # what graphs give

if TYPE_CHECKING:
    from fairwise.learning.model.fitted import FittedModel


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
