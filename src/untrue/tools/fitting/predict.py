"""Label data with a fitted model: `untrue predict`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from untrue.array_types import FloatArray, IntArray
from untrue.decision import decide
from untrue.errors import ArgumentError, DataError, UntrueWarning, listed
from untrue.hierarchy import Hierarchy
from untrue.optional import need
from untrue.penalty import Actions, ExamplePenalty, FormulaPenalty, Penalty, TreePenalty
from untrue.penalty.stated import examples_over, formulas_over, penalty_over
from untrue.tools.fitting.link import class_probs
from untrue.tools.fitting.model import Model, answers, argmax
from untrue.tools.fitting.model_folder import load_model
from untrue.tools.reading.codes import TableCodes
from untrue.tools.reading.cost_columns import ARRAYS
from untrue.tools.reading.features import Schema
from untrue.tools.reading.labels import abstained_text, numbered, place_of, places
from untrue.tools.reading.opening import array_source, open_source, table_source
from untrue.tools.reading.preprocess import TablePreprocessing
from untrue.tools.reading.row_costs import source_costs
from untrue.tools.reading.sources import Labels, Source, TableSource
from untrue.tools.reading.tables import held_table, is_frame, is_table
from untrue.tools.writing import write_table

Costs = Penalty | ExamplePenalty
DECISIONS = ("argmax", "cost", "tuned", "node")


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """Answers in the order of the data: class positions (N,), -1 abstained, and probs (N, k).

    ids     a column that names the examples, where they have names (files)
    truth   the labels that came with the data, if any
    columns that the costs are made of
    actions names of the answers where these are nodes of a hierarchy; `predicted` is by them
    """

    classes: tuple[str, ...]
    predicted: IntArray
    probs: FloatArray
    ids: tuple[str, tuple[str, ...]] | None
    truth: Labels | None
    columns: Mapping[str, FloatArray] = field(default_factory=dict)
    actions: tuple[str, ...] | None = None

    @property
    def answers(self) -> tuple[str, ...]:
        """What `predicted` are positions of: classes, or nodes."""
        return self.classes if self.actions is None else self.actions

    @property
    def abstained(self) -> int:
        return int((self.predicted < 0).sum())


def read_data(
    model: Model,
    path: Path,
    *,
    delimiter: str | None = None,
    classes: Sequence[str] | None = None,
) -> Source:
    """The data at `path`, of the kind the model was fitted to; see `open_source`."""
    schema = (
        model.preprocessing.schema
        if isinstance(model.preprocessing, TablePreprocessing | TableCodes)
        else Schema((), ())
    )
    if model.kind != "table" and is_table(path) and path.is_file():
        raise _other_kind(model, path, "table")
    source = open_source(
        path, target=model.target, schema=schema, delimiter=delimiter, classes=classes
    )
    if source.kind != model.kind:
        raise _other_kind(model, path, source.kind)
    return source


def _other_kind(model: Model, path: Path, kind: str) -> DataError:
    return DataError(f"The model was fitted to data of kind {model.kind!r}; {path} is {kind!r}.")


def predict(
    model: Model | str | Path,
    data: Any,
    *,
    decision: str | None = None,
    abstain_cost: float | None = None,
    penalty: Penalty | FormulaPenalty | ExamplePenalty | None = None,
    cost_columns: Any = None,
    hierarchy: Hierarchy | None = None,
) -> Predictions:
    """Answers and calibrated probabilities; `penalty` decides instead of the model's own.

    model     a model, or the folder of one
    data      an array or a pandas table of examples, or a file or folder as `untrue predict` takes
              it
    decision  "argmax", "cost", or "tuned", by the costs that `untrue tune` found; None: tuned where
              the model is, else argmax. "node": a class or an inner node of the hierarchy, the one
              of least expected distance to the true class (`Actions.from_hierarchy`)
    hierarchy of "node": another than the model's, whose costs may be by none
    cost_columns  of arrays, for a model with costs by columns: these, a table or a dict of arrays
    """
    model = load_model(Path(model)) if isinstance(model, str | Path) else model
    source = _as_source(model, data)
    decision = default_decision(model) if decision is None else decision
    check_decision(model, decision, abstain_cost, penalty)
    nodes = node_actions(model, decision, hierarchy)
    stated = model.costs or model.penalty
    # Without a formula of its own a model asks for no columns; a penalty given may.
    own = source_costs(source, stated, cost_columns if model.costs is not None else None)
    costs: Costs = model.penalty if own is None else own.examples
    columns = {} if own is None else dict(own.columns)
    if penalty is not None:
        costs, more = _given_costs(penalty, model, source, cost_columns)
        columns |= more
    scores = model.scores(source.inputs(model.preprocessing), source=str(source.path))
    trained = None if model.link is None else model.link.formulas
    each = None if own is None else own.of(trained or own.stated)
    probs = class_probs(scores, model.link, model.temperature, each)
    if decision == "argmax":
        predicted = argmax(scores)
    elif nodes is not None:
        predicted = decide(probs, nodes)
    elif decision == "tuned":  # costs by columns are then the model's own, scaled
        predicted = answers(probs, model.decision, own)
    else:
        predicted = decide(probs, costs, abstain_cost)
    _warn_of_empty(source, model)
    if source.labels is not None:
        _warn_of_unknown(source.labels, model)
    names = None if nodes is None else nodes.actions
    return Predictions(model.classes, predicted, probs, source.ids(), source.labels, columns, names)


def node_actions(model: Model, decision: str, hierarchy: Hierarchy | None) -> Actions | None:
    """The nodes that may be answered, in the order of the model's classes."""
    if decision != "node":
        if hierarchy is not None:
            raise ArgumentError(
                "`hierarchy` (--hierarchy) belongs to the decision 'node' (--decide node)."
            )
        return None
    if hierarchy is None and isinstance(model.penalty, TreePenalty):
        hierarchy = model.penalty.hierarchy
    if hierarchy is None:
        raise ArgumentError(
            "The decision 'node' answers with nodes of a hierarchy, and the model's costs are by "
            "none: give `hierarchy` (--hierarchy FILE), or fit with costs by one (`untrue penalty "
            "new --hierarchy`)."
        )
    if hierarchy.classes != model.classes:
        raise ArgumentError(
            f"The hierarchy has other classes than the model, or in another order: "
            f"{listed(hierarchy.classes)}; the model has {listed(model.classes)}."
        )
    return Actions.from_hierarchy(hierarchy)


