"""`untrue audit` where nothing says what mistakes cost: budgets, a rule or a hierarchy alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from untrue import Penalty, audit, control
from untrue.cli import exit_code
from untrue.errors import ArgumentError

CLASSES = ["healthy", "benign", "tumour"]
COST_WORDS = ("cost of an answer", "total cost", "in the zone", "least expected cost", "costliest")


def predictions(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([2.0, 1.0, 0.7], size=n)
    true = (rng.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(max=2)
    names = np.array(CLASSES)
    table = pd.DataFrame({"truth": names[true], "predicted": names[probs.argmax(axis=1)]})
    return table.join(pd.DataFrame(probs, columns=[f"prob_{name}" for name in CLASSES]))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    predictions().to_csv("p.csv", index=False)
    Path("tree.csv").write_text("parent,child\nill,benign\nill,tumour\nroot,ill\nroot,healthy\n")
    return tmp_path


def shown_without_costs(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert exit_code(["audit", *words, "--out", "seen"]) in (0, 1)
    shown, error = capsys.readouterr()
    assert error == ""
    assert "every mistake counts 1" in shown
    page = Path("seen/page.html").read_text()
    for text in (shown, page[page.index("<main") :]):
        assert not [word for word in COST_WORDS if word in text]
    numbers = json.loads(Path("seen/audit.json").read_text())
    assert numbers["penalty"] is None
    assert "expected_cost" not in numbers["summary"]
    assert "least_expected_cost" not in numbers
    return shown


@pytest.mark.parametrize("columns", [["truth", "predicted"], ["truth", "prob_*"], []])
def test_budgets_alone_are_judged_on_answers_and_on_probabilities(
    columns: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    table = predictions()
    if columns:
        table = table.filter(regex=f"^({'|'.join(columns).replace('*', '.*')})$")
    table.to_csv("some.csv", index=False)
    shown = shown_without_costs(["some.csv", "--budget", "tumour->benign <= 50%"], capsys)
    given = predictions()
    tumours = given[given["truth"] == "tumour"]
    errors = (tumours["predicted"] == "benign").sum()
    assert f"tumour->benign <= 50%: kept; {errors} of {len(tumours)} examples" in shown
    assert "The most frequent confusions" in shown


def test_a_rule_without_costs_shows_none(capsys: pytest.CaptureFixture[str]) -> None:
    table = predictions()
    probs = table[[f"prob_{name}" for name in CLASSES]].to_numpy()
    budgets = ["tumour->benign <= 60%"]
    control(probs, table["truth"].to_numpy(), budgets=budgets, classes=CLASSES).save("rule.json")
    shown = shown_without_costs(["p.csv", "--rule", "rule.json"], capsys)
    assert "tumour->benign <= 60%: kept" in shown
    costs = Penalty.from_rules(CLASSES, {("tumour", "healthy"): 3.0})
    rule = control(probs, table["truth"].to_numpy(), budgets=budgets, penalty=costs)
    rule.save("costs.json")
    assert exit_code(["audit", "p.csv", "--rule", "costs.json"]) == 0
    assert "cost of an answer" in capsys.readouterr().out


def test_groups_need_a_hierarchy_and_no_costs(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["p.csv", "--hierarchy", "tree.csv", "--budget", "across groups <= 90%"]
    assert "across groups <= 90%: kept" in shown_without_costs(words, capsys)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--budget", "zone <= 3%"], "Budget 'zone <= 3%' is about what mistakes cost"),
        (["--budget", "expected cost <= 3"], "Budget 'expected cost <= 3' is about what mistakes"),
        (
            ["--budget", "tumour->benign <= 3%", "--zone-above", "2"],
            "`--zone-above` is about what mistakes cost",
        ),
        (["--budget", "tumor->benign <= 3%"], "did you mean 'tumour'?"),
    ],
)
def test_what_needs_costs_says_so(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["audit", "p.csv", *words]) == 2
    assert message in capsys.readouterr().err
    assert not Path("p-audit").exists()


def test_answers_that_are_nodes_hint_at_the_hierarchy(capsys: pytest.CaptureFixture[str]) -> None:
    table = predictions()[["truth", "predicted"]]
    table.loc[5, "predicted"] = "ill"
    table.to_csv("nodes.csv", index=False)
    Penalty.from_rules(CLASSES, {("tumour", "benign"): 20.0}).save("costs.toml")
    assert exit_code(["audit", "nodes.csv", "--penalty", "costs.toml"]) == 2
    error = capsys.readouterr().err
    assert "data row 6, column 'predicted', holds an unknown label 'ill'" in error
    assert "a node of a hierarchy (`untrue predict --decide node`), add --hierarchy FILE" in error
    assert exit_code(["audit", "nodes.csv", "--budget", "tumour->benign <= 50%"]) in (0, 1)
    assert "answers that are never the truth: ill; if they are nodes" in capsys.readouterr().out
    assert exit_code(["audit", "nodes.csv", "--hierarchy", "tree.csv", "--overwrite"]) == 0
    assert "answers at nodes of a hierarchy" in capsys.readouterr().out


def test_arrays_need_no_costs_either() -> None:
    table = predictions()
    probs = table[[f"prob_{name}" for name in CLASSES]].to_numpy()
    names = np.array(CLASSES)
    truth, position = table["truth"].to_numpy(), {name: i for i, name in enumerate(CLASSES)}
    codes = np.array([position[name] for name in truth])
    found = [
        audit(probs, truth, classes=CLASSES, budgets=["tumour->benign <= 50%"]),
        audit(names[probs.argmax(axis=1)], truth, budgets=["tumour->benign <= 50%"]),
        audit(probs, codes, budgets=["2->1 <= 50%"]),
        audit(probs.argmax(axis=1), codes, budgets=["2->1 <= 50%"]),
    ]
    assert len({(each.verdicts[0].errors, each.verdicts[0].of) for each in found}) == 1
    assert all(each.summary.expected_cost is None and not each.by_cost for each in found)
    with pytest.raises(ArgumentError, match="2 different labels and `data` 3 columns"):
        audit(probs, np.where(truth == "tumour", "benign", truth))


def test_a_label_and_the_same_number_with_a_point_are_one_class(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [f"{i % 2},{i // 2 % 2}.0\n" for i in range(300)]
    Path("point.csv").write_text("truth,predicted\n" + "".join(rows))
    Penalty.from_rules(["1", "0"], {("1", "0"): 2.0}).save("costs.toml")
    Penalty.from_matrix([[0, 1], [2, 0]]).save("costs.npy")
    for costs in ([], ["--penalty", "costs.toml"], ["--penalty", "costs.npy"]):
        words = ["audit", "point.csv", "--budget", "1->0 <= 2%", *costs, "--overwrite"]
        assert exit_code(words) == 1
        assert "1->0 <= 2%: broken; 75 of 150 examples" in capsys.readouterr().out


@pytest.mark.parametrize("truth", ["False,True", "7.0,8.0"])
def test_answers_of_which_none_is_ever_true_are_refused(
    truth: str, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = truth.split(",")
    rows = [f"{labels[i % 2]},{i // 2 % 2}\n" for i in range(300)]
    Path("flags.csv").write_text("truth,predicted\n" + "".join(rows))
    words = ["audit", "flags.csv", "--budget", f"{labels[1]}->{labels[0]} <= 2%"]
    assert exit_code(words) == 2
    error = capsys.readouterr().err
    true = ", ".join(labels)
    assert f"no answer is ever a true label: the answers are 0, 1, the true labels {true}." in error
    assert "--classes A,B" in error
    assert not Path("flags-audit").exists()
    assert exit_code([*words, "--classes", f"{truth},0,1"]) == 0
