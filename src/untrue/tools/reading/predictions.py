"""Predictions to measure: from a file whose columns are found, or from arrays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from untrue.errors import ArgumentError
from untrue.penalty import ExamplePenalty, FormulaPenalty, Penalty
from untrue.tools.reading.prediction_arrays import read_arrays, with_costs
from untrue.tools.reading.prediction_file import read_predictions
from untrue.tools.reading.prediction_table import PredictionTable


def predictions_of(
    data: Any,
    y: Any,
    penalty: Penalty | FormulaPenalty | ExamplePenalty,
    *,
    cost_columns: Any = None,
    classes: Sequence[str] | None = None,
    **columns: Any,
) -> PredictionTable:
    """A file (with its columns, as `read_predictions` takes them), or arrays with `y`."""
    if isinstance(data, str | Path):
        if y is not None or cost_columns is not None:
            raise ArgumentError(
                "`y` and `cost_columns` belong to arrays; a file has them as columns."
            )
        if isinstance(penalty, ExamplePenalty):
            raise ArgumentError(
                "`penalty` holds costs of certain examples; for a file give a FormulaPenalty, by "
                "its columns."
            )
        return read_predictions(Path(data), penalty, classes=classes, **columns)
    if y is None:
        raise ArgumentError("`y` must hold the true labels of the predictions.")
    if not isinstance(penalty, Penalty):
        if classes is not None:
            raise ArgumentError(
                "`classes` goes with costs by class: order the columns of `data` as the classes of "
                "the penalty are."
            )
        return with_costs(read_arrays(data, y, penalty.base), penalty, cost_columns)
    if cost_columns is not None:
        raise ArgumentError("`cost_columns` belong to costs by columns: a FormulaPenalty.")
    return read_arrays(data, y, penalty, classes)