def _given_costs(
    penalty: Penalty | FormulaPenalty | ExamplePenalty, model: Model, source: Source, columns: Any
) -> tuple[Costs, dict[str, FloatArray]]:
    """Costs that a caller decides by, over the model's classes, and the columns they are of."""
    if isinstance(penalty, ExamplePenalty):
        return examples_over(penalty, model.classes), {}
    if not isinstance(penalty, FormulaPenalty):
        return penalty_over(penalty, model.classes), {}
    over = formulas_over(penalty, penalty_over(penalty.base, model.classes))
    found = source_costs(source, over, columns)
    if found is None:
        assert isinstance(over, Penalty)
        return over, {}
    return found.examples, dict(found.columns)


def check_decision(
    model: Model, decision: str, abstain_cost: float | None, penalty: object | None
) -> None:
    """Refuse a decision that the model does not have, and options of another decision."""
    if decision not in DECISIONS:
        raise ArgumentError(
            f"`decision` (--decide) must be 'argmax', 'cost', 'tuned' or 'node'; got {decision!r}."
        )
    if decision == "tuned" and model.decision is None:
        raise ArgumentError(
            "The decision 'tuned' needs a model whose decision was tuned; this one decides by "
            "argmax."
        )
    if decision != "cost" and (abstain_cost is not None or penalty is not None):
        what = (
            "`abstain_cost` (--abstain-cost)"
            if abstain_cost is not None
            else "`penalty` (--penalty)"
        )
        why = {
            "argmax": "argmax asks for no costs",
            "tuned": "the tuned costs are fixed",
            "node": "nodes cost by the hierarchy",
        }[decision]
        raise ArgumentError(f"{what} belongs to the decision 'cost' (--decide cost); {why}.")


def _as_source(model: Model, data: Any) -> Source:
    """What the data are; the same kind as those the model was fitted to."""
    if hasattr(data, "fit_preprocessing"):
        source: Source = data
        return source
    if isinstance(data, str | Path):
        return read_data(model, Path(data))
    rules = model.preprocessing
    if (
        is_frame(data)
        and isinstance(rules, TablePreprocessing | TableCodes)
        and model.kind == "table"
    ):
        schema = rules.schema
        return table_source(held_table(data, ARRAYS), target=model.target, schema=schema)
    return array_source(np.asarray(data), None, path=ARRAYS)


def _warn_of_empty(source: Source, model: Model) -> None:
    """Warn of columns without any value, mostly a mistake; in a single row they are common."""
    if not isinstance(source, TableSource) or len(source) < 2:
        return
    known: set[str] = set()
    if isinstance(model.preprocessing, TablePreprocessing):
        # Categories that were never missing in training are warned of as unseen ones.
        numbers = model.preprocessing.numbers
        known = {numbers.names[gap] for gap in numbers.gaps}
        known |= {rule.name for rule in model.preprocessing.categories}
    for name in source.features.empty():
        if name not in known:
            warnings.warn(
                f"column {name!r}, which the model learned from, is empty in all "
                f"{len(source):,} rows; the answers may be worth little",
                UntrueWarning,
                stacklevel=3,
            )


def _warn_of_unknown(labels: Labels, model: Model) -> None:
    """Warn of true classes that the model does not know."""
    present = {labels.names[code] for code in np.unique(labels.codes).tolist() if code >= 0}
    known = places(model.classes)
    unknown = sorted(name for name in present if place_of(name, known) is None)
    if unknown:
        warnings.warn(
            f"{labels.column!r} has {len(unknown)} class{'es' * (len(unknown) > 1)} that the model "
            f"does not know: {listed(unknown)}.{numbered(unknown[0], model.classes)}",
            UntrueWarning,
            stacklevel=3,
        )


def default_decision(model: Model) -> str:
    """How a model decides when nobody says otherwise."""
    return "argmax" if model.decision is None else "tuned"


def write_predictions(found: Predictions, path: Path) -> Path:
    """One row for each example, in order, as .csv or .parquet: `untrue audit` reads it as is.

    Columns: the name of the example, where it has one; `truth`, where the data had labels;
    `predicted`; `prob_CLASS` for each class; the columns that the costs are made of.
    """
    arrow = need("pyarrow", "Predicting")
    names = np.array([*found.answers, abstained_text(found.classes)], dtype=object)
    columns: dict[str, Any] = {}
    if found.ids is not None:
        columns[found.ids[0]] = list(found.ids[1])
    if found.truth is not None:
        true = np.array(found.truth.names, dtype=object)
        columns["truth"] = true[found.truth.codes].tolist()
    columns["predicted"] = names[found.predicted].tolist()
    columns |= {f"prob_{name}": found.probs[:, j] for j, name in enumerate(found.classes)}
    for name, values in found.columns.items():
        if name in columns:
            raise DataError(
                f"The costs are made of a column {name!r}, which is what the file of predictions "
                "calls something else; rename it in the data and in the costs."
            )
        columns[name] = values
    return write_table(arrow.table(columns), path)
