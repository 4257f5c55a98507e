"""The grammar of budgets: what is written is what is meant, and errors say where they are."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from untrue import Budget, Penalty
from untrue.errors import ArgumentError


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("tumour->benign <= 0.5%", Budget("confusion", 0.5, "%", ("tumour",), ("benign",))),
        ("  tumour→benign≤0.5 % ", Budget("confusion", 0.5, "%", ("tumour",), ("benign",))),
        ("tumour->*<=2 percent", Budget("confusion", 2.0, "%", ("tumour",), ("*",))),
        ("a, b -> c <= 3 errors", Budget("confusion", 3.0, "errors", ("a", "b"), ("c",))),
        (
            "great white shark->dolphin <= 1%",
            Budget("confusion", 1.0, "%", ("great white shark",), ("dolphin",)),
        ),
        (
            "'a->b' -> \"it's, <= 5\" <= 1%",
            Budget("confusion", 1.0, "%", ("a->b",), ("it's, <= 5",)),
        ),
        ("sheep's->t-shirt <= 1%", Budget("confusion", 1.0, "%", ("sheep's",), ("t-shirt",))),
        ("zone->8 <= 1%", Budget("confusion", 1.0, "%", ("zone",), ("8",))),
        ("good<-bad <= 5%", Budget("precision", 5.0, "%", ("bad",), ("good",))),
        ("good ← * ≤ 5 %", Budget("precision", 5.0, "%", ("*",), ("good",))),
        ("a, b<-'c<-d' <= 5%", Budget("precision", 5.0, "%", ("c<-d",), ("a", "b"))),
        ("zone <= 1 error", Budget("zone", 1.0, "errors")),
        ("ZONE<=.5%", Budget("zone", 0.5, "%")),
        ("across   groups <= 3%", Budget("across", 3.0, "%")),
        ("Expected cost <= 1e-3", Budget("cost", 0.001, "cost")),
        ("zone <= 0 errors", Budget("zone", 0.0, "errors")),
        ("zone <= 100%", Budget("zone", 100.0, "%")),
    ],
)
def test_a_text_is_read(text, budget) -> None:
    assert Budget.parse(text) == budget
    assert Budget.of(text) == Budget.of(budget) == budget


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Budget '', at its end: it is empty. Write \"tumour->benign <= 0.5%\""),
        ("tumour->benign", "'tumour->benign', at its end: expected <= and a limit"),
        ("tumour->benign <=", "at its end: expected a number: the limit, as in <= 0.5%"),
        (
            "tumour-> <= 5%",
            "at character 10, '<= 5%': expected the predicted class: the name of a class",
        ),
        ("->benign <= 5%", "at character 1, '->benign <= 5%': expected the kind of mistake"),
        ("a->b < 5%", "at character 6, '< 5%': expected \"<=\", as in"),
        ("a=>b <= 5%", "at character 2, '=>b <= 5%': expected \"<=\""),
        (
            "a->b->c <= 5%",
            'expected "<=": a name that holds an arrow must stand in quotes.',
        ),
        ("good<- <= 5%", "at character 8, '<= 5%': expected the true class: the name of a class"),
        ("good<-bad <= 3 errors", "it is 'bad->good <= 3 errors'"),
        ("a<-b->c <= 5%", "at character 5, '->c <= 5%': expected \"<=\""),
        ("a->b <= 0.05", 'give a unit: "5%" is 0.05 of all, "0.05%" a hundredth of that'),
        ("a->b <= 5", '\'5\': give a unit: "5%" is a share, "5 errors" a count'),
        ("a->b <= -1%", "Budget 'a->b <= -1%': the limit must be 0 or more; got -1"),
        ("a->b <= 1e999%", "the limit must be 0 or more"),
        ("a->b <= 101%", "a share is at most 100%; got 101%"),
        ("a->b <= 2.5 errors", "counted in whole numbers; got 2.5. A share is written 2.5%"),
        ("a->b <= 0,5%", "at character 10, ',5%': expected nothing but"),
        ("a->b <= 0,5%", "with a point: 0.5%"),
        ("a->b <= 5% of all", "'of all': expected nothing but"),
        ("zoen <= 5%", "at character 6, '<= 5%': expected \"->\": a budget is about a confusion"),
        ("expected cost <= 5%", "an expected cost is a plain number"),
        ('"a->b <= 5%', "at character 1, '\"a->b <= 5%': the quotation mark is not closed"),
        ("a, *->b <= 5%", '"*" already stands for every class'),
        ("'*'->b <= 5%", 'a class called "*" cannot be distinguished'),
        (5, 'A budget is a text like "tumour->benign <= 0.5%"'),
    ],
)
def test_nonsense_is_reported_with_text_place_and_way_out(text, message) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        Budget.parse(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("confusion", 1.0, "%"), "a confusion, and nothing else, has two sides"),
        (("zone", 1.0, "%", ("a",), ("b",)), "a confusion, and nothing else, has two sides"),
        (("zone", 1.0, "cost"), "its limit must be a share or \"errors\"; got 'cost'"),
        (("cost", 1.0, "%"), "its limit must be a cost, a plain number; got '%'"),
        (("zone", float("nan"), "%"), "the limit must be 0 or more; got nan"),
        (("confusions", 1.0, "%", ("a",), ("b",)), "`kind` must be 'confusion', 'precision'"),
        (("zone", 1.0, "percent"), "`unit` must be '%', 'errors' or 'cost'; got 'percent'"),
        (("zone", "1", "%"), "`amount` must be a number; got '1'"),
        (("confusion", 1.0, "%", ("\"a\" 'b'",), ("c",)), "which has both kinds of quotes"),
    ],
)
def test_a_budget_made_by_hand_is_checked_too(arguments, message) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        Budget(*arguments)


names = st.text(min_size=1, max_size=12).filter(lambda s: s.strip() and s != "*" and '"' not in s)
sides = st.lists(names, min_size=1, max_size=3).map(tuple) | st.just(("*",))
shares = st.tuples(st.floats(0, 100), st.just("%"))
counts = st.tuples(st.integers(0, 10**9).map(float), st.just("errors"))


@given(sides, sides, shares | counts, st.sampled_from(["confusion", "precision"]))
def test_what_is_shown_is_read_back(true, predicted, limit, kind) -> None:
    kind = "confusion" if limit[1] == "errors" else kind
    budget = Budget(kind, *limit, true, predicted)
    assert Budget.parse(str(budget)) == budget
    assert pickle.loads(pickle.dumps(budget)) == budget
    assert hash(Budget.parse(str(budget))) == hash(budget)


def test_the_numbers_of_numpy_are_numbers() -> None:
    budget = Budget("confusion", np.float64(12.5), "%", ("a",), ("b",))
    assert str(budget) == "a->b <= 12.5%"
    assert budget.resolve(Penalty.from_rules(["a", "b"], {})).limit() == 0.125
    for amount in (True, "5", float("nan"), None):
        with pytest.raises(ArgumentError, match=r"`amount`|the limit must be 0 or more"):
            Budget("confusion", amount, "%", ("a",), ("b",))  # type: ignore[arg-type]


@pytest.mark.parametrize("side", ["true", "predicted"])
def test_a_side_is_no_string_of_which_each_letter_would_be_a_class(side: str) -> None:
    sides: dict[str, Any] = {"true": ("a",), "predicted": ("b",), side: "ab"}
    with pytest.raises(ArgumentError, match=rf"`{side}` must be a tuple of names; got the string"):
        Budget("confusion", 5, "%", **sides)


@pytest.mark.parametrize("names", [None, 3, (1,), [None], {"a"}])
def test_a_side_holds_names(names: Any) -> None:
    with pytest.raises(ArgumentError, match="`true` must be a tuple of names; got"):
        Budget("confusion", 5, "%", names, ("b",))


def test_a_side_may_be_a_list() -> None:
    listed: Any = ["a", "c"]
    assert Budget("confusion", 5, "%", listed, ("b",)) == Budget.parse("a, c->b <= 5%")
