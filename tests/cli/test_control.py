"""`untrue control`, `untrue decide` and `untrue audit --rule`, as a person runs them."""

from __future__ import annotations

import html
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import untrue
from untrue import DecisionRule, Penalty
from untrue.cli import exit_code
from untrue.tools.deciding.controlled import control_file

CLASSES = np.array(["tumour", "cyst", "benign"])
BUDGET = "tumour->benign <= 6%"


def table(n: int, seed: int, *, shift: float = 0.0) -> pd.DataFrame:
    """A model's probabilities and the truth; `shift`: tumours that look benign."""
    rng = np.random.default_rng(seed)
    target = rng.choice(3, size=n, p=[0.3, 0.3, 0.4])
    logits = 1.6 * np.eye(3)[target] + rng.normal(0, 0.8, (n, 3))
    logits[:, 2] += shift * (target == 0)
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    found = pd.DataFrame(probs.round(6), columns=[f"prob_{name}" for name in CLASSES])
    found.insert(0, "id", [f"case-{i}" for i in range(n)])
    found["truth"] = CLASSES[target]
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    table(1500, 0).to_csv("known.csv", index=False)
    table(800, 1).to_csv("new.csv", index=False)
    return tmp_path


def control(*words: str) -> int:
    return exit_code(["control", *words])


