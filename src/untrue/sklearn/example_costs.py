"""Costs of each example for estimators: a `FormulaPenalty`, and the columns that it needs.

scikit-learn hands estimators parts of the data, so that costs come as formulas of columns, which
are parted with them. The columns are those of X where it is a table that has them, or come as
`cost_columns`, beside X: metadata that scikit-learn routes, with `set_predict_request` and so on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from untrue.errors import ArgumentError
from untrue.penalty import ExamplePenalty, FormulaPenalty, Penalty
from untrue.penalty.arrays import table_columns
from untrue.penalty.stated import examples_over, penalty_over


def class_costs(stated: Any, labels: Any, classes: Any) -> Penalty:
    """The costs by class, over these labels: for formulas, of the cells without one."""
    refuse_examples(stated)
    base = stated.base if isinstance(stated, FormulaPenalty) else stated
    return penalty_over(base, labels, classes=classes)


def costs_of(
    stated: Any, labels: Any, classes: Any, X: Any, cost_columns: Any = None
) -> Penalty | ExamplePenalty:
    """The costs over these labels, of each row of X where they are formulas."""
    refuse_examples(stated)
    if not isinstance(stated, FormulaPenalty):
        if cost_columns is not None:
            raise ArgumentError(
                "`cost_columns` was given, but `penalty` has no costs by columns: make it a "
                "FormulaPenalty(base, {(true, predicted): 'amount'})."
            )
        return penalty_over(stated, labels, classes=classes)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    found = stated.per_example(read_columns(stated.columns, X, cost_columns))
    if len(found) != n:
        raise ArgumentError(
            f"`cost_columns` must have a row for each of the {n:,} examples; got {len(found):,}."
        )
    return examples_over(found, labels, classes=classes)


def read_columns(names: Sequence[str], X: Any, cost_columns: Any) -> Mapping[str, Any]:
    """The columns that formulas name, by name."""
    given = X if cost_columns is None else cost_columns
    known = given if isinstance(given, Mapping) else table_columns(given)
    if known is not None:
        absent = [name for name in names if name not in known]
        if not absent:
            return {name: np.asarray(given[name]) for name in names}
        where = "`X`" if cost_columns is None else "`cost_columns`"
        raise ArgumentError(
            f"`penalty` has costs by the column {absent[0]!r}, which {where} lacks. Give it beside "
            "X, as `cost_columns`, a table or an array."
        )
    if cost_columns is None:
        raise ArgumentError(
            f"`penalty` has costs by the columns {', '.join(names)}, and `X` is not a table with "
            "names. Give them beside X, as `cost_columns`, a table or an array."
        )
    array = np.asarray(cost_columns)
    table = array[:, None] if array.ndim == 1 else array
    if table.ndim != 2 or table.shape[1] != len(names):
        raise ArgumentError(
            f"`cost_columns` must be a table, or an array with the columns {', '.join(names)}; got "
            f"shape {array.shape}."
        )
    return {name: table[:, j] for j, name in enumerate(names)}


def refuse_examples(stated: Any) -> None:
    """Costs of certain examples do not fit the parts that scikit-learn makes."""
    if isinstance(stated, ExamplePenalty):
        raise ArgumentError(
            "`penalty` holds costs of certain examples, but an estimator sees parts of the data: "
            "give a FormulaPenalty(base, {(true, predicted): 'amount'}), and the columns in X or "
            "as `cost_columns`."
        )
