"""`untrue audit` on real files: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.cli.untrue_process import run_untrue

from untrue import Penalty, metrics
from untrue.cli import exit_code

CLASSES = ["healthy", "benign", "tumour"]


def predictions(n: int = 400, seed: int = 0) -> pa.Table:
    """Predictions with calibrated probabilities, as a table."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet([2.0, 1.0, 0.7], size=n)
    true = (rng.random((n, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(max=2)
    names = np.array(CLASSES)
    return pa.table(
        {
            "truth": names[true],
            "predicted": names[probs.argmax(axis=1)],
            **{f"prob_{name}": probs[:, j] for j, name in enumerate(CLASSES)},
        }
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with `costs.toml`."""
    monkeypatch.chdir(tmp_path)
    Penalty.from_rules(CLASSES, {("tumour", "benign"): 20.0}).save("costs.toml")
    return tmp_path


def test_it_prints_the_measures_and_writes_the_page(folder: Path) -> None:
    table = predictions()
    pa.csv.write_csv(table, "p.csv")
    done = run_untrue("audit", "p.csv", "--penalty", "costs.toml", "--out", "seen")
    assert (done.returncode, done.stderr) == (0, "")
    assert "truth in 'truth', predictions in 'predicted'" in done.stdout
    assert done.stdout.splitlines()[-1] == "seen/page.html"
    penalty = Penalty.load("costs.toml")
    index = {name: i for i, name in enumerate(CLASSES)}
    true, predicted = (
        np.array([index[name] for name in table[column].to_pylist()])
        for column in ("truth", "predicted")
    )
    cm = metrics.confusion_matrix(true, predicted, 3)
    assert f"{100 * (1 - metrics.total_error(cm)):.2f} [" in done.stdout
    assert f"{metrics.expected_cost(cm, penalty):.3g} [" in done.stdout
    assert "errors in the zone" in done.stdout
    assert "calibration error (%)" in done.stdout
    assert "What the least-expected-cost decision would change" in done.stdout
    numbers = json.loads((folder / "seen/audit.json").read_text())
    assert numbers["summary"]["expected_cost"] == metrics.expected_cost(cm, penalty)
    assert numbers["summary"]["zone_errors"] == cm[2, 1]
    change = numbers["least_expected_cost"]["change"]["expected_cost"]
    assert change["low"] < change["value"] < change["high"] < 0
    page = (folder / "seen/page.html").read_text()
    for part in (
        "By cost",
        "By count",
        "The costliest confusions",
        "Calibration: confidence against accuracy",
    ):
        assert part in page
    counted = (folder / "seen/confusion.csv").read_text().splitlines()
    assert counted[3] == f"tumour,{cm[2, 0]},{cm[2, 1]},{cm[2, 2]}"


def test_a_tree_brings_super_classes_and_severity(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pa.parquet.write_table(predictions().select(["truth", "predicted"]), "p.parquet")
    Path("tree.csv").write_text("parent,child\nroot,well\nroot,ill\nwell,healthy\n")
    with Path("tree.csv").open("a") as file:
        file.write("ill,benign\nill,tumour\n")
    words = ["audit", "p.parquet", "--penalty", "costs.toml", "--hierarchy", "tree.csv"]
    assert exit_code(words) == 0
    shown = capsys.readouterr().out
    assert "share of errors in the right super-class (%)" in shown
    assert "severity: mean height of an error" in shown
    assert shown.splitlines()[-1] == "p-audit/page.html"


def test_what_it_writes_starts_a_penalty(folder: Path) -> None:
    pa.csv.write_csv(predictions(), "p.csv")
    assert exit_code(["audit", "p.csv", "--penalty", "costs.toml", "--out", "a"]) == 0
    assert exit_code(["penalty", "suggest", "--confusion", "a/confusion.csv"]) == 0
    assert Penalty.load("costs.csv").classes == tuple(CLASSES)


def test_class_names_cannot_break_the_page(folder: Path) -> None:
    names = ["<script>alert(1)</script>", "b&[bold]"]
    Penalty.from_rules(names, {}).save("odd.json")
    pa.csv.write_csv(pa.table({"truth": names * 9, "predicted": names[::-1] * 9}), "p.csv")
    done = run_untrue("audit", "p.csv", "--penalty", "odd.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "b&[bold]" in done.stdout
    assert "<script>alert(1)" not in (folder / "p-audit/page.html").read_text()


HEADER = "truth,prob_healthy,prob_benign,prob_tumour\nhealthy,.5,.5,0\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "truth,predicted\nhealthy,healthy\nhealthy,benig\n",
            "p.csv: data row 2, column 'predicted', holds an unknown label 'benig'; "
            "did you mean 'benign'?",
        ),
        (
            HEADER + "benign,.5,.7,.1\n",
            "p.csv: the probabilities of data row 2, columns 'prob_healthy' to 'prob_tumour', "
            "sum to 1.3, not to 1. Are they logits, percentages, rounded to fewer than four "
            "digits, or some of the columns only?",
        ),
        (
            HEADER + "benign,-.5,1.5,0\n",
            "p.csv: data row 2, column 'prob_healthy', is -0.5: probabilities are not negative. "
            "Logits become probabilities by softmax.",
        ),
        (
            HEADER + "benign,,1,0\n",
            "p.csv: data row 2, column 'prob_healthy', is missing; expected a number.",
        ),
        (
            "truth,predicted\nhealthy,healthy\n,benign\n",
            "p.csv: data row 2, column 'truth', is empty; expected a label. Without one: 1 of 2 "
            "rows; remove such rows, or fill them in.",
        ),
        ("truth,predicted\n", "p.csv has a header (truth, predicted) but no rows."),
        ("", "p.csv is empty: the first line must be a header with column names."),
        (
            "\ntruth,predicted\na,a\n",
            "p.csv begins with an empty line: the first line must be a header with column names.",
        ),
        (
            "truth;predicted\nhealthy;benign\n",
            "p.csv has one column only, 'truth;predicted' in line 1: its cells seem to be "
            "separated by a semicolon. Say so with --delimiter ';'.",
        ),
        (
            HEADER + "benign,0.5,high,0\n",
            "p.csv: data row 2, column 'prob_benign': 'high' is not a number.",
        ),
        (HEADER + "benign,0.5,.5\n", "p.csv: data row 2 has 3 cells, not 4 as the header has."),
        (
            "truth,predicted,truth\nhealthy,benign,x\n",
            "p.csv has two columns called 'truth'; give them different names.",
        ),
        (
            "a,b\nhealthy,benign\n",
            "p.csv has no column that is clearly the truth; name it with --truth. It has: a, b.",
        ),
        (
            "truth,b\nhealthy,benign\n",
            "p.csv has no column that is clearly the prediction, nor probabilities; name them "
            "with --predicted or --probs. It has: truth, b.",
        ),
        (
            "truth,predicted\nhealthy,(abstained)\n",
            "p.csv: every prediction abstains; there is nothing to audit.",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    text: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("p.csv").write_text(text)
    assert exit_code(["audit", "p.csv", "--penalty", "costs.toml"]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", f"error: {message}\n")
    assert sorted(path.name for path in folder.iterdir()) == ["costs.toml", "p.csv"]


def test_bad_input_ends_a_real_process_the_same_way(folder: Path) -> None:
    Path("p.csv").write_bytes(b"truth,predicted\nhealthy,healthy\nhealthy,b\xff\xfe\n")
    done = run_untrue("audit", "p.csv", "--penalty", "costs.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: p.csv: data row 2, column 'predicted': the text is not UTF-8; "
        "save the file in that encoding.\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no.csv"], "There is no file no.csv."),
        (["costs.toml"], "costs.toml is not a table: its name must end in .csv, .tsv"),
        (["book.xlsx"], "It is a spreadsheet: save the sheet with the data as CSV (UTF-8)."),
        (["p.csv", "--truth", "trut"], "p.csv has no column 'trut'; did you mean 'truth'?"),
        (["p.csv", "--probs", "q_"], "p.csv has no column 'q_healthy' for class 'healthy'"),
        (["p.csv", "--probs", "truth,predicted"], "one column for each of the 3 classes"),
        (["p.csv", "--zone-above", "-1"], "`--zone-above` must be a cost of 0 or more; got -1.0"),
        (
            ["p.csv", "--delimiter", ";;"],
            "`--delimiter` must be a single ASCII character other than a quote; got ';;'",
        ),
        (["p.csv", "--hierarchy", "tree.csv"], "tree.csv: Unknown class 'benign'"),
        (["bad.parquet"], "bad.parquet is not readable as Parquet"),
        (["p.csv", "--out", "tree.csv"], "tree.csv is a file; name a folder to write into."),
    ],
)
def test_wrong_use_says_what_is_wrong(
    words: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pa.csv.write_csv(predictions(), "p.csv")
    Path("tree.csv").write_text("root,healthy\nroot,tumour\n")
    Path("bad.parquet").write_bytes(b"PAR1 and then nothing")
    assert exit_code(["audit", *words, "--penalty", "costs.toml"]) == 2
    printed, error = capsys.readouterr()
    assert message in error
    assert error.count("\n") == 1
    assert printed == ""


def test_a_reader_who_leaves_early_finds_the_page_all_the_same(folder: Path) -> None:
    pa.csv.write_csv(predictions(), "p.csv")
    command = f"{sys.executable} -m untrue audit p.csv --penalty costs.toml --out seen | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=120)
    assert done.stderr == ""
    assert sorted(path.name for path in Path("seen").iterdir()) == [
        "audit.json",
        "confusion.csv",
        "page.html",
    ]


def test_a_million_rows_of_a_hundred_classes_need_no_torch(folder: Path) -> None:
    rng = np.random.default_rng(0)
    names = np.array([f"class{i:02d}" for i in range(100)])
    true = rng.integers(100, size=10**6)
    predicted = np.where(rng.random(10**6) < 0.8, true, rng.integers(100, size=10**6))
    pa.csv.write_csv(pa.table({"truth": names[true], "predicted": names[predicted]}), "big.csv")
    groups = {f"g{i}": names[5 * i : 5 * i + 5].tolist() for i in range(20)}
    Penalty.from_groups(groups).save("tree.json")
    script = (
        "import sys; from untrue.cli import exit_code\n"
        "code = exit_code(['audit', 'big.csv', '--penalty', 'tree.json'])\n"
        "sys.exit(code or 'torch' in sys.modules)"
    )
    # Seconds on an idle machine; the limit is there for work that grows with its square.
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "1,000,000 predictions of 100 classes" in done.stdout


def test_budgets_get_a_verdict_and_a_broken_one_an_exit_code(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["bad,good"] * 30 + ["good,good"] * 70 + ["bad,bad"] * 40
    Path("loans.csv").write_text("\n".join(["truth,predicted", *rows]))
    Penalty.from_rules(["good", "bad"], {("bad", "good"): 5.0}).save("loans.toml")
    common = ["audit", "loans.csv", "--penalty", "loans.toml", "--resamples", "10"]
    assert exit_code([*common, "--budget", "good<-bad <= 5%"]) == 1
    shown = capsys.readouterr().out
    assert "30 of 100 predictions (30 %)" in shown
    assert "30 of 100 predictions (30 %)" in Path("loans-audit/page.html").read_text()
    made = json.loads(Path("loans-audit/audit.json").read_text())["budgets"]
    assert [(row["ruling"], row["errors"], row["of"]) for row in made] == [("broken", 30, 100)]
    assert (
        exit_code(
            [*common, "--budget", "good->bad <= 50%", "--budget", "bad->good <= 80%", "--overwrite"]
        )
        == 0
    )
    assert exit_code([*common, "--budget", "good>bad", "--overwrite"]) == 2


def test_a_confidence_without_budgets_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pa.csv.write_csv(predictions(), "p.csv")
    words = ["audit", "p.csv", "--penalty", "costs.toml", "--confidence", ".9"]
    assert exit_code(words) == 2
    assert (
        "`--confidence` is that of the bounds of budgets, and there are none: give `budgets` ("
        in (capsys.readouterr().err)
    )
    assert not Path("p-audit").exists()
    assert exit_code([*words, "--budget", "* -> * <= 90%"]) in (0, 1)


def test_it_never_writes_over_what_it_reads(folder: Path) -> None:
    (folder / "w").mkdir()
    pa.csv.write_csv(predictions(), "w/confusion.csv")
    before = (folder / "w/confusion.csv").read_bytes()
    done = run_untrue("audit", "w/confusion.csv", "--penalty", "costs.toml", "--out", "w")
    assert done.returncode == 2
    assert "w/confusion.csv is read by this command" in done.stderr
    assert (folder / "w/confusion.csv").read_bytes() == before
    assert [file.name for file in (folder / "w").iterdir()] == ["confusion.csv"]
