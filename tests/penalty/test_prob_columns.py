"""Columns of tables of probabilities go by the names of the classes, whatever holds the names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from untrue import Penalty, control, decide, posterior
from untrue.errors import ArgumentError

PROBS = np.array([[0.9, 0.1], [0.5, 0.5], [0.7, 0.3]])


def costs(*names: str) -> Penalty:
    return Penalty.from_rules(names, {(1, 0): 4.0})


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (("False", "True"), [False, True]),
        (("0", "1"), [0.0, 1.0]),
        (("1", "2"), [1.0, 2.0]),
        (("1", "2"), ["prob_1.0", "prob_2.0"]),
        (("1.0", "2.0"), [1.0, 2.0]),
        (("no", "yes"), ["p_no", "p_yes"]),
    ],
)
def test_columns_in_another_order_go_by_name(names: tuple[str, ...], columns: list[Any]) -> None:
    wanted = decide(PROBS, costs(*names))
    table = pd.DataFrame(PROBS, columns=columns)
    assert decide(table, costs(*names)).tolist() == wanted.tolist()
    turned = pd.DataFrame(PROBS[:, ::-1], columns=columns[::-1])
    assert decide(turned, costs(*names)).tolist() == wanted.tolist()


@pytest.mark.parametrize("table", [pd.DataFrame, pa.table])
def test_a_single_column_is_that_of_the_second_class(table: Any) -> None:
    p = costs("no", "yes")
    for name in ("yes", "prob_yes", "score", "0"):
        assert decide(table({name: PROBS[:, 1]}), p).tolist() == decide(PROBS, p).tolist()
    for ask in (decide, lambda probs, _: control(probs, [0, 1, 0], ["yes->no <= 50%"], p)):
        with pytest.raises(ArgumentError, match="second class, 'yes'; this one, 'prob_no', is"):
            ask(table({"prob_no": PROBS[:, 0]}), p)


@pytest.mark.parametrize("kind", ["Float32", "Float64", "float[pyarrow]", "double[pyarrow]"])
def test_a_column_of_pandas_may_be_nullable(kind: str) -> None:
    p, second = costs("no", "yes"), pd.Series(PROBS[:, 1], dtype=kind)
    assert decide(second, p).tolist() == decide(PROBS, p).tolist()
    assert posterior(second, p, 0.3) == pytest.approx(posterior(PROBS, p, 0.3)[:, 1], rel=1e-5)
