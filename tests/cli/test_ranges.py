"""Numbers past any use are one sentence, from every command, before anything is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from untrue import Penalty
from untrue.cli import exit_code

FIT = ["fit", "data.csv", "--target", "kind", "--loss", "cross-entropy", "--out", "out"]
TUNE = ["tune", "data.csv", "--target", "kind", "--budget", "a->b <= 50%", "--out", "out"]
AUDIT = ["audit", "answers.csv", "--penalty", "costs.json", "--out", "out"]
RUN = ["run", "demo", "--data", "digits", "--out", "out", "--dry-run"]
COMPARE = ["compare", "--data", "data.csv", "--target", "kind", "--penalty", "costs.json"]
COMPARE += ["--out", "out", "--dry-run"]

SEEDS = ["-1", str(2**32), str(2**63), str(2**64), "9" * 5000]
COUNTS = ["0", "-1", str(2**63), "9" * 5000]
CASES = [
    *(
        (command, "--seed", value)
        for command in (FIT, TUNE, AUDIT, RUN, COMPARE)
        for value in SEEDS
    ),
    *(
        (command, option, value)
        for command in (FIT, TUNE, RUN, COMPARE)
        for option in ("--batch-size", "--epochs")
        for value in COUNTS
    ),
    *(
        (command, "--repetitions", value)
        for command in (TUNE, RUN, COMPARE)
        for value in (*COUNTS, "10001")
    ),
    *((AUDIT, "--resamples", value) for value in (*COUNTS, "1000001")),
    *((RUN, "--width", value) for value in ("1e308", "inf", "nan", "0", "-1", "65")),
    *((command, "--jobs", value) for command in (RUN, COMPARE) for value in COUNTS),
    *((RUN, "--zone-size", value) for value in COUNTS),
    *((TUNE, "--trials", value) for value in ("-1", str(2**63))),
    *((command, "--learning-rate", value) for command in (FIT, RUN) for value in ("nan", "inf")),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [f"{i},{'ab'[i % 2]}" for i in range(60)]
    (tmp_path / "data.csv").write_text("\n".join(["x,kind", *rows]))
    answers = [f"{'ab'[i % 2]},a" for i in range(60)]
    (tmp_path / "answers.csv").write_text("\n".join(["truth,predicted", *answers]))
    Penalty.from_rules(["a", "b"], {("a", "b"): 3.0}).save("costs.json")
    return tmp_path


@pytest.mark.filterwarnings("ignore:column 'x' holds another whole number")
@pytest.mark.parametrize(
    ("command", "option", "value"),
    CASES,
    ids=[f"{command[0]} {option} {value[:24]}" for command, option, value in CASES],
)
def test_a_number_out_of_range_is_one_sentence_and_makes_nothing(
    command: list[str], option: str, value: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code([*command, option, value]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert len(error) < 2100
    name = option.removeprefix("--")
    assert any(each in error for each in (f"`{name}`", f"`{option}`", f"'{option}'"))
    assert not (folder / "out").exists()
