"""Which recipe is recommended, by the rows of all comparisons."""

from __future__ import annotations

import dataclasses
import math
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks import chosen_strengths, commit_comparison, recipes, shown_comparisons
from benchmarks.pages import NOT_YET, read
from benchmarks.recipe_studies import COMPARED, FREE, Recipe, Study, compared, recommended
from tests.report.compare.conftest import fill_comparison, random_zones
from tests.report.conftest import DIGITS

from untrue.errors import ArgumentError
from untrue.lab.records import RunConfig, Start
from untrue.lab.store import Store
from untrue.losses.registry import CROSS_ENTROPY
from untrue.metrics.intervals import Interval

CALIBRATED = "least-cost-calibrated"
OURS = Recipe("bilinear", "0.6", "posterior")
OTHER = Recipe("log-bilinear", "0.3", "posterior")


def row(seed: int, loss: str, alpha: float, decision: str, cost: float) -> dict[str, str]:
    numbers = {"seed": seed, "alpha": alpha, "expected_cost": cost}
    texts = {"loss": loss, "decision": decision, "strength": ""}
    return texts | {name: str(value) for name, value in numbers.items()}


def study(
    name: str, ours: Interval, *, repetitions: int = 3, best: tuple[Recipe, ...] = (OURS, FREE)
) -> Study:
    nothing = Interval(0.0, 0.0, 0.0, 0.95)
    return Study(name, repetitions, {FREE: nothing, OURS: ours}, frozenset(best))


LESS, TIED, MORE = (Interval(value, value - 1.0, value + 1.0, 0.95) for value in (-4.0, -0.5, 4.0))


def test_costs_are_paired_by_repetition_and_in_percent_of_the_free_rule() -> None:
    free, ours = (1.0, 2.0, 3.0), (0.9, 1.8, 2.7)
    rows = [row(s, "cross-entropy", 0.0, "least-cost-calibrated", c) for s, c in enumerate(free)]
    rows += [row(s, "bilinear", 0.6, "posterior", c) for s, c in enumerate(ours)]
    # What is not calibrated, or lacks a repetition, is no recipe here.
    rows += [row(s, "cross-entropy", 0.0, "least-cost", 0.1) for s in range(3)]
    rows += [row(0, "bilinear", 0.9, "argmax", 0.1)]
    found = compared("some", rows)
    assert found is not None
    assert set(found.changes) == {FREE, OURS}
    change = found.changes[OURS]
    assert change.value == pytest.approx(-10.0)
    # Differences of -0.1, -0.2 and -0.3, whose standard deviation is 0.1; t of two degrees.
    half = 4.302653 * 0.1 / math.sqrt(3) / 2.0 * 100
    assert change.high - change.value == pytest.approx(half, rel=1e-5)
    assert compared("none", rows[3:]) is None
    # Of German credit each repetition draws another test part: sqrt(1 / 3 + 1 / 4).
    wider = compared("german", rows)
    assert wider is not None
    assert wider.changes[OURS].high - change.value == pytest.approx(
        half * math.sqrt(1.75), rel=1e-5
    )


def test_who_is_beaten_beyond_an_interval_is_not_best_or_tied() -> None:
    rows = []
    for seed, shift in enumerate((0.0, 0.01, 0.02)):
        rows.append(row(seed, "cross-entropy", 0.0, "least-cost-calibrated", 1.0))
        rows.append(row(seed, "cross-entropy", 0.0, "argmax", 1.5 + shift))
        rows.append(row(seed, "bilinear", 0.6, "posterior", 0.99 + 2 * shift))
    found = compared("some", rows)
    assert found is not None
    assert found.best == {FREE, OURS}


def test_a_recipe_is_recommended_that_gains_twice_and_never_loses() -> None:
    assert recommended([study("a", LESS), study("b", LESS)]) is None
    assert recommended([study(name, LESS) for name in "abc"]) == OURS
    assert recommended([study("a", LESS), study("b", LESS), study("c", TIED)]) == OURS
    assert recommended([study("a", LESS), study("b", LESS), study("c", MORE)]) == FREE
    assert recommended([study("a", LESS), study("b", TIED), study("c", TIED)]) == FREE
    worse = [study("a", LESS), *(study(name, LESS, best=(OTHER,)) for name in "bc")]
    assert recommended(worse) == FREE
    # Not tried on most, or on fewer than three: nothing to go by.
    without = Study("d", 3, {FREE: TIED}, frozenset({FREE}))
    assert recommended([*(study(name, LESS) for name in "abc"), without]) == OURS
    assert recommended([*(study(name, LESS) for name in "abc"), without, without, without]) == FREE
    assert recommended([study("a", LESS), study("b", LESS), without]) == FREE
    # Two repetitions say nothing for or against it.
    few = study("d", MORE, repetitions=2)
    assert recommended([*(study(name, LESS) for name in "abc"), few]) == OURS


