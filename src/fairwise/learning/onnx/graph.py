"""An ONNX graph while it is written."""

from __future__ import annotations

from importlib import metadata
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, compose, helper, numpy_helper

from fairwise.learning.oracles.base import FloatArray

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
