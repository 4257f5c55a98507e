"""The raw columns of a table to a model's inputs, as nodes of an ONNX graph.

A column is an input of its own name: numbers in float64, NaN where missing; categories as text,
empty where missing. Data that came as an array have one input, `X` (N, columns).
"""

from __future__ import annotations

import numpy as np

from untrue.tools.exporting.graph import ML, Graph, Port, check_names
from untrue.tools.reading.codes import LARGEST, TableCodes
from untrue.tools.reading.features import Schema
from untrue.tools.reading.preprocess import FARTHEST, MISSING, CategoryEncoding, TablePreprocessing

ARRAY = "X"


def table_ports(schema: Schema, *, array: bool) -> list[Port]:
    """The inputs of a graph for a table; array: the columns came as one."""
    if array:
        return [Port(ARRAY, np.float64, (len(schema.numbers),))]
    check_names(schema.names)
    numbers = [Port(name, np.float64) for name in schema.numbers]
    return [*numbers, *(Port(name, str) for name in schema.categories)]


def add_scaled(graph: Graph, rules: TablePreprocessing, *, array: bool) -> str:
    """Inputs (N, width) of a network, float32: what `TablePreprocessing.apply` gives."""
    blocks = []
    scaling = rules.numbers
    if scaling.names:
        values = _numbers(graph, scaling.names, array=array)
        missing = graph.add("IsNaN", values)
        wide = graph.add("Where", missing, graph.put(scaling.median, np.float64), values)
        if scaling.gaps:
            gaps = graph.add("Gather", missing, graph.put(scaling.gaps, np.int64), axis=1)
            shown = graph.cast(gaps, np.float64)
            wide = graph.add("Concat", wide, shown, axis=1)
        centred = graph.add("Sub", wide, graph.put(scaling.mean, np.float64))
        scaled = graph.add("Div", centred, graph.put(scaling.scale, np.float64))
        limits = (graph.put(np.float64(limit)) for limit in (-FARTHEST, FARTHEST))
        blocks.append(graph.add("Clip", scaled, *limits))
    blocks += [_one_hot(graph, rule) for rule in rules.categories if rule.width]
    return graph.cast(graph.add("Concat", *blocks, axis=1), np.float32)


def add_codes(graph: Graph, rules: TableCodes, *, array: bool) -> str:
    """Inputs (N, width) of boosted trees, in float32 and then wide again: as they are trained."""
    blocks = []
    if rules.numbers:
        values = _numbers(graph, rules.numbers, array=array)
        limits = (graph.put(np.float64(limit)) for limit in (-LARGEST, LARGEST))
        # A missing value must stay missing, which `Clip` does not ensure in every runtime.
        held = graph.add("Clip", values, *limits)
        blocks.append(graph.add("Where", graph.add("IsNaN", values), values, held))
    for column in rules.categories:
        known = {name: float(i) for i, name in enumerate(column.values) if name}
        found = _encoded(graph, column.name, known, np.nan)
        blocks.append(graph.add("Unsqueeze", found, graph.put([1], np.int64)))
    single = graph.cast(graph.add("Concat", *blocks, axis=1), np.float32)
    return graph.cast(single, np.float64)


def _numbers(graph: Graph, names: tuple[str, ...], *, array: bool) -> str:
    if array:
        return ARRAY
    axis = graph.put([1], np.int64)
    columns = [graph.add("Unsqueeze", name, axis) for name in names]
    return graph.add("Concat", *columns, axis=1)


def _one_hot(graph: Graph, rule: CategoryEncoding) -> str:
    """(N, width) A 1 at the category's place; a rare one's is the last; another has none."""
    other = float(len(rule.categories)) if rule.rare else -1.0
    position = {name: float(j) for j, name in enumerate(rule.categories)}
    position |= dict.fromkeys(rule.rare, other)
    position[""] = position.get(MISSING, other)
    found = _encoded(graph, rule.name, position, other)
    column = graph.add("Unsqueeze", found, graph.put([1], np.int64))
    places = graph.put(np.arange(rule.width, dtype=np.float64))
    return graph.cast(graph.add("Equal", column, places), np.float64)


def _encoded(graph: Graph, column: str, codes: dict[str, float], default: float) -> str:
    """(N,) The number of each text, float64."""
    every = {"": default, **codes}
    found = graph.add(
        "LabelEncoder",
        column,
        domain=ML,
        keys_strings=list(every),
        values_floats=list(every.values()),
        default_float=default,
    )
    return graph.cast(found, np.float64)
