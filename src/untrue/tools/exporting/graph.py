"""An ONNX graph as it is written: nodes, numbers, and a name for each value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.errors import ArgumentError
from untrue.optional import need

PURPOSE = "Exporting to ONNX"
# The newest that `TreeEnsemble` needs; runtimes since 2024 have both.
OPSET, ML_OPSET, IR_VERSION = 20, 5, 10
ML = "ai.onnx.ml"
# The prefix of names inside the graph, so that none is the name of a column.
INSIDE = "untrue/"


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output: its type, and its shape after the examples' dimension."""

    name: str
    dtype: type
    shape: tuple[int, ...] = ()


def onnx(part: str = "") -> Any:
    """The package, or a part of it."""
    return need(f"onnx.{part}" if part else "onnx", PURPOSE, "onnx")


class Graph:
    """Nodes in their order. `add` gives the name of what a node makes.

    inside: before the names of its values
    """

    def __init__(self, inside: str = INSIDE) -> None:
        self._inside = inside
        self.nodes: list[Any] = []
        self.numbers: list[Any] = []
        self._count = 0
        self._known: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def name(self) -> str:
        self._count += 1
        return f"{self._inside}{self._count}"

    def add(
        self, kind: str, *inputs: str, domain: str = "", out: str | None = None, **given: Any
    ) -> str:
        """A node of a kind with one output."""
        made = out or self.name()
        self.nodes.append(
            onnx("helper").make_node(kind, list(inputs), [made], domain=domain, **given)
        )
        return made

    def cast(self, value: str, dtype: type) -> str:
        return self.add("Cast", value, to=kind_of(dtype))

    def put(self, values: npt.ArrayLike, dtype: Any = None) -> str:
        """Constant numbers, or text; equal ones share a name."""
        array = np.asarray(values, dtype=dtype)
        if array.dtype.kind in "US":
            array = array.astype(object)
        name = self.name()
        if array.dtype.kind != "O":
            key = (array.dtype.str, array.shape, array.tobytes())
            if key in self._known:
                return self._known[key]
            self._known[key] = name
        self.numbers.append(onnx("numpy_helper").from_array(array, name))
        return name

    def model(self, inputs: Iterable[Port], outputs: Iterable[Port], *, doc: str) -> Any:
        """The whole, checked by the package."""
        helper = onnx("helper")
        graph = helper.make_graph(
            self.nodes,
            "untrue",
            [_declared(port) for port in inputs],
            [_declared(port) for port in outputs],
            self.numbers,
            doc_string=doc,
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
        model = helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="untrue"
        )
        onnx("checker").check_model(model)
        return model


def check_names(columns: Iterable[str]) -> None:
    """Columns can be inputs of a graph under their own names."""
    for name in columns:
        if not name or name.startswith(INSIDE):
            raise ArgumentError(
                f"Column {name!r} cannot be an input of an ONNX graph; give it another name and "
                "fit the model again."
            )


def free_name(name: str, columns: Iterable[str]) -> str:
    """A name for an output that no column has.

    >>> free_name("probs", ["age"]), free_name("probs", ["probs"])
    ('probs', 'probs_')
    """
    taken = set(columns)
    while name in taken:
        name += "_"
    return name


def kind_of(dtype: type) -> int:
    """ONNX's number for a type."""
    if dtype is str:
        return int(onnx().TensorProto.STRING)
    return int(onnx("helper").np_dtype_to_tensor_dtype(np.dtype(dtype)))


def _declared(port: Port) -> Any:
    shape = ["N", *port.shape]
    return onnx("helper").make_tensor_value_info(port.name, kind_of(port.dtype), shape)
