"""`untrue export --format onnx`: a fitted model and its decision as one graph.

Outputs, for N examples and k classes:

    predicted  (N,) the answer, by its name
    index      (N,) its position among the classes, -1 for no answer
    probs      (N, k) calibrated class probabilities, as `untrue predict` writes them
    scores     (N, k) what the network or the trees give
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import untrue
from untrue.atomic_files import check_place
from untrue.errors import ArgumentError, listed
from untrue.penalty import Penalty
from untrue.penalty.stated import penalty_over
from untrue.tools.exporting.decision_nodes import add_argmax, add_least_cost, add_probs
from untrue.tools.exporting.graph import Graph, Port, free_name
from untrue.tools.exporting.table_columns import add_codes, add_scaled, table_ports
from untrue.tools.exporting.tree_nodes import add_trees
from untrue.tools.fitting.model import Model
from untrue.tools.fitting.predict import check_decision, default_decision
from untrue.tools.reading.codes import TableCodes
from untrue.tools.reading.images import ImagePreprocessing
from untrue.tools.reading.labels import abstained_text
from untrue.tools.reading.preprocess import TablePreprocessing

# The costs are a matrix in the graph; the posterior takes k x k numbers for each example.
MOST_CLASSES, MOST_WITH_POSTERIOR = 5_000, 256
PIXELS = ("uint8", "float32")
IMAGES = "images"
OUTPUTS = ("predicted", "index", "probs", "scores")


@dataclass(frozen=True, slots=True)
class Exported:
    """A graph: its bytes, its inputs and outputs in order, and how it decides.

    outputs: the answer, its position, probabilities and scores; without probabilities where those
        go by columns of the data
    """

    content: bytes
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    decision: str
    abstain_cost: float | None
    costs: Penalty


def export_onnx(
    model: Model,
    *,
    decision: str | None = None,
    abstain_cost: float | None = None,
    penalty: Penalty | None = None,
    pixels: str | None = None,
) -> Exported:
    """The graph of a model; `decision`, `abstain_cost` and `penalty` as in `untrue.predict`.

    pixels: what images come as, "uint8" bytes (if None) or "float32" numbers on the scale learned
        from
    """
    decision = default_decision(model) if decision is None else decision
    check_decision(model, decision, abstain_cost, penalty)
    if decision == "node":
        raise ArgumentError(
            "Answers at nodes of a hierarchy are not exported; untrue.predict has them."
        )
    if model.costs is not None and decision != "argmax":
        raise ArgumentError(
            f"The model has costs by columns, {listed(model.costs.columns)}, which a graph cannot "
            "hold: export it with --decide argmax, fit it with costs by class, or use "
            "untrue.predict."
        )
    if abstain_cost is not None and not 0 <= abstain_cost < math.inf:
        raise ArgumentError(f"`abstain_cost` must be a number of at least 0; got {abstain_cost!r}.")
    if pixels is not None and not isinstance(model.preprocessing, ImagePreprocessing):
        raise ArgumentError(
            "`pixels` (--pixels) belongs to a model of images; this one takes the columns of a "
            "table."
        )
    pixels = PIXELS[0] if pixels is None else pixels
    if pixels not in PIXELS:
        raise ArgumentError(f"`pixels` must be {' or '.join(PIXELS)}; got {pixels!r}.")
    _check_size(model)
    costs = model.penalty if penalty is None else penalty_over(penalty, model.classes)
    if decision == "tuned" and isinstance(model.decision, Penalty):
        costs = model.decision
    graph = Graph()
    inputs, scores = _add_scores(graph, model, pixels)
    names = [port.name for port in inputs]
    k = len(model.classes)
    label, index, probs, kept = (free_name(name, names) for name in OUTPUTS)
    outputs = [Port(label, str), Port(index, np.int64), Port(kept, np.float64, (k,))]
    graph.add("Identity", scores, out=kept)
    if _has_probs(model):
        outputs.insert(2, Port(probs, np.float64, (k,)))
        found = add_probs(graph, scores, model.link, model.temperature)
        graph.add("Identity", found, out=probs)
    if decision == "argmax":
        add_argmax(graph, scores, index)
    else:
        add_least_cost(graph, probs, costs.matrix(), abstain_cost, index)
    answers = graph.put([*model.classes, abstained_text(model.classes)])
    # Position -1 is the last: no answer.
    graph.add("Gather", answers, index, axis=0, out=label)
    made = graph.model(inputs, outputs, doc=f"{model.predictor.words()}, decides by {decision}")
    about = {
        "untrue": untrue.__version__,
        "classes": json.dumps(model.classes, ensure_ascii=False),
        "decision": decision,
        "temperature": repr(model.temperature),
    }
    if isinstance(model.preprocessing, ImagePreprocessing):
        about["white"] = str(model.preprocessing.white)
    for key, value in about.items():
        made.metadata_props.add(key=key, value=value)
    content: bytes = made.SerializeToString()
    return Exported(content, tuple(inputs), tuple(outputs), decision, abstain_cost, costs)


def _has_probs(model: Model) -> bool:
    """Not where the probabilities behind a model's scores go by costs of each example."""
    return model.costs is None or model.link is None or not model.link.moves


def check_onnx_target(out: Path, model: Path, *, overwrite: bool = False) -> None:
    """A file that a graph can be written to, outside the model's own folder."""
    if out.suffix.lower() != ".onnx":
        raise ArgumentError(f"`--out` must end in .onnx; got {out}.")
    if out.resolve().is_relative_to(model.resolve()):
        raise ArgumentError(f"`--out` must lie outside the model's folder {model}; got {out}.")
    check_place(out, overwrite=overwrite)


def _check_size(model: Model) -> None:
    k = len(model.classes)
    moves = model.link is not None and model.link.moves
    most = MOST_WITH_POSTERIOR if moves else MOST_CLASSES
    if k > most:
        why = "to undo what training by costs moved takes k x k numbers for each example"
        why = why if moves else "the graph holds all k x k costs"
        raise ArgumentError(f"At most {most:,} classes can be exported here ({why}); got {k:,}.")


def _add_scores(graph: Graph, model: Model, pixels: str) -> tuple[list[Port], str]:
    """The inputs of the graph, and scores (N, k) in float64."""
    rules, predictor = model.preprocessing, model.predictor
    if isinstance(rules, ImagePreprocessing):
        shape = (rules.height, rules.width, rules.channels)
        dtype = np.uint8 if pixels == "uint8" else np.float32
        ports, value = [Port(IMAGES, dtype, shape)], IMAGES
        if pixels == "uint8":
            bytes_as = graph.cast(value, np.float32)
            value = graph.add("Mul", bytes_as, graph.put(np.float32(1 / 255)))
        value = graph.add("Transpose", value, perm=[0, 3, 1, 2])
        return ports, _network(graph, predictor, value)
    array = model.kind != "table"
    ports = table_ports(rules.schema, array=array)
    if isinstance(rules, TableCodes):
        from untrue.tools.fitting.booster import BoosterPredictor

        assert isinstance(predictor, BoosterPredictor)
        return ports, add_trees(graph, predictor, add_codes(graph, rules, array=array))
    assert isinstance(rules, TablePreprocessing)
    return ports, _network(graph, predictor, add_scaled(graph, rules, array=array))


def _network(graph: Graph, predictor: Any, value: str) -> str:
    from untrue.tools.exporting.network_layers import add_network

    logits = add_network(graph, predictor.network, value, predictor.inputs)
    return graph.cast(logits, np.float64)