def test_of_several_the_cheapest_in_the_mean_is_recommended() -> None:
    found = []
    for name in "abc":
        base = study(name, LESS, best=(OURS, OTHER))
        other = Interval(-6.0, -7.0, -5.0, 0.95)
        found.append(Study(name, 3, {**base.changes, OTHER: other}, base.best))
    assert recommended(found) == OTHER


def test_the_page_says_what_is_recommended_and_where_the_free_rule_is_beaten() -> None:
    won = recipes.text([study(name, LESS) for name in "abc"])
    assert "**Recommended: bilinear 0.6, posterior.**" in won
    assert "| bilinear 0.6, posterior | **-4.0 ± 1.0** | **-4.0 ± 1.0** | **-4.0 ± 1.0** " in won
    assert "| 3, 0, 0 | 3 of 3 |" in won
    lost = recipes.verdict([study("a", LESS), study("b", TIED), study("c", MORE)])
    assert "The free rule stays the first choice" in lost
    assert "on a (1, the least bilinear 0.6, posterior, -4.0 ± 1.0 %); none on b and c." in lost
    assert "No recipe is recommended yet" in recipes.verdict([study("a", LESS)])


def test_the_page_leaves_out_what_costs_more_somewhere_and_the_full_table_has_it() -> None:
    found = [study("a", LESS), study("b", LESS), study("c", MORE)]
    page, whole = recipes.text(found), recipes.table(found, recipes.common(found))
    assert "| bilinear 0.6, posterior |" not in page
    assert "left out are those that cost more somewhere, 1 (" in page
    assert "| bilinear 0.6, posterior | **-4.0 ± 1.0** |" in whole
    assert "| **ce, least cost** |" in page
    assert recipes.table(recipes.studies(), recipes.common(recipes.studies())) in (
        recipes.ALL.path.read_text()
    )


def test_methods_of_the_studies_are_read_as_they_are_named() -> None:
    from benchmarks.example_costs import METHODS as BY_EXAMPLE
    from benchmarks.german import METHODS, TWINS

    decisions = {"argmax": "most probable"}
    for method in (*METHODS, *BY_EXAMPLE):
        name = method.name.replace(", by class", "").replace(" by class", "")
        if "by row" in name:
            continue
        learner, (loss, decision) = chosen_strengths._method(name)
        assert learner == ("LightGBM" if "LightGBM" in method.name else "linear")
        weighted = method.training.loss == "weighted"
        assert loss == ("examples weighted by cost" if weighted else method.training.loss)
        assert decision == decisions.get(method.decision, method.decision)
    assert all(twin.split(",")[0] in ("LightGBM", "logistic regression") for twin in TWINS.values())
    assert "LightGBM, least cost" not in TWINS


def test_seeds_that_are_not_paired_have_the_interval_of_two_means() -> None:
    def of(cost: float, spread: float) -> dict[str, str]:
        return {"test_cost": str(cost), "test_cost_sd": str(spread), "seeds": "4"}

    change = chosen_strengths._unpaired(of(0.55, 0.03), of(0.5, 0.04))
    assert change.value == pytest.approx(10.0)
    # The third quantile of Student's t, times the spread of a difference of two means of four.
    assert change.high - 10.0 == pytest.approx(100 * 3.182446 * 0.05 / 2 / 0.5, rel=1e-5)


def filled(place: Path, *methods: str, skip: Callable[[RunConfig], bool] = lambda _: False) -> Path:
    fill_comparison(place, DIGITS, random_zones(DIGITS, 4), methods=("ce", *methods), skip=skip)
    return place


def test_a_comparison_is_put_into_the_documentation_whole(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "digits").mkdir(parents=True)
    (docs / "digits" / "old.md").write_text("old")
    place = commit_comparison.put(filled(tmp_path / "runs", "bilinear"), "digits", docs)
    names = {file.name for file in place.iterdir()}
    stem = f"compare-{DIGITS.name}"
    assert {"finding.md", "rows.csv", "runs.sqlite", f"{stem}-methods.md"} <= names
    assert f"{stem}-frontier-cost.png" in names
    assert "old.md" not in names
    assert not [name for name in names if name.endswith(".svg")]
    assert [file.name for file in docs.iterdir()] == ["digits"]
    text = shown_comparisons.shown("digits", docs)
    assert f"untrue compare --data {DIGITS.name} --out DIR\n" in text
    assert "the free decision rule, which costs" in text
    assert "| method | expected cost | difference in cost | total error (%) |" in text
    assert "| method | 0 points | 0.5 points | 1 point |" in text
    assert shown_comparisons.shown("kdd99", docs) == NOT_YET


def test_a_page_shows_the_tables_of_a_comparison_in_short() -> None:
    head = ["method", "expected cost", "difference in cost", "difference in error", "setting"]
    rows = [["ce", "3", "+1", "-2", "most probable"], ["sosr", "1", "-1", "-3", "scale 3"]]
    assert shown_comparisons.at_their_best([head, *rows]) == [
        ["method", "expected cost", "difference in cost"],
        ["ce, most probable", "3", "+1"],
        ["sosr", "1", "-1"],
    ]
    head = ["may lose (points)", "method", "expected cost", "difference in cost", "setting"]
    free = [[f"**{points}**", "**ce, free rule**", "**3**", "**-**", ""] for points in "01"]
    ours = [[points, "sosr", "1", f"-{points}", ""] for points in "01"]
    assert shown_comparisons.at_equal_accuracy([head, free[0], ours[0], free[1], ours[1]]) == [
        ["method", "0 points", "1 point"],
        ["**ce, free rule**", "**3**", "**3**"],
        ["sosr", "-0", "-1"],
    ]


