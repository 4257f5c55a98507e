"""The page of a comparison: what it says, draws and tells of what is missing."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from tests.report.compare.conftest import EVERY, Fill, Zones, compared, parsed

from untrue.lab.records import DatasetInfo, RunResult
from untrue.report.assemble import report
from untrue.report.compare.figures import facets, overview
from untrue.report.compare.sentences import finding
from untrue.report.compare.tables import (
    seconds_table,
    settings_table,
)
from untrue.report.document import matplotlib_figures, plotly_figures
from untrue.report.document.figures import Facets
from untrue.report.document.prose import prose


def names(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def test_a_comparison_makes_page_figures_tables_rows_and_json(
    tmp_path: Path, fill: Fill, zones: Zones, digits: DatasetInfo
) -> None:
    methods = ("ce", "log-bilinear", "sosr", "conditional-softmax")
    fill(tmp_path / "runs", digits, zones(digits, 4), methods=methods, repetitions=3)
    made = report(tmp_path / "runs", tmp_path / "out")
    stem = "compare-mnist-5k"
    figures = {f"{what}-{of}" for what in ("frontier", "differences") for of in ("cost", "costly")}
    figures |= {"differences"}
    assert names(tmp_path / "out") == (
        {"report.html", "report.json", "rows.csv"}
        | {f"figures/{stem}-{name}.{kind}" for name in figures for kind in ("svg", "png")}
        | {
            f"tables/{stem}-{name}.{kind}"
            for name in ("methods", "equal-accuracy", "settings", "seconds")
            for kind in ("csv", "md")
        }
    )
    page = made.page.read_text()
    for paragraph in finding(compared(tmp_path / "runs")):
        assert f">{prose(paragraph)}</p>" in page
        assert paragraph in made.findings[0]
    assert made.notes == ()
    assert (
        "A mistake in the zone (4 kinds of mistake, drawn again in each repetition) costs 10, any "
        "other 1." in page
    )
    assert "published" not in page.split("<footer>")[1].split("</footer>")[0]
    for name in methods:
        assert f">{name}<" in page
    (made_json,) = json.loads((tmp_path / "out" / "report.json").read_text())["sweeps"]
    assert made_json["finding"] == made.findings[0]
    assert made_json["judged_on_seeds"] == [0, 1, 2]
    assert made_json["reference"] == "ce (least cost, calibrated)"
    assert set(made_json["frontier"]) == {"expected_cost", "zone_errors"}
    on, perhaps = (made_json[name]["zone_errors"] for name in ("frontier", "perhaps_on_frontier"))
    assert on
    assert not set(on) & set(perhaps)
    assert len(made_json["differences_to_ce_cost"]) == 3 * (1 + 2 + 1) + 2 - 1


def test_differences_are_paired_by_repetition(
    tmp_path: Path, fill: Fill, zones: Zones, digits: DatasetInfo
) -> None:
    fill(tmp_path, digits, zones(digits, 4), repetitions=4)
    comparison = compared(tmp_path)
    rows = sorted(comparison.collected.rows, key=lambda row: row.seed)

    def by_seed(measure: str, **wanted: object) -> np.ndarray:
        found = [r for r in rows if all(getattr(r, n) == value for n, value in wanted.items())]
        return np.array([float(getattr(r, measure)) for r in found])

    table = parsed(settings_table(comparison))
    assert len(table) == 3 * (1 + 2 + 2) + 2
    line = next(
        r
        for r in table
        if (r["method"], r["strength"], r["decision"]) == ("soft-labels", "beta 5", "least cost")
    )
    for measure, column, change in (
        ("expected_cost", "expected cost", "difference in cost"),
        ("total_error_pct", "total error (%)", "difference in error (points)"),
        (
            "zone_errors",
            "errors in the zone",
            "difference in zone errors",
        ),
    ):
        ours = by_seed(measure, loss="soft-labels", strength=5.0, decision="least-cost")
        base = by_seed(measure, loss="cross-entropy", decision="least-cost-calibrated")
        assert float(line[column]) == pytest.approx(ours.mean())
        interval = stats.ttest_1samp(ours - base, 0.0).confidence_interval(0.95)
        assert float(line[change]) == pytest.approx((ours - base).mean())
        assert float(line[f"{change} low"]) == pytest.approx(interval.low)
        assert float(line[f"{change} high"]) == pytest.approx(interval.high)
    reference = [r for r in table if r["difference in cost"] == ""]
    assert [(r["method"], r["decision"]) for r in reference] == [("ce", "least cost, calibrated")]
    assert {r["frontier: cost"] for r in table} <= {"on", "perhaps", "off"}
    seconds = {r["method"]: r for r in parsed(seconds_table(comparison))}
    assert {name: int(r["models"]) for name, r in seconds.items()} == {
        "ce": 4,
        "bilinear": 8,
        "soft-labels": 8,
        "sosr": 8,
    }
    assert float(seconds["sosr"]["seconds in all"]) == pytest.approx(8 * 2.4)


def test_one_repetition_establishes_nothing_and_says_so(
    tmp_path: Path, fill: Fill, zones: Zones, digits: DatasetInfo
) -> None:
    fill(tmp_path, digits, zones(digits, 4), methods=("ce", "bilinear"), repetitions=1)
    made = report(tmp_path)
    (finding_text,) = made.findings
    assert finding_text.startswith("One repetition shows nothing for certain: in it bilinear ")
    assert "picked by the validation examples of each repetition" in finding_text
    page = made.page.read_text()
    assert "With one repetition none of this is beyond chance." in page
    assert "One repetition, so no intervals." in page
    assert "±" not in page.split("<footer>")[0]


def test_a_partial_comparison_tells_what_is_there_and_what_is_not(
    tmp_path: Path, fill: Fill, zones: Zones, digits: DatasetInfo
) -> None:
    fill(
        tmp_path,
        digits,
        zones(digits, 4),
        methods=("ce", "bilinear", "hxe", "sosr"),
        repetitions=3,
        skip=lambda c: c.seed == 2 or c.loss == "sosr",
        fail=lambda c: c.seed == 1 and c.loss == "bilinear",
    )
    made = report(tmp_path)
    missing, failed = made.notes
    assert missing.startswith("compare/mnist-5k: 11 of 21 models are not made yet (mnist-5k sosr")
    assert "Continue with: `untrue compare --data mnist-5k --out" in missing
    assert failed.startswith("compare/mnist-5k: 2 of 21 models failed and are left out.")
    assert "Two repetitions have intervals so wide" in made.findings[0]
    assert made.findings[0].endswith(
        "Not judged, because repetitions are missing: bilinear. Not there yet: sosr."
    )
    page = made.page.read_text()
    assert "ArithmeticError: loss became NaN" in page
    assert "Judged are the repetitions 0 and 1, which 9 settings share. 6 settings lack" in page
    table = parsed(settings_table(compared(tmp_path)))
    assert {(r["method"], r["repetitions"]) for r in table} == {
        ("ce", "2"),
        ("hxe", "2"),
        ("bilinear", "1"),
    }


@pytest.mark.parametrize(
    ("methods", "skipped", "finding_text"),
    [
        (("ce", "hxe"), "hxe", "Only the free decision rule is there so far"),
        (("ce", "hxe"), "cross-entropy", "(ce+cost) is not there yet, so nothing can be compared"),
    ],
)
def test_a_method_alone_is_already_a_page(
    methods: tuple[str, ...],
    skipped: str,
    finding_text: str,
    tmp_path: Path,
    fill: Fill,
    zones: Zones,
    digits: DatasetInfo,
) -> None:
    options = {"methods": methods, "skip": lambda c: c.loss == skipped}
    fill(tmp_path, digits, zones(digits, 4), repetitions=2, **options)
    made = report(tmp_path)
    assert finding_text in made.findings[0]
    absent = "ce" if skipped == "cross-entropy" else skipped
    assert made.findings[0].endswith(f"Not there yet: {absent}.")


def test_hostile_names_do_no_harm(tmp_path: Path, fill: Fill, zones: Zones) -> None:
    bad = "<script>alert('x')</script>"
    info = DatasetInfo(f"my {bad[:8]} data", (bad, "$a$", "%{z}"), (), "f", 300, 300)
    fill(tmp_path, info, zones(info, 2), methods=("ce", "hxe"), repetitions=2)
    page = report(tmp_path).page.read_text()
    assert bad not in page
    assert "my <script>" not in page
    assert "my &lt;script&gt; data" in page


def test_what_is_far_off_is_named_instead_of_shrinking_the_picture(
    tmp_path: Path, fill: Fill, zones: Zones, digits: DatasetInfo
) -> None:
    def collapse(result: RunResult) -> RunResult:
        config = result.config
        if (config.loss, config.alpha) != ("bilinear", 0.9):
            return result
        confusion = np.zeros((4, 4), dtype=np.int64)
        confusion[:, 0] = 300
        return dataclasses.replace(result, confusion=confusion, decisions=())

    fill(tmp_path, digits, zones(digits, 4), repetitions=2, change=collapse)
    comparison = compared(tmp_path)
    figure = overview(comparison, "expected_cost")
    assert figure.see.endswith(
        "Far worse and outside the frame: bilinear (alpha 0.9, most probable)."
    )
    shown = [arm for arm in comparison.settings if (arm.loss, arm.alpha) != ("bilinear", 0.9)]
    for axis, measure in ((figure.x, "total_error_pct"), (figure.y, "expected_cost")):
        values = [comparison.value(arm, measure) for arm in shown]
        assert axis.frame is not None
        assert max(values) < axis.frame[1] < max(values) + 0.1 * (max(values) - min(values))


def test_filled_and_hollow_curves_of_a_method_share_colour_and_legend(
    tmp_path: Path, fill: Fill, zones: Zones, digits: DatasetInfo
) -> None:
    fill(tmp_path, digits, zones(digits, 4), methods=EVERY, repetitions=2)
    comparison = compared(tmp_path)
    figure = overview(comparison, "expected_cost")
    looks = {(s.name, s.colour, s.marker) for s in figure.series if s.style}
    assert len(looks) == len({colour for _, colour, _ in looks}) == 9
    assert len({marker for _, _, marker in looks}) == 9
    (drawing,) = plotly_figures.draw(figure)
    bilinear = [trace for trace in drawing["data"] if trace["name"] == "bilinear"]
    assert [trace["marker"]["symbol"] for trace in bilinear] == ["square", "square-open"]
    assert [trace.get("showlegend", True) for trace in bilinear] == [True, False]
    assert {trace["legendgroup"] for trace in bilinear} == {"bilinear"}
    assert [trace["text"] for trace in bilinear] == [["0.5", "0.9"]] * 2
    assert not any("error_x" in trace or "error_y" in trace for trace in bilinear)
    assert all("[" in text for trace in bilinear for text in trace["hovertext"])
    alone = facets(comparison, "expected_cost")
    assert isinstance(alone, Facets)
    assert [panel.title for panel in alone.panels][:2] == [
        "bilinear (numbers: alpha)",
        "log-bilinear (numbers: alpha)",
    ]
    assert len(plotly_figures.draw(alone)) == 9
    assert len({(panel.x, panel.y) for panel in alone.panels}) == 1
    svg, png = matplotlib_figures.save(alone, tmp_path / "alone")
    assert svg.read_text().count("conditional-softmax") == 1
    assert png.stat().st_size > 10_000


def test_untrue_report_ends_with_the_finding_and_the_path(
    tmp_path: Path, fill: Fill, zones: Zones, digits: DatasetInfo
) -> None:
    fill(tmp_path, digits, zones(digits, 4), methods=("ce", "hxe"), repetitions=2)
    command = [sys.executable, "-m", "untrue", "report", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    *_, finding_text, page = done.stdout.splitlines()
    assert page == str(tmp_path / "report.html")
    (made_json,) = json.loads((tmp_path / "report.json").read_text())["sweeps"]
    assert finding_text == made_json["finding"]
    assert "ce+cost" in done.stdout.split(finding_text)[0]