def test_from_a_file_to_a_rule_to_answers_to_an_audit(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert control("known.csv", "--budget", BUDGET, "--out", "rule.json") == 0
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[0] == "known.csv: truth in 'truth', probabilities in 'prob_tumour' to 'prob_benign'"
    )
    assert lines[-3].startswith(f"With 95 % confidence {BUDGET} holds for examples like these.")
    assert lines[-2:] == ["rule.html", "rule.json"]
    rule = DecisionRule.load("rule.json")
    assert rule.guarantee.holds
    assert rule.classes == tuple(CLASSES)

    assert exit_code(["decide", "rule.json", "new.csv", "--out", "decided.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("new.csv: 800 cases, ")
    given, found = pd.read_csv("new.csv"), pd.read_csv("decided.csv")
    assert list(found) == [*given, "decided"]
    before, after = (Path(name).read_text().splitlines() for name in ("new.csv", "decided.csv"))
    assert [line.rpartition(",")[0] for line in after] == before  # to the last digit
    probs = given[[f"prob_{name}" for name in CLASSES]].to_numpy().astype(np.float32)
    np.testing.assert_array_equal(found["decided"], rule(probs))

    assert exit_code(["audit", "decided.csv", "--rule", "rule.json", "--out", "a"]) == 0
    shown = capsys.readouterr().out
    assert "predictions in 'decided'" in shown
    tumours = found["truth"] == "tumour"
    errors = int((found["decided"][tumours] == "benign").sum())
    assert f"{errors} of {tumours.sum()} examples" in shown
    verdict = json.loads((folder / "a" / "audit.json").read_text())["budgets"][0]
    assert (verdict["errors"], verdict["of"]) == (errors, int(tumours.sum()))


@pytest.mark.parametrize(
    ("out", "words"), [("march.json", "march.json"), ("my rules/a.json", "'my rules/a.json'")]
)
def test_the_page_names_the_file_of_the_rule(out: str, words: str, folder: Path) -> None:
    (folder / "my rules").mkdir()
    assert control("known.csv", "--budget", BUDGET, "--out", out) == 0
    page = html.unescape((folder / out).with_suffix(".html").read_text())
    assert f"untrue audit decided.csv --rule {words}" in page


def test_exit_code_1_once_a_budget_is_shown_to_be_broken(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    control("known.csv", "--budget", BUDGET, "--out", "rule.json")
    table(800, 2, shift=2.5).to_csv("later.csv", index=False)
    exit_code(["decide", "rule.json", "later.csv", "--out", "later-decided.csv"])
    capsys.readouterr()
    assert exit_code(["audit", "later-decided.csv", "--rule", "rule.json"]) == 1
    assert f"{BUDGET}: broken; " in capsys.readouterr().out
    # The same from the probabilities: the rule answers.
    assert exit_code(["audit", "later.csv", "--rule", "rule.json", "--out", "b"]) == 1
    assert "Note: no column of answers: the rule decides." in capsys.readouterr().out
    pages = [
        json.loads((folder / each / "audit.json").read_text())["budgets"]
        for each in ("later-decided-audit", "b")
    ]
    assert pages[0] == pages[1]


def test_numbers_of_errors_stay_a_share_of_the_calibration_set(folder: Path) -> None:
    control("known.csv", "--budget", "tumour->benign <= 30 errors", "--out", "rule.json")
    exit_code(["audit", "new.csv", "--rule", "rule.json", "--out", "a"])
    verdict = json.loads((folder / "a" / "audit.json").read_text())["budgets"][0]
    assert verdict["limit"] == 30 / 1500


@pytest.mark.parametrize(
    ("column", "asked", "note"),
    [
        ("prob_sick", [], ""),
        ("score", ["--probs", "score"], "'score' is taken for the probability of 'well'"),
    ],
)
def test_two_classes_with_one_column_in_parquet(
    column: str,
    asked: list[str],
    note: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rng = np.random.default_rng(0)
    sick = rng.random(2000) < 0.3
    # The class the column is called after, or else the second in sorted order.
    own = sick if column == "prob_sick" else ~sick
    probs = 1 / (1 + np.exp(-rng.normal(3.0 * own - 1.5, 1.0)))
    truth = np.where(sick, "sick", "well")
    pd.DataFrame({"truth": truth, column: probs}).to_parquet("two.parquet")
    assert control("two.parquet", *asked, "--budget", "sick->well <= 8%", "--out", "r.json") == 0
    assert note in capsys.readouterr().out
    words = ["decide", "r.json", "two.parquet", *asked, "--out", "d.parquet"]
    assert exit_code(words) == 0
    found = pd.read_parquet("d.parquet")
    assert (found["decided"][sick] == "well").mean() <= 0.08
    assert (found["decided"] == truth).mean() > 0.8
    assert exit_code(["audit", "d.parquet", *asked, "--rule", "r.json", "--out", "a"]) == 0
    # Without answers the rule gives the same ones.
    found.drop(columns="decided").to_parquet("e.parquet")
    assert exit_code(["audit", "e.parquet", *asked, "--rule", "r.json", "--out", "b"]) == 0
    audits = [json.loads((folder / each / "audit.json").read_text()) for each in "ab"]
    assert audits[0]["budgets"] == audits[1]["budgets"]


def test_abstaining_costs_and_a_tree(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Penalty.from_rules(CLASSES[::-1], {("tumour", "benign"): 20.0}).save("costs.toml")
    Path("tree.csv").write_text(
        "parent,child\nroot,growth\nroot,benign\ngrowth,tumour\ngrowth,cyst\n"
    )
    words = [
        "--budget",
        "growth->benign <= 3%",
        "--budget",
        "benign->* <= 15%",
        "--penalty",
        "costs.toml",
        "--hierarchy",
    ]
    assert control("known.csv", *words, "tree.csv", "--abstain", "--out", "rule.json") == 0
    assert "no answer in" in capsys.readouterr().out
    assert exit_code(["decide", "rule.json", "new.csv", "--out", "decided.csv"]) == 0
    found = pd.read_csv("decided.csv")
    assert "(abstained)" in set(found["decided"])
    assert exit_code(["audit", "decided.csv", "--rule", "rule.json", "--out", "a"]) == 0


def test_the_page_shows_budgets_path_and_price_and_escapes_names(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "<script>alert(1)</script>"
    known = table(1500, 0).replace({"truth": {"benign": evil}})
    known = known.rename(columns={"prob_benign": f"prob_{evil}"})
    known.to_csv("known.csv", index=False)
    assert control("known.csv", "--budget", "tumour->* <= 30%", "--out", "r.json") == 0
    capsys.readouterr()
    page = (folder / "r.html").read_text()
    assert "With 95 % confidence" in page
    for heading in ("What is guaranteed", "What it costs", "The path that was tested"):
        assert heading in page
    assert evil not in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.csv", "--budget", BUDGET, "--out", "r.json"], "There is no file none.csv."),
        (["known.csv", "--out", "r.json"], "Missing option '--budget'"),
        (["known.csv", "--budget", BUDGET], "Missing option '--out'"),
        (["known.csv", "--budget", BUDGET, "--out", "r.txt"], "`--out` must end in .json"),
        (["known.csv", "--budget", BUDGET, "--out", "."], "`--out` must end in .json; got .."),
        (["known.csv", "--budget", "tumor->* <= 5%", "--out", "r.json"], "did you mean 'tumour'"),
        (
            ["known.csv", "--budget", BUDGET, "--out", "r.json", "--page", "known.csv"],
            "`--page` must end in .html",
        ),
        (
            ["one.csv", "--budget", BUDGET, "--out", "r.json"],
            "one column of probabilities, 'prob_tumour', and 3 classes in the truth",
        ),
        (
            ["known.csv", "--budget", BUDGET, "--confidence", "2", "--out", "r.json"],
            "`--confidence` must lie in",
        ),
        (
            ["known.csv", "--budget", "expected cost <= 0.9", "--out", "r.json"],
            "Budget 'expected cost <= 0.9' is about what mistakes cost: give a `penalty`",
        ),
        (
            ["known.csv", "--budget", BUDGET, "--abstain-cost", "inf", "--out", "r.json"],
            "`--abstain-cost` must be a finite number of at least 0; got inf.",
        ),
        (
            ["known.csv", "--budget", BUDGET, "--abstain-cost", "-1", "--out", "r.json"],
            "`--abstain-cost` must be at least 0; got -1.0.",
        ),
    ],
)
def test_mistakes_are_one_line_and_nothing_is_written(
    words: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table(50, 3)[["id", "truth", "prob_tumour"]].to_csv("one.csv", index=False)
    before = sorted(folder.iterdir())
    assert control(*words) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert shown.count("\n") == 1
    assert sorted(folder.iterdir()) == before


def test_no_rule_is_exit_code_1_with_what_it_would_take_and_nothing_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(folder.iterdir())
    assert control("known.csv", "--budget", "tumour->benign <= 0.1%", "--out", "r.json") == 1
    shown = capsys.readouterr().err
    assert "2,995 are needed there, about 3,300 in all, none called benign" in shown
    assert shown.count("\n") == 1
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["decide", "rule.json", "new.csv", "--out", "new.csv"], "new.csv is read by this command"),
        (
            ["control", "known.csv", "--budget", BUDGET, "--penalty", "c.json", "--out", "c.json"],
            "c.json is read by this command; name another file to write.",
        ),
        (["decide", "new.csv", "new.csv", "--out", "d.csv"], "new.csv"),
        (["decide", "rule.json", "few.csv", "--out", "d.csv"], "has no columns of probabilities"),
        (
            ["decide", "rule.json", "new.csv", "--column", "truth", "--out", "d.csv"],
            "has a column 'truth' already",
        ),
        (
            ["decide", "rule.json", "new.csv", "--column", "", "--out", "d.csv"],
            "`column` (--column) must name the column of answers; got no name.",
        ),
        (["audit", "new.csv"], "with `untrue penalty new`), --hierarchy FILE, --budget"),
        (
            ["audit", "new.csv", "--rule", "rule.json", "--penalty", "c.toml"],
            "(--penalty) or `rule`",
        ),
        (
            ["audit", "new.csv", "--rule", "rule.json", "--budget", BUDGET],
            "`rule` (--rule) brings its own budgets",
        ),
    ],
)
def test_mistakes_with_a_rule_are_one_line(
    command: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    control("known.csv", "--budget", BUDGET, "--out", "rule.json")
    table(20, 1).drop(columns="prob_cyst").to_csv("few.csv", index=False)
    capsys.readouterr()
    before = sorted(folder.iterdir())
    assert exit_code(command) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert shown.count("\n") == 1
    assert sorted(folder.iterdir()) == before


def test_no_torch_is_needed(folder: Path) -> None:
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "from untrue.cli import exit_code\n"
        f"sys.exit(exit_code(['control', 'known.csv', '--budget', '{BUDGET}', '--out', 'r.json'])"
        " or exit_code(['decide', 'r.json', 'new.csv', '--out', 'd.csv'])"
        " or exit_code(['audit', 'd.csv', '--rule', 'r.json']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_columns_need_no_prefix_where_the_truth_names_the_classes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = table(2000, 0)
    bare = known.rename(columns=lambda name: name.removeprefix("prob_"))
    bare.to_csv("bare.csv", index=False)
    assert control("bare.csv", "--budget", BUDGET, "--out", "bare.json") == 0
    assert control("known.csv", "--budget", BUDGET, "--out", "rule.json") == 0
    first, second = (DecisionRule.load(name) for name in ("bare.json", "rule.json"))
    assert list(first.classes) == sorted(second.classes)


def test_what_looks_like_a_prefix_is_part_of_the_names_where_the_truth_has_it(folder: Path) -> None:
    for name in ("known", "new"):
        whole = pd.read_csv(f"{name}.csv").rename(columns=lambda name: name.replace("prob_", "p_"))
        whole.assign(truth="p_" + whole["truth"]).to_csv(f"{name}.csv", index=False)
    budget = "p_tumour->p_benign <= 6%"
    assert control("known.csv", "--budget", budget, "--out", "rule.json") == 0
    assert DecisionRule.load("rule.json").classes == ("p_tumour", "p_cyst", "p_benign")
    assert exit_code(["decide", "rule.json", "new.csv", "--out", "decided.csv"]) == 0
    decided = pd.read_csv("decided.csv")
    assert (decided["decided"] == decided["truth"]).mean() > 0.7
    assert exit_code(["audit", "decided.csv", "--rule", "rule.json"]) == 0


@pytest.mark.parametrize("name", ["score", "prob", "y_prob"])
def test_a_single_column_is_that_of_the_second_class(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    ill = rng.integers(0, 2, 800)
    probs = 1 / (1 + np.exp(-3 * (ill - 0.5) - rng.normal(0, 1, 800)))
    pd.DataFrame({"truth": np.array(["ill", "fit"])[ill], name: probs}).to_csv("one.csv")
    words = ["--budget", "ill->fit <= 20%"]
    assert control("one.csv", *words, "--classes", "ill,fit", "--out", "one.json") == 0
    assert f"'{name}' is taken for the probability of 'fit'" in capsys.readouterr().out
    # Without their order it would be that of 'ill', which the truth contradicts.
    assert control("one.csv", *words, "--out", "other.json") == 2
    assert "Taken for ill, fit it would be in" in capsys.readouterr().err


def test_a_file_and_arrays_agree_on_the_order_of_labels_that_are_numbers(folder: Path) -> None:
    rng = np.random.default_rng(0)
    labels = rng.choice([9, 10], 800)
    probs = 1 / (1 + np.exp(-3 * (labels - 9.5) - rng.normal(0, 1, 800)))
    pd.DataFrame({"truth": labels, "score": probs}).to_csv("one.csv", index=False)
    budget = "10->9 <= 20%"
    by_file = control_file(Path("one.csv"), budgets=[budget]).rule
    by_array = untrue.control(probs, labels, budgets=[budget])
    by_text = untrue.control(probs, labels.astype(str), budgets=[budget])
    assert by_file.classes == by_array.classes == by_text.classes == ("9", "10")
    assert by_file.guarantee == by_array.guarantee == by_text.guarantee
    audited = untrue.audit(labels.astype(str), labels.astype(str), budgets=[budget], resamples=10)
    assert audited.penalty.classes == ("9", "10")


def test_the_order_of_classes_never_turns_answers_round(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    dog = rng.random(400) < 0.5
    score = 1 / (1 + np.exp(-rng.normal(3.0 * dog - 1.5, 1.0)))
    table = pd.DataFrame({"prob_dog": score, "prob_cat": 1 - score})
    table.assign(truth=np.where(dog, "dog", "cat")).to_csv("two.csv", index=False)
    assert control("two.csv", "--budget", "dog->cat <= 30%", "--out", "two.json") == 0
    pd.DataFrame({"score": score}).to_csv("one.csv", index=False)

    def right(data: str, *words: str) -> float:
        assert exit_code(["decide", "two.json", data, "--out", "d.csv", "--overwrite", *words]) == 0
        return float((pd.read_csv("d.csv")["decided"] == np.where(dog, "dog", "cat")).mean())

    assert right("two.csv") == right("two.csv", "--classes", "cat,dog") > 0.8
    assert right("one.csv", "--classes", "cat,dog") > 0.8
    assert right("one.csv", "--classes", "dog,cat") < 0.2
    capsys.readouterr()
    # Other commands take it for the second in sorted order, the rule's second is another.
    assert exit_code(["decide", "two.json", "one.csv", "--out", "none.csv"]) == 2
    error = capsys.readouterr().err
    assert "--classes dog,cat if it is the probability of 'cat', --classes cat,dog if" in error
    assert not Path("none.csv").exists()
