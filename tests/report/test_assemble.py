"""The whole report of a store: finished, partial, failed, empty."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from untrue.errors import ArgumentError, DataError
from untrue.lab.records import DatasetInfo, Sweep
from untrue.lab.store import FILE, Store
from untrue.report.assemble import Report, report
from untrue.storage import StorageError

Fill = Callable[..., Sweep]


def names(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def zone_report(zone_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Report:
    return report(zone_store, tmp_path_factory.mktemp("report"))


def test_a_masked_zone_gives_the_papers_figures_and_everything_beside(
    zone_store: Path, zone_report: Report
) -> None:
    made, out = zone_report, zone_report.page.parent
    figures = {"frontier"} | {
        f"{what}-{loss}"
        for what in ("zone-errors", "total-error", "confusions")
        for loss in ("bilinear", "log-bilinear")
    }
    assert names(out) == (
        {"report.html", "report.json", "rows.csv"}
        | {f"figures/demo-mnist-5k-{f}.{kind}" for f in figures for kind in ("svg", "png")}
        | {f"tables/demo-mnist-5k-n{n}.{kind}" for n in (3, 6) for kind in ("csv", "md")}
    )
    assert {str(path.relative_to(out)) for path in made.written} == names(out)
    assert made.page == out / "report.html"
    assert made.notes == ()
    assert names(zone_store) <= {"runs.sqlite", "runs.sqlite-wal", "runs.sqlite-shm"}


def test_every_table_carries_the_baseline_with_the_least_cost_decision(
    zone_report: Report,
) -> None:
    for n in (3, 6):
        with (zone_report.page.parent / f"tables/demo-mnist-5k-n{n}.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert [(r["loss"], r["decision"]) for r in rows[:2]] == [
            ("baseline", "most probable"),
            ("baseline", "least cost"),
        ]
        assert len(rows) == 2 + 2 * 2 * 2
        assert all(row["repetitions"] == "3" for row in rows)
        assert rows[0]["difference"] == ""
        assert float(rows[1]["difference low"]) < float(rows[1]["difference high"])


def test_class_names_are_escaped_everywhere(zone_report: Report) -> None:
    page = zone_report.page.read_text()
    assert "<script>alert" not in page
    # Hover texts stand in JSON, where `<` of our own tags and `&` of entities are escaped again.
    assert r"\u0026lt;script\u0026gt;alert('x')\u0026lt;/script\u0026gt;" in page


def test_json_holds_every_arm_with_its_numbers(zone_report: Report) -> None:
    out = zone_report.page.parent
    made_json = json.loads((out / "report.json").read_text())
    assert set(made_json["files"]) == names(out) - {"report.json"}
    (sweep,) = made_json["sweeps"]
    assert (sweep["expected"], sweep["done"], sweep["failed"], sweep["missing"]) == (27, 27, [], [])
    assert len(sweep["arms"]) == 2 * (1 + 4) * 2
    arm = next(a for a in sweep["arms"] if a["loss"] == "bilinear" and a["alpha"] == 0.9)
    mean = arm["means"]["zone_errors"]
    assert mean["low"] < mean["value"] < mean["high"]
    assert arm["differences_to_baseline"]["zone_errors"]["value"] < 0


def test_one_zone_size_is_drawn_against_alpha(
    tmp_path: Path, fill: Fill, digits: DatasetInfo
) -> None:
    fill(tmp_path, "demo", digits, zone_size=(3,), repetitions=2)
    made = report(tmp_path)
    assert (tmp_path / "figures/demo-mnist-5k-zone-errors.svg").is_file()
    (short,) = made.short
    assert [row[1] for row in short.rows] == [
        "bilinear, alpha 0.5",
        "bilinear, alpha 0.9",
        "log-bilinear, alpha 0.5",
        "log-bilinear, alpha 0.9",
        "least-cost decision only",
    ]
    before = {(row[2], row[4]) for row in short.rows}
    assert len(before) == 1
    assert "against the size" not in made.page.read_text()


def test_hierarchy_stands_beside_the_published_numbers(
    tmp_path: Path, fill: Fill, things: DatasetInfo
) -> None:
    fill(tmp_path, "hierarchy", things, alpha=(0.0, 0.5), repetitions=2)
    page = report(tmp_path).page.read_text()
    with (tmp_path / "tables/hierarchy-cifar100-log-bilinear.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(r["alpha"], r["decision"]) for r in rows] == [
        ("0.0", "most probable"),
        ("0.0", "least cost"),
        ("0.5", "most probable"),
        ("0.5", "least cost"),
    ]
    assert [r["total error: published (%)"] for r in rows] == ["37.3", "", "38.52", ""]
    assert [r["coarse error: published (%)"] for r in rows] == ["25.43", "", "24.52", ""]
    inside = "errors inside the super-class: published (%)"
    assert [r[inside] for r in rows] == ["30.88", "", "36.58", ""]
    assert "bilinear, published" in page
    assert {"figures/hierarchy-cifar100-coarse-error.png"} <= names(tmp_path)


def test_small_sample_stands_beside_the_published_numbers(
    tmp_path: Path, fill: Fill, things: DatasetInfo
) -> None:
    values = {"alpha": (0.0, 0.5), "small_count": (0, 10), "repetitions": 2}
    sweep = fill(tmp_path, "small-sample", things, **values)
    chosen = ", ".join(things.classes[c] for c in sweep.configs[-1].small_classes)
    page = report(tmp_path).page.read_text()
    with (tmp_path / "tables/small-sample-cifar100.csv").open() as file:
        rows = list(csv.DictReader(file))
    plain = [r for r in rows if r["decision"] == "most probable"]
    assert [(r["N"], r["alpha"], r["accuracy: published (%)"]) for r in plain] == [
        ("all", "0.0", ""),
        ("0", "0.0", "54.92"),
        ("0", "0.5", "54.91"),
        ("10", "0.0", "51.76"),
        ("10", "0.5", "52.72"),
    ]
    line = f"the most typical of each super-class by the baselines' errors: {chosen}."
    assert line in page.replace("&#39;", "'")


def test_a_partial_sweep_reports_what_is_there_and_names_what_is_not(
    tmp_path: Path, fill: Fill, digits: DatasetInfo
) -> None:
    options = {"zone_size": (3, 6), "repetitions": 2}
    fill(
        tmp_path,
        "demo",
        digits,
        skip=lambda c: c.seed == 1 or c.alpha == 0.9,
        fail=lambda c: c.seed == 0 and c.loss == "log-bilinear" and c.alpha == 0.5,
        **options,
    )
    made = report(tmp_path)
    missing, failed = made.notes
    assert missing.startswith("demo/mnist-5k: 13 of 18 models are not made yet (mnist-5k bilinear")
    assert "and 7 more). Continue with: `untrue run demo --data mnist-5k --out" in missing
    assert failed.startswith("demo/mnist-5k: 2 of 18 models failed and are left out.")
    assert failed.endswith("--retry-failed`")
    page = made.page.read_text()
    assert "What is missing" in page
    assert "ArithmeticError: loss became NaN" in page
    assert "One repetition, so no intervals." in page
    made_json = json.loads((tmp_path / "report.json").read_text())["sweeps"][0]
    assert (made_json["done"], len(made_json["failed"]), len(made_json["missing"])) == (3, 2, 13)
    assert made_json["failed"][0]["reason"] == "ArithmeticError: loss became NaN"


@pytest.mark.parametrize("experiment", ["demo", "hierarchy", "small-sample"])
def test_baselines_alone_are_already_a_report(
    experiment: str, tmp_path: Path, fill: Fill, digits: DatasetInfo, things: DatasetInfo
) -> None:
    info = digits if experiment == "demo" else things
    options = {"zone_size": (3,)} if experiment == "demo" else {}
    first = fill(tmp_path, experiment, info, skip=lambda c: not c.is_baseline, **options)
    made = report(tmp_path)
    assert len(made.notes) == 1
    assert f"of {first.expected} models are not made yet" in made.notes[0]


def test_nothing_finished_is_said_in_one_sentence_and_nothing_is_written(
    tmp_path: Path, fill: Fill, digits: DatasetInfo
) -> None:
    runs = tmp_path / "runs"
    fill(runs, "demo", digits, zone_size=(3,), skip=lambda c: True)
    with pytest.raises(DataError, match=r"No finished run in .*runs yet. demo/mnist-5k: 5 of 5"):
        report(runs, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_file_in_place_of_the_folder_is_named(zone_report: Report, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ArgumentError, match="file is a file; name a folder"):
        report(zone_report.page.parent, tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_without_results_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"No results in .*: runs.sqlite is not there"):
        report(tmp_path)
    with Store.write(tmp_path):
        pass
    with pytest.raises(DataError, match="No experiment was started in it"):
        report(tmp_path)


def damage(folder: Path, label: str) -> int:
    """Change a byte of every entry whose label is like this."""
    with closing(sqlite3.connect(folder / FILE)) as db, db:
        change = "UPDATE entries SET facts = replace(facts, '0', '1') WHERE label LIKE ?"
        return db.execute(change, (label,)).rowcount


def test_damaged_runs_are_named_counted_and_left_out(
    tmp_path: Path, fill: Fill, digits: DatasetInfo
) -> None:
    fill(tmp_path, "demo", digits, zone_size=(3,), repetitions=3)
    whole = report(tmp_path)
    with (tmp_path / "rows.csv").open() as file:
        before = list(csv.DictReader(file))
    assert damage(tmp_path, "% bilinear alpha=0.9 %seed=1") == 1
    made = report(tmp_path)
    (note,) = made.notes
    assert note == (
        "1 entry of runs.sqlite is damaged and left out: mnist-5k bilinear alpha=0.9 n=3 seed=1. "
        f"`untrue status {tmp_path} --repair` drops it; the command that made it then does so "
        "again."
    )
    assert whole.notes == ()
    assert "1 entry of runs.sqlite is damaged and left out" in made.page.read_text()
    with (tmp_path / "rows.csv").open() as file:
        after = list(csv.DictReader(file))
    gone = [row for row in before if row not in after]
    assert {(row["loss"], row["alpha"], row["seed"]) for row in gone} == {("bilinear", "0.9", "1")}
    (sweep,) = json.loads((tmp_path / "report.json").read_text())["sweeps"]
    assert sweep["damaged"] == ["mnist-5k bilinear alpha=0.9 n=3 seed=1"]
    assert (sweep["done"], sweep["missing"]) == (sweep["expected"] - 1, [])


@pytest.mark.parametrize("label", ["plan of demo/%", "data set mnist-5k"])
def test_a_sweep_that_cannot_be_read_is_named_and_the_others_are_shown(
    tmp_path: Path, fill: Fill, digits: DatasetInfo, things: DatasetInfo, label: str
) -> None:
    fill(tmp_path, "demo", digits, zone_size=(3,), loss=("bilinear",))
    fill(tmp_path, "hierarchy", things, loss=("bilinear",))
    assert damage(tmp_path, label) == 1
    made = report(tmp_path)
    assert f"damaged and left out: {label.replace('%', 'mnist-5k')}." in made.notes[0]
    assert len(made.short) == 1
    damage(tmp_path, "%cifar100%")
    with pytest.raises(DataError, match=r"No finished run in .* yet\. \d entries of runs.sqlite"):
        report(tmp_path)


def test_a_file_with_an_unreadable_page_is_reported_as_far_as_it_goes(
    tmp_path: Path, fill: Fill, digits: DatasetInfo
) -> None:
    sweep = fill(tmp_path, "demo", digits, zone_size=(3, 6), repetitions=10)
    content = bytearray((tmp_path / FILE).read_bytes())
    leaves = [at for at in range(4096, len(content), 4096) if content[at] == 0x0D]
    assert len(leaves) > 5
    content[leaves[2] : leaves[2] + 8] = b"\xff" * 8
    (tmp_path / FILE).write_bytes(content)
    made = report(tmp_path)
    (content,) = json.loads((tmp_path / "report.json").read_text())["sweeps"]
    assert 0 < len(content["damaged"]) < 10
    assert content["done"] + len(content["damaged"]) == len(sweep.configs)
    assert any("so that runs may be missing without being named" in note for note in made.notes)


def test_two_sweeps_of_one_folder_stand_on_one_page(
    tmp_path: Path, fill: Fill, digits: DatasetInfo, things: DatasetInfo
) -> None:
    fill(tmp_path, "demo", digits, zone_size=(3,), loss=("bilinear",))
    fill(tmp_path, "hierarchy", things, loss=("bilinear",))
    made = report(tmp_path)
    assert len(made.short) == 2
    page = made.page.read_text()
    assert re.search(r"<h2>demo/mnist-5k: .*<h2>hierarchy/cifar100: ", page, re.DOTALL)
    with (tmp_path / "rows.csv").open() as file:
        sweeps = {row["sweep"] for row in csv.DictReader(file)}
    assert sweeps == {"demo/mnist-5k", "hierarchy/cifar100"}


def test_a_sweep_still_being_written_reports_twice_with_the_same_bytes(
    tmp_path: Path, fill: Fill, digits: DatasetInfo
) -> None:
    fill(tmp_path / "runs", "demo", digits, zone_size=(3,), loss=("bilinear",))
    with Store.write(tmp_path / "runs") as writer:
        for out in ("one", "two"):
            assert report(tmp_path / "runs", tmp_path / out).notes == ()
        assert len(writer.status()) == 3
    for name in names(tmp_path / "one"):
        one, two = (tmp_path / "one" / name, tmp_path / "two" / name)
        assert one.read_bytes() == two.read_bytes(), name
