"""Costs as formulas: what they mean, and that nothing else can be said by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from untrue.errors import PenaltyError
from untrue.penalty.formulas import DEEPEST, LONGEST, CostFormula

TABLE = {"amount": [10.0, 200.0], "rate": [2.0, 0.5], "loan amount": [1.0, 3.0], "a.b": [5, 6]}


@pytest.mark.parametrize(
    ("text", "values", "columns"),
    [
        ("amount", [10, 200], ["amount"]),
        ("0.2 * amount + 5", [7, 45], ["amount"]),
        ("5 + amount*.2", [7, 45], ["amount"]),
        ("amount - rate - 1", [7, 198.5], ["amount", "rate"]),
        ("amount / rate / 2", [2.5, 200], ["amount", "rate"]),
        ("-(rate - 3) * 2e1", [20, 50], ["rate"]),
        ("(amount + rate) * (1 + rate)", [36, 300.75], ["amount", "rate"]),
        ("`loan amount` + 1", [2, 4], ["loan amount"]),
        ("'loan amount' + \"a.b\"", [6, 9], ["loan amount", "a.b"]),
        ("a.b", [5, 6], ["a.b"]),
    ],
)
def test_formulas_mean_what_they_look_like(
    text: str, values: list[float], columns: list[str]
) -> None:
    formula = CostFormula.parse(text)
    assert formula.values(TABLE).tolist() == pytest.approx(values)
    assert formula.values(pd.DataFrame(TABLE)).tolist() == pytest.approx(values)
    assert list(formula.columns) == columns


numbers = st.integers(0, 99).map(str)
names = st.sampled_from(["amount", "rate"])
texts = st.recursive(
    numbers | names,
    lambda inner: (
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({' '.join(t)})")
        | inner.map(lambda t: f"-{t}")
    ),
    max_leaves=20,
)


@given(texts)
def test_they_agree_with_python(text: str) -> None:
    known = {name: np.array(values, dtype=float) for name, values in TABLE.items()}
    with np.errstate(all="ignore"):
        expected = eval(text.replace("/", "/np.float64(1)/"), {"np": np}, known)
    ours = np.broadcast_to(CostFormula.parse(text).values(TABLE), (2,))
    theirs = np.broadcast_to(np.asarray(expected, dtype=float), (2,))
    # What is not finite is refused, whatever its sign: Python's whole numbers have no -0.
    finite = np.isfinite(theirs)
    np.testing.assert_array_equal(np.isfinite(ours), finite)
    np.testing.assert_allclose(ours[finite], theirs[finite])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "A cost is a number, or a formula like"),
        (None, "A cost is a number, or a formula like .*; got None"),
        ("amount +", "at its end: expected a number, a column or a parenthesis"),
        ("amount amount", r"at character 8, 'amount': expected \+ - \* / or the end"),
        ("(amount", r'at its end: expected "\)"'),
        ("amount)", r"at character 7, '\)': expected \+ - \* / or the end"),
        ("amount ** 2", r"at character 9, '\* 2': expected a number"),
        ("amount[0]", r"at character 7, '\[0\]': expected"),
        ("__import__('os')", r"at character 11, \"\('os'\)\": expected \+"),
        ("amount; 1", "at character 7, '; 1': expected"),
        ("lambda: 1", "at character 7, ': 1': expected"),
        ("amount // 2", "at character 9, '/ 2': expected a number"),
        ("'amount", "at character 1, .*: expected a number, a column"),
        ("1" * (LONGEST + 1), f"at most {LONGEST} characters; this one has {LONGEST + 1}"),
        ("(" * 60 + "1" + ")" * 60, f"more than {DEEPEST} parentheses or signs inside each other"),
        ("-" * 60 + "1", f"more than {DEEPEST} parentheses"),
    ],
)
def test_what_is_no_formula_is_refused_where_it_goes_wrong(text: Any, message: str) -> None:
    with pytest.raises(PenaltyError, match=message):
        CostFormula.parse(text)


def test_columns_that_are_not_there_or_hold_no_numbers_are_named() -> None:
    with pytest.raises(PenaltyError, match="no column of the data: 'amuont'; did you mean 'amount"):
        CostFormula.parse("amuont").values(TABLE)
    with pytest.raises(PenaltyError, match=r"Column 'name', in the cost 'name \* 2', must be num"):
        CostFormula.parse("name * 2").values({"name": ["a", "b"]})


def test_columns_come_from_any_table() -> None:
    table = pa.table({"fee": [1, 2], "amount": [10.0, 100.0]})
    assert CostFormula.parse("amount - fee").values(table).tolist() == [9.0, 98.0]
    with pytest.raises(PenaltyError, match="no column of the data: 'amout'; did you mean 'amount'"):
        CostFormula.parse("amout").values(table)


def test_columns_of_different_lengths_are_named() -> None:
    message = "must have equally many values; 'x' has 2, 'y' 3"
    with pytest.raises(PenaltyError, match=message):
        CostFormula.parse("x * y").values({"x": [1, 2], "y": [1, 2, 3]})


def test_a_long_formula_is_read_and_computed() -> None:
    text = " + ".join(["rate"] * 140)
    assert len(text) < LONGEST
    assert CostFormula.parse(text).values(TABLE).tolist() == [280.0, 70.0]
