"""A rule is saved as plain JSON and comes back the same, or is refused with the reason."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from untrue import Actions, BudgetError, DecisionRule, Hierarchy, Penalty, control, decide
from untrue.budgets.calibration_set import calibrated
from untrue.budgets.family import Family
from untrue.budgets.rule_file import checksum
from untrue.budgets.testing import count_rules
from untrue.errors import ArgumentError, DataError, MissingFileError
from untrue.penalty import FormulaPenalty

GROUPS = {"growth": ["tumour", "cyst"], "other": ["scar", "benign"]}
TREE = Hierarchy.from_groups(GROUPS)
BUDGETS = ["*->benign <= 12%"]
CASES = {
    "plain": ({"classes": ("tumour", "cyst", "scar", "benign")}, BUDGETS),
    "penalty": (
        {
            "penalty": Penalty.from_rules(
                ["tumour", "cyst", "scar", "benign"], {("cyst", "scar"): 9.0}
            )
        },
        [*BUDGETS, "zone <= 5%", "expected cost <= 2"],
    ),
    "tree": ({"penalty": Penalty.from_groups(GROUPS)}, ["across groups <= 18%", *BUDGETS]),
    "dense": (
        {"penalty": Penalty.from_ordinal(["tumour", "cyst", "scar", "benign"], power=1.5)},
        ["benign<-* <= 25%"],
    ),
    "groups": (
        {"classes": ("tumour", "cyst", "scar", "benign"), "groups": GROUPS},
        ["growth->other <= 40%", "*->benign <= 100 errors"],
    ),
    "hierarchy": (
        {"classes": tuple(TREE.classes), "groups": TREE},
        ["growth->other <= 40%"],
    ),
    "zone": (
        {"classes": ("tumour", "cyst", "scar", "benign"), "zone": [(0, 3), (1, 3)]},
        ["zone <= 10%"],
    ),
    "silent": (
        {"penalty": Penalty.from_rules(["tumour", "cyst", "scar", "benign"], {}), "abstain": True},
        ["expected cost <= 0.2"],
    ),
}


@pytest.fixture(scope="module", params=CASES)
def rule(request, pool) -> DecisionRule:
    options, budgets = CASES[request.param]
    probs, target = pool.draw(1200, np.random.default_rng(0))
    return control(probs, target, budgets=budgets, **options)


def test_a_rule_comes_back_from_its_file(rule, pool, tmp_path) -> None:
    path = rule.save(tmp_path / "rule.json")
    again = DecisionRule.load(path)
    np.testing.assert_array_equal(again(pool.probs), rule(pool.probs))
    assert again.guarantee == rule.guarantee
    assert again.penalty == rule.penalty
    assert (again.budgets, again.multipliers) == (rule.budgets, rule.multipliers)
    for one, other in zip(again.resolved, rule.resolved, strict=True):
        np.testing.assert_array_equal(one.mask(), other.mask())
    assert again.save(tmp_path / "again.json").read_text() == path.read_text()
    assert again == rule
    assert len({again, rule}) == 1
    assert replace(rule, temperature=rule.temperature + 1) != rule
    assert rule != "rule.json"


def test_a_rule_is_saved_as_json_in_a_folder_that_is_there(rule, tmp_path) -> None:
    with pytest.raises(ArgumentError, match=r"`path` must end in \.json, .*; got .*rule\.pkl"):
        rule.save(tmp_path / "rule.pkl")
    with pytest.raises(MissingFileError, match=r"There is no folder .*none to write rule\.json"):
        rule.save(tmp_path / "none" / "rule.json")


def test_it_is_least_expected_cost_by_scaled_costs(rule, pool) -> None:
    wanted = decide(calibrated(pool.probs, rule.temperature), rule.costs, rule.abstain_cost)
    np.testing.assert_array_equal(rule(pool.probs), wanted)
    assert (rule.costs.matrix() >= rule.penalty.matrix()).all()


def test_the_closest_rule_is_saved_as_one_that_promises_nothing(pool, tmp_path) -> None:
    probs, target = pool.draw(300, np.random.default_rng(0))
    with pytest.raises(BudgetError) as caught:
        control(probs, target, budgets=["tumour->benign <= 0.1%"], classes=pool.classes)
    path = caught.value.closest.save(tmp_path / "closest.json")
    assert not DecisionRule.load(path).guarantee.holds
    assert "not shown" in repr(DecisionRule.load(path))


@pytest.fixture(scope="module")
def content(pool, tmp_path_factory) -> dict:
    probs, target = pool.draw(1200, np.random.default_rng(0))
    rule = control(probs, target, budgets=BUDGETS, classes=pool.classes)
    return json.loads(rule.save(tmp_path_factory.mktemp("rule") / "rule.json").read_text())


def changed(content: dict, keys: list[str | int], value: object) -> dict:
    """The content with one value set anew; its checksum is that of the old."""
    found = json.loads(json.dumps(content))
    inner = found
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    return found


def refused(content: dict, tmp_path: Path, message: str, *, sealed: bool) -> None:
    """The file is refused by name, with a right checksum too if `sealed`."""
    path = tmp_path / "rule.json"
    path.write_text(json.dumps({**content, "checksum": checksum(content)} if sealed else content))
    with pytest.raises(DataError, match=message) as caught:
        DecisionRule.load(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (["format"], "a cake", "it is no untrue decision rule of version 1: format 'a cake'"),
        (["version"], 2, "version 2"),
        (["multipliers"], [0.5], "`multipliers` must be at least 1; got 0.5"),
        (["multipliers"], [float("nan")], "`multipliers` must be a number; got nan"),
        (["multipliers"], [1.0, 2.0], "must be 1 numbers, one per budget"),
        (["multipliers"], "many", "`multipliers` must be a list; got str"),
        (["temperature"], 0, "`temperature` must be positive"),
        (["temperature"], -1.0, "`temperature` must be at least 0; got -1"),
        (["abstain_cost"], True, "`abstain_cost` must be a number; got True"),
        (["answers"], "pickles", "`answers` must be one of .*; got 'pickles'"),
        (["answers"], "numbers", "`answers` are numbers, but not all classes are"),
        (["budgets"], ["*->malign <= 1%"], "unknown class 'malign'"),
        (["budgets"], ["*->benign < 1%"], "expected"),
        (["penalty"], {"classes": ["a"], "matrix": [[0, 1]]}, "matrix"),
        (["penalty"], 5, "expected named values"),
        (["guarantee", "chosen"], 10**6, "`chosen` must be one of"),
        (["guarantee", "holds"], "yes", "`holds` must be true or false; got 'yes'"),
        (["guarantee", "verdicts"], [], "`verdicts` must be 1, one per budget; got 0"),
        (["guarantee", "examples"], -5, "`examples` must be a whole number, 0 or more; got -5"),
        (["meaning", "groups"], {"groups": 5}, "`groups` must hold the classes of each group"),
        (["meaning", "more"], 1, "meaning: unknown key 'more'"),
    ],
)
def test_a_damaged_file_is_refused_by_name(content, keys, value, message, tmp_path) -> None:
    refused(changed(content, keys, value), tmp_path, message, sealed=True)


CHOSEN = ["guarantee", "tested", "chosen"]
VERDICT = ["guarantee", "verdicts", 0]


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (["multipliers"], [1.0], r"`multipliers` are \[1.0\], but those of the chosen rule"),
        (["budgets"], ["*->benign <= 0.01%"], "`limit` of .*0.01% must be 0.0001; got 0.12"),
        (["guarantee", "confidence"], 0.9999, "`confidence` of .* must be 0.9999; got 0.95"),
        (["guarantee", "confidence"], 1.5, r"`confidence` must lie in \[0.5, 1\)"),
        (["guarantee", "examples"], 1, "`examples` must be `path_examples` and `test_examples`"),
        (["guarantee", "path_examples"], 0, "`path_examples` and `test_examples` must be at least"),
        (["guarantee", "chosen"], 0, "`multipliers` are .* but those of the chosen rule"),
        (["guarantee", "examples"], 2**60, "`examples` must be at most 9,007,199,254,740,992"),
        (["meaning", "examples"], 7, "`examples` must be the same in `meaning` and"),
        ([*VERDICT, "errors"], 900, "has 900 errors of .*, but the chosen rule has"),
        ([*VERDICT, "upper"], 0.001, "`upper` of .* must be .*; got 0.001"),
        ([*VERDICT, "rate"], 0.001, "`rate` of .* must be .*; got 0.001"),
        ([*VERDICT, "limit"], 0.5, "`limit` of .* must be 0.12; got 0.5"),
        ([*VERDICT, "kept"], False, "`kept` of .* must be true; got false"),
        ([*CHOSEN, "errors"], [10**6], "`errors` must be at most `of`, .*; got 1000000 of"),
        ([*CHOSEN, "rates"], [0.0], "`rates` of a tested rule must be `errors` / `of`"),
        ([*CHOSEN, "p_value"], 0.9, "`p_value` of tested rule .* must be .*; got 0.9"),
        ([*CHOSEN, "passed"], False, "`passed` of tested rule .* must be true, by the p-values"),
        ([*CHOSEN, "accuracy"], 7.0, r"`accuracy` must lie in \[0, 1\]; got 7"),
    ],
)
def test_numbers_that_contradict_each_other_are_refused(
    content, keys, value, message, tmp_path
) -> None:
    at = [content["guarantee"]["chosen"] if key == "chosen" != keys[-1] else key for key in keys]
    edited = changed(content, at, value)
    refused(edited, tmp_path, message, sealed=True)
    refused(edited, tmp_path, "it was changed after it was saved: its checksum", sealed=False)


def test_a_rule_that_did_not_pass_is_not_said_to_hold(pool, tmp_path) -> None:
    probs, target = pool.draw(300, np.random.default_rng(0))
    with pytest.raises(BudgetError) as caught:
        control(probs, target, budgets=["tumour->benign <= 0.1%"], classes=pool.classes)
    content = json.loads(caught.value.closest.save(tmp_path / "rule.json").read_text())
    edited = changed(content, ["guarantee", "holds"], True)
    refused(edited, tmp_path, "`holds` is true, but the chosen rule did not pass", sealed=True)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (["temperature"], 3.0),
        (["penalty", "classes"], ["benign", "cyst", "scar", "tumour"]),
        (["checksum"], "0" * 64),
        (["checksum"], None),
    ],
)
def test_a_changed_file_is_refused(content, keys, value, tmp_path) -> None:
    edited = changed(content, keys, value)
    refused(edited, tmp_path, r"Make the rule again with `untrue\.control`", sealed=False)


def test_white_space_may_change(content, tmp_path) -> None:
    path = tmp_path / "rule.json"
    path.write_text(json.dumps(content, indent=7))
    assert DecisionRule.load(path).guarantee.holds


@pytest.mark.parametrize("key", ["penalty", "budgets", "guarantee", "checksum"])
def test_a_file_with_a_hole_is_refused(content, key, tmp_path) -> None:
    path = tmp_path / "rule.json"
    path.write_text(json.dumps({k: v for k, v in content.items() if k != key}))
    with pytest.raises(DataError, match=f"`{key}` is missing"):
        DecisionRule.load(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "5", '"rule"'])
def test_what_is_no_rule_is_refused(text, tmp_path) -> None:
    path = tmp_path / "rule.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"rule\.json"):
        DecisionRule.load(path)


def test_a_rule_that_is_not_there_says_where_rules_come_from(tmp_path) -> None:
    with pytest.raises(MissingFileError, match=r"none\.json.* `untrue control --out none"):
        DecisionRule.load(tmp_path / "none.json")
    with pytest.raises(DataError, match="is a folder, not a file"):
        DecisionRule.load(tmp_path)


@pytest.mark.parametrize("given", [3, None, [], "a\0b"])
def test_what_is_no_name_of_a_file_is_refused(given) -> None:
    for load in (DecisionRule.load, Penalty.load, FormulaPenalty.load, Actions.load):
        with pytest.raises(ArgumentError, match="`path` must be the name of a file; got "):
            load(given)


def test_a_rule_made_with_numbers_of_numpy_is_saved(pool, tmp_path) -> None:
    made = control(
        *pool.draw(1200, np.random.default_rng(0)),
        budgets=BUDGETS,
        confidence=np.float32(0.9),
        seed=np.int64(2**32 - 1),
        classes=CASES["plain"][0]["classes"],
    )
    made.save(tmp_path / "rule.json")
    assert DecisionRule.load(tmp_path / "rule.json").guarantee.seed == 2**32 - 1


def test_it_answers_as_it_was_tested_where_answers_cost_all_but_the_same() -> None:
    # Mistakes within a group are free, and every row is sure of one class: answers differ by less
    # than what the sums of a tree's costs round, and a matrix's do not.
    target = np.arange(300) % 6
    probs = np.eye(6)[target]
    groups = {"left": ["a", "b", "c"], "right": ["d", "e", "f"]}
    costs = Penalty.from_groups(groups, within=0.0, across=1.0)
    found = control(probs, target, ["*->a <= 20%"], costs, classes=list("abcdef"))
    rule = replace(found, multipliers=(3.0,), temperature=0.3)
    family = Family(costs, rule.resolved, None, by_cost=True)
    tested, _ = count_rules(family, np.array([[3.0]]), probs, target, 0.3)
    assert (rule(probs) == target).sum() == tested.right[0]
