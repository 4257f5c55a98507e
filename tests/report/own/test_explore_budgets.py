"""Budgets in the page of `untrue explore`, in a real browser, held to what Python computes."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest
from benchmarks.browser import MISSING, Browser
from tests.report.own.conftest import (
    CLASSES,
    decided,
    edit,
    matrix,
    opened,
    saved,
    settled,
    text,
    write,
)

import untrue
from untrue import Budget, Penalty
from untrue.cli import exit_code
from untrue.metrics import confusion_matrix
from untrue.tools.exploring.explore import Exploration, explore
from untrue.tools.exploring.quantised import restored

pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))


@pytest.mark.parametrize(
    "budget",
    [
        "tumour->benign <= 4%",
        "ill -> well <= 6 %",
        "benign<-*<=15%",
        "*->cyst <= 9 errors",
        "across groups ≤ 24%",
    ],
)
def test_a_budget_is_kept_by_the_smallest_multiplier(
    budget: str, browser: Browser, tmp_path: Path
) -> None:
    (tmp_path / "tree.json").write_text(
        '{"well": ["healthy", "benign"], "ill": ["tumour", "cyst"]}'
    )
    found = explore(write(tmp_path / "p.csv", CLASSES), hierarchy=tmp_path / "tree.json")
    tree = untrue.Hierarchy.from_json(tmp_path / "tree.json", classes=CLASSES)
    first = Penalty.from_rules(CLASSES, {})
    resolved = Budget.parse(budget).resolve(first, groups=tree)
    opened(browser, tmp_path, found)
    browser.run("document.getElementById('budget').value = arguments[0]", budget)
    browser.click("#budget-form button")
    costs = saved(browser)
    changed = costs.matrix() != first.matrix()
    assert np.array_equal(changed, resolved.mask())
    factor = np.unique(costs.matrix()[changed]).item()

    def kept(multiplier: float) -> bool:
        matrix = np.where(changed, multiplier, first.matrix())
        answers = untrue.decide(restored(found.codes), Penalty.from_matrix(matrix, CLASSES))
        return resolved.kept(confusion_matrix(found.true, answers, 4), None)

    assert not kept(1.0)
    assert kept(factor)
    assert not kept(factor * 0.98)
    assert "This is an estimate" in text(browser, "budget-message")
    assert text(browser, "proof").startswith(f"untrue control p.csv --budget '{budget}'")
    assert text(browser, "budgets").startswith(f"✓ {budget}: now ")
    assert matrix(browser) == decided(found, costs)


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ("tumor->benign <= 1%", "there is no class tumor"),
        ("tumour->benign", "expected <= and a limit, as in <= 1%"),
        ("tumour->benign <= 1", "the limit must be a share or a count: 1% or 20 errors"),
        ("tumour->tumour <= 1%", "that is no mistake: both sides are the same class"),
        ("", "write a budget first, for example in the form below"),
    ],
)
def test_what_is_no_budget_is_answered_and_changes_nothing(
    budget: str, message: str, browser: Browser, found: Exploration, tmp_path: Path
) -> None:
    opened(browser, tmp_path, found)
    browser.run("document.getElementById('budget').value = arguments[0]", budget)
    browser.click("#budget-form button")
    assert text(browser, "budget-message") == f"That is not a budget: {message}."
    assert matrix(browser) == decided(found, Penalty.from_rules(CLASSES, {}))


def test_the_command_that_proves_a_budget_runs(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "p.csv", CLASSES, n=2000)
    opened(browser, tmp_path, explore(Path("p.csv")))
    browser.run("document.getElementById('budget').value = '*->cyst <= 20%'")
    browser.click("#budget-form button")
    saved(browser).save("costs.toml")
    words = shlex.split(text(browser, "proof"))
    assert words[:3] == ["untrue", "control", "p.csv"]
    assert exit_code(words[1:]) == 0
    assert Path("rule.json").exists()
    audit = [line for line in text(browser, "commands").splitlines() if "untrue audit" in line]
    assert exit_code(shlex.split(audit[0])[1:]) == 0


def test_a_zone_goes_when_its_costs_do(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("truth,prob_a,prob_b\n" + "a,.7,.3\n" * 5 + "b,.4,.6\n" * 5)
    opened(browser, tmp_path, explore(path))
    browser.run("document.getElementById('budget').value = 'zone <= 1%'")
    browser.click("#budget-form button")
    settled(browser)
    assert text(browser, "budgets").startswith("✓ zone <= 1%")
    edit(browser, 0, 1, 0.0)
    edit(browser, 1, 0, 0.0)
    settled(browser)
    assert text(browser, "budgets") == "zone <= 1%: covers no mistake now"
    assert text(browser, "cost") == "0"


def test_a_budget_that_no_cost_keeps_leaves_the_costs_alone(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "p.csv"
    path.write_text("truth,prob_a,prob_b\n" + "a,0,1\n" * 5 + "b,0.4,0.6\n" * 5)
    found = explore(path)
    opened(browser, tmp_path, found)
    browser.run("document.getElementById('budget').value = 'a->b <= 1%'")
    browser.click("#budget-form button")
    settled(browser)
    assert text(browser, "budget-message").startswith("No cost keeps a->b <= 1% on these examples")
    assert np.array_equal(saved(browser).matrix(), [[0, 1], [1, 0]])