def test_all_comparisons_of_the_page_are_in_its_first_table() -> None:
    head, _, *lines = shown_comparisons.in_short().splitlines()
    assert head.startswith("| data | ce | ce+cost | bilinear | log-bilinear |")
    assert [line.split("|")[1].strip() for line in lines] == list(shown_comparisons.SHOWN.values())
    for name, line in zip(shown_comparisons.SHOWN, lines, strict=True):
        rows = [r for r in read(COMPARED / name / "rows.csv") if r["loss"] == CROSS_ENTROPY]
        for at, decision in ((2, "argmax"), (3, CALIBRATED)):
            costs = [
                float(r["expected_cost"])
                for r in rows
                if r["decision"] == decision and r["cost_share"] in ("", "1.0")
            ]
            shown = line.split("|")[at].split()[0]
            digits = len(shown.split(".")[1])
            mean = sum(costs) / len(costs)
            assert float(shown) == pytest.approx(mean, abs=0.51 * 10**-digits), (name, decision)


def test_long_commands_of_the_page_are_continued_as_a_shell_reads_them() -> None:
    command = "untrue compare " + " ".join(f"--strength method-{i}=0.5" for i in range(9))
    block = shown_comparisons.wrapped(f"```sh\n{command}\n```")
    assert max(map(len, block.splitlines())) <= shown_comparisons.WIDTH + 2
    body = block.removeprefix("```sh\n").removesuffix("\n```")
    assert shlex.split(body.replace("\\\n", "")) == command.split()


def test_a_published_comparison_grows_to_what_one_store_would_give(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    place = commit_comparison.put(filled(tmp_path / "first", "bilinear"), "digits", docs)
    more = filled(
        tmp_path / "more", "bilinear", "soft-labels", skip=lambda config: config.loss == "bilinear"
    )
    with pytest.raises(ArgumentError, match="9 of 15 models are there"):
        commit_comparison.put(more, "digits", docs)
    commit_comparison.put(more, "digits", docs, add=True)
    whole = filled(tmp_path / "more whole" / "more", "bilinear", "soft-labels")
    expected = commit_comparison.put(whole, "expected", docs)
    for file in expected.glob("*.[cm]*"):
        assert (place / file.name).read_text() == file.read_text(), file.name


def test_a_comparison_that_is_not_whole_is_not_put_anywhere(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    runs = filled(tmp_path / "runs", "bilinear", skip=lambda config: config.seed == 2)
    with pytest.raises(ArgumentError, match="small letters, digits and dashes"):
        commit_comparison.put(runs, "../digits", docs)
    with pytest.raises(ArgumentError, match="6 of 9 models are there"):
        commit_comparison.put(runs, "digits", docs)
    assert not docs.exists()


def test_networks_that_others_continue_from_are_no_models_of_the_page(tmp_path: Path) -> None:
    with Store.read(filled(tmp_path / "whole", "bilinear")) as store:
        (sweep,), (info,), runs = store.sweeps(), store.datasets(), tuple(store.results())
    starts = {run.config.seed: run for run in runs if run.config.is_baseline}
    continued = [
        dataclasses.replace(
            run,
            config=dataclasses.replace(
                run.config, start=Start(starts[run.config.seed].run_id, epochs=3)
            ),
        )
        for run in runs
    ]
    every = (*starts.values(), *continued)
    plan = tuple(run.config for run in every)
    with Store.write(tmp_path / "runs") as store:
        store.add_dataset(info)
        store.add_sweep(dataclasses.replace(sweep, expected=len(plan), configs=plan))
        for run in every:
            store.add(run)
    place = commit_comparison.put(tmp_path / "runs", "digits", tmp_path / "docs")
    assert {row["run_id"] for row in read(place / "rows.csv")} == {r.run_id for r in continued}


def test_committed_tables_are_of_the_rows_beside_them() -> None:
    found = {path.parent: read(path) for path in COMPARED.glob("*/rows.csv")}
    assert found
    for place, rows in found.items():
        free = [r for r in rows if (r["loss"], r["decision"]) == (CROSS_ENTROPY, CALIBRATED)]
        mean = sum(float(r["expected_cost"]) for r in free) / len(free)
        (table,) = place.glob("*-settings.md")
        (line,) = [line for line in table.read_text().splitlines() if "| **ce** |" in line]
        shown = line.split("|")[4].strip(" *").split(" ")[0]
        digits = len(shown.split(".")[1])
        assert float(shown) == pytest.approx(mean, abs=0.51 * 10**-digits), place.name
