"""`untrue compare --data kdd99|german`: the lab's tables, by name and by their official costs."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from untrue.cli import exit_code
from untrue.errors import ArgumentError
from untrue.lab import comparison, run_data
from untrue.lab.data import TABLES
from untrue.lab.data.tables import KDD_COLUMNS, KDD_COSTS, load_table
from untrue.lab.design import Setup, made_from
from untrue.lab.named_tables import SIZES, NamedTable
from untrue.lab.records import RunConfig
from untrue.lab.store import Store
from untrue.report.runs.rows import collect

KINDS = ("normal", "ipsweep", "smurf", "rootkit", "spy")
EACH, COPIES, TESTED = 40, 3, 20


def connection(duration: int, kind: str, service: str = "http") -> str:
    rest = ["1"] * (len(KDD_COLUMNS) - 4)
    return ",".join([str(duration), "tcp", service, "SF", *rest, f"{kind}."])


def applicant(months: int, good: bool) -> str:
    words = f"A11 {months} A34 A43 1169 A65 A75 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192 A201"
    return f"{words} {1 if good else 2}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tables")
    (place / "kdd99").mkdir()
    (place / "german").mkdir()
    train = [
        connection(100 * number + turn, kind)
        for number, kind in enumerate(KINDS)
        for turn in range(EACH)
    ]
    test = [connection(100 * (i % 5) + 50, KINDS[i % 5], "gopher") for i in range(TESTED)]
    for name, lines in (("kddcup.data_10_percent.gz", train * COPIES), ("corrected.gz", test)):
        (place / "kdd99" / name).write_bytes(gzip.compress("\n".join(lines).encode()))
    loans = [applicant(turn + 300 * (turn % 3 == 0), turn % 3 > 0) for turn in range(240)]
    (place / "german" / "german.data").write_text("\n".join(loans))
    return place


def config(data: str, **values: object) -> RunConfig:
    usual = {"data": data, "network": "lightgbm", "epochs": 3, "validation": 10}
    return RunConfig(made_from(Setup, {**usual, **values}), seed=0)


def test_copies_of_a_row_count_once_and_the_test_file_is_the_test_part(folder: Path) -> None:
    found = run_data.table("kdd99", folder)
    assert (found.info.train_images, found.info.test_images) == (EACH * len(KINDS), TESTED)
    assert not found.info.drawn_test
    parts = [found.opened.split(config("kdd99", validation=v)) for v in (10, 20)]  # type: ignore[union-attr]
    assert [len(p.validation) for p in parts] == [10, 20]
    for split in parts:
        assert split.test.tolist() == list(range(200, 220))
        assert np.sort(np.concatenate([split.train, split.validation])).tolist() == list(range(200))


def test_a_table_without_a_test_file_is_split_anew_by_each_seed(folder: Path) -> None:
    found = run_data.table("german", folder)
    assert found.info.drawn_test
    assert found.opened is not None
    first, second = (
        found.opened.split(RunConfig(config("german").setup, seed=seed)) for seed in (0, 1)
    )
    assert len(first.test) == len(second.test) == 48
    assert first.test.tolist() != second.test.tolist()


@pytest.mark.parametrize("name", TABLES)
def test_limits_take_some_of_each_part_and_never_mix_them(folder: Path, name: str) -> None:
    opened = NamedTable(name, folder).open()
    whole = opened.split(config(name))
    few = opened.split(config(name, limit_train=30, limit_test=10))
    assert (len(few.train), len(few.validation), len(few.test)) == (20, 10, 10)
    assert set(few.test) <= set(whole.test)
    assert not set(few.test) & {*few.train, *few.validation}


def test_other_values_have_another_fingerprint(folder: Path, tmp_path: Path) -> None:
    known = NamedTable("german", folder).open().info.fingerprint
    assert NamedTable("german", folder).open().info.fingerprint == known
    (tmp_path / "german").mkdir()
    text = (folder / "german" / "german.data").read_text().replace("1169", "1170", 1)
    (tmp_path / "german" / "german.data").write_text(text)
    assert NamedTable("german", tmp_path).open().info.fingerprint != known


@pytest.mark.parametrize("name", TABLES)
def test_costs_are_the_official_ones_unless_others_are_given(folder: Path, name: str) -> None:
    info = run_data.table(name, folder).info
    penalty = load_table(name, folder).penalty
    for text in (None, "official"):
        costs = comparison.read_costs(text, info)
        np.testing.assert_array_equal(costs.of(info, 0).matrix(info), penalty.matrix())
    assert comparison.read_costs("zone:1", info).zone_size == 1
    images = run_data.known("digits").info
    assert comparison.read_costs(None, images).zone_size == 20
    with pytest.raises(ArgumentError, match="'official' is for kdd99 and german"):
        comparison.read_costs("official", images)


@pytest.mark.parametrize("model", ["lightgbm", "network"])
@pytest.mark.parametrize("name", TABLES)
def test_methods_are_compared_on_a_table_by_its_name(
    folder: Path, tmp_path: Path, name: str, model: str, capfd: pytest.CaptureFixture[str]
) -> None:
    rounds = "--rounds" if model == "lightgbm" else "--epochs"
    words = ["compare", "--data", name, "--model", model, "--data-dir", str(folder)]
    words += ["--scale", "smoke", "--repetitions", "2", rounds, "3", "--out", str(tmp_path)]
    words += ["--methods", "ce,bilinear,class-weighted", "--limit-train", "150"]
    assert exit_code([*words, "--device", "cpu", "--jobs", "1", "--threads", "1"]) == 0
    assert "not seen in training" not in capfd.readouterr().err
    with Store.read(tmp_path) as store:
        (found,) = collect(store)
    assert len(found.results) == 2 * 3
    assert {row.decision for row in found.rows if row.loss == "bilinear"} == {
        *("argmax", "least-cost", "least-cost-calibrated", "posterior")
    }
    page = (tmp_path / "report.html").read_text()
    drawn = "each repetition draws a random fifth" in page
    assert drawn == (name == "german")
    assert ("scored on the same test examples" in page) == (name == "kdd99")
    assert "examples weighted by what missing them costs" in page
    assert "Cost at equal accuracy" in page
    if name == "kdd99":
        costs = next(iter({spec for c in found.sweep.configs for spec in c.score_on}))
        assert costs.costs == KDD_COSTS


@pytest.mark.parametrize("name", TABLES)
def test_a_plan_needs_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable in ("HOME", "XDG_CACHE_HOME", "UNTRUE_DATA"):
        monkeypatch.setenv(variable, str(tmp_path))
    words = ["compare", "--data", name, "--model", "lightgbm", "--dry-run"]
    assert exit_code([*words, "--device", "cpu", "--out", str(tmp_path / "runs")]) == 0
    assert f"compare on {name}, scale desk: " in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    known = run_data.known(name).info
    assert (known.train_images, known.test_images) == SIZES[name]


def test_what_a_table_refuses(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for more, message in (
        (["--keep-weights", "--model", "lightgbm"], "keep no weights"),
        (["--network", "cnn"], "'cnn' is for images"),
        (["--target", "attribute_1"], "target is for own data"),
        (["--validation", "180"], "`--validation` must lie between 1 and 90 %"),
        (["--penalty", "hierarchy"], "'german' has none"),
    ):
        words = ["compare", "--data", "german", "--data-dir", str(folder), "--device", "cpu"]
        assert exit_code([*words, *more, "--out", str(folder / "none")]) == 2
        assert message in " ".join(capsys.readouterr().err.split())
    assert not (folder / "none").exists()
