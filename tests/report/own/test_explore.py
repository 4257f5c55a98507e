"""The page of `untrue explore` in a real browser, held to what Python computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.browser import KEYS, MISSING, Browser
from tests.report.own.conftest import (
    CLASSES,
    decided,
    edit,
    matrix,
    opened,
    put,
    saved,
    text,
    write,
)

import untrue
from untrue import Budget, Penalty
from untrue.metrics import expected_cost
from untrue.penalty.zone import in_zone
from untrue.tools.exploring.explore import Exploration, explore
from untrue.tools.exploring.quantised import restored

pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))

NASTY = [
    "<img src=x onerror=window.hurt=1>",
    "</script><script>window.hurt=1</script>",
    "a->b, 'c' <= \\ & é",
    "two\nlines\tand\x7f",
]


def test_a_cost_typed_into_a_cell_changes_the_answers(
    browser: Browser, found: Exploration, tmp_path: Path
) -> None:
    opened(browser, tmp_path, found)
    first = Penalty.from_rules(list(CLASSES), {})
    assert matrix(browser) == decided(found, first)
    browser.run("document.getElementById('costs').focus()")
    put(browser, "true-class", 2, "change")
    put(browser, "answer-class", 0, "change")
    browser.type(KEYS["right"] + "20" + KEYS["enter"])
    label = browser.run("return document.activeElement.getAttribute('aria-label')")
    assert label == "Costs. True tumour, answered benign: costs 20."
    costs = saved(browser)
    rules = {("tumour", "benign"): 20.0}
    assert np.array_equal(costs.matrix(), Penalty.from_rules(CLASSES, rules).matrix())
    shown = matrix(browser)
    assert shown == decided(found, costs) != decided(found, first)
    counts = np.array(shown)
    assert text(browser, "accuracy") == f"{100 * np.trace(counts) / counts.sum():.2f} %"
    assert float(text(browser, "cost")) == pytest.approx(expected_cost(counts, costs), rel=5e-3)
    zone = in_zone(costs, *np.indices(counts.shape))
    assert text(browser, "costly") == str(counts[zone].sum())
    before = np.array(decided(found, first))[2, 1]
    browser.run("document.getElementById('confusion').focus()")
    label = browser.run("return document.activeElement.getAttribute('aria-label')")
    assert label.endswith(f", {before - counts[2, 1]} fewer than at the start.")


def test_every_kind_of_edit_decides_as_python_does(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "tree.json").write_text(
        '{"well": ["healthy", "benign"], "ill": ["tumour", "cyst"]}'
    )
    found = explore(write(tmp_path / "p.csv", CLASSES), hierarchy=tmp_path / "tree.json")
    opened(browser, tmp_path, found)
    wanted = np.ones((4, 4))
    steps = [
        ("row", 2, 0, 7.0, np.s_[2, :]),
        ("column", 0, 3, 0.25, np.s_[:, 3]),
        ("group", 2, 1, 3.0, np.s_[2:4, 0:2]),
        ("cell", 0, 1, 0.0, np.s_[0, 1]),
        ("group", 0, 1, 0.7, np.s_[0:2, 0:2]),
        ("row", 1, 2, 0.0, np.s_[1, :]),
    ]
    for scope, true, answer, cost, cells in steps:
        edit(browser, true, answer, cost, scope)
        wanted[cells] = cost
        np.fill_diagonal(wanted, 0)
        costs = saved(browser)
        assert np.array_equal(costs.matrix(), wanted)
        assert matrix(browser) == decided(found, costs), scope
    put(browser, "weight", 35)
    costs = saved(browser)
    off = ~np.eye(4, dtype=bool)
    assert costs.matrix()[off] == pytest.approx((0.35 * wanted + 0.65)[off])
    assert matrix(browser) == decided(found, costs)
    browser.click("#reset")
    assert matrix(browser) == decided(found, Penalty.from_rules(CLASSES, {}))


@pytest.mark.parametrize("price", [0.0, 0.25, 0.5, 0.75])
def test_no_answer_at_its_price(
    price: float, browser: Browser, found: Exploration, tmp_path: Path
) -> None:
    opened(browser, tmp_path, found)
    edit(browser, 2, 1, 4.0)
    put(browser, "price", price)
    put(browser, "abstain", True, "change")
    expected = decided(found, saved(browser), price)
    assert matrix(browser) == expected
    share = 100 * sum(row[-1] for row in expected) / len(found.true)
    assert text(browser, "abstained") == f"{share:.1f} %"
    assert f"abstain_cost={price:g}" in text(browser, "commands")


def test_the_mouse_drags_a_cost_and_a_cell_lists_its_examples(
    browser: Browser, found: Exploration, tmp_path: Path
) -> None:
    opened(browser, tmp_path, found)
    place = browser.run(
        "document.getElementById('costs').scrollIntoView({block: 'center'});"
        "const box = document.querySelector('#costs canvas').getBoundingClientRect();"
        "return [Math.round(box.right - 12), Math.round(box.top + 40)]"
    )
    move = {"type": "pointerMove", "duration": 50, "origin": "viewport"}
    browser.mouse(
        {**move, "x": place[0], "y": place[1]},
        {"type": "pointerDown", "button": 0},
        {**move, "x": place[0], "y": place[1] - 100},
        {"type": "pointerUp", "button": 0},
    )
    costs = saved(browser)
    assert costs.cost("healthy", "cyst") == pytest.approx(np.exp(2.0), rel=0.01)
    assert matrix(browser) == decided(found, costs)
    place = browser.run(
        "document.getElementById('confusion').scrollIntoView({block: 'center'});"
        "const box = document.querySelector('#confusion canvas').getBoundingClientRect();"
        "return [Math.round(box.right - 100), Math.round(box.top + 40)]"
    )
    browser.mouse({**move, "x": place[0], "y": place[1]})
    answers = untrue.decide(restored(found.codes), costs)
    rows = np.flatnonzero((found.true == 0) & (answers == 2))
    sure = restored(found.codes)[rows, 2]
    best = rows[np.lexsort((rows, -sure))[:10]]
    listed = text(browser, "examples")
    assert listed.startswith(f"True healthy, answered tumour: {len(rows)}. The most confident:")
    assert found.names is not None
    names = [f"{found.names[row]} (" for row in best]
    assert [name for name in names if name in listed] == names
    assert [listed.index(name) for name in names] == sorted(listed.index(name) for name in names)


def test_class_names_are_inert(browser: Browser, tmp_path: Path) -> None:
    found = explore(write(tmp_path / "p.csv", NASTY))
    assert found.classes == tuple(NASTY)
    opened(browser, tmp_path, found)
    edit(browser, 2, 1, 5.0, "row")
    costs = saved(browser)
    assert costs.classes == tuple(NASTY)
    assert matrix(browser) == decided(found, costs)
    assert browser.run(
        "return [window.hurt || 0, document.querySelectorAll('main img').length]"
    ) == [*(0, 0)]
    assert browser.run("return document.querySelector('#true-class').options[3].text.length") > 5
    example = text(browser, "budget-example")
    resolved = Budget.parse(example).resolve(costs)
    assert resolved.mask().sum() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_the_whole_page(
    scheme: str, browser: Browser, found: Exploration, tmp_path: Path
) -> None:
    browser.size(390, 844)
    browser.scheme(scheme)
    try:
        opened(browser, tmp_path, found)
        browser.run("document.getElementById('as-table').open = false")
        seen = browser.run(
            "return [innerWidth, document.documentElement.scrollWidth,"
            " getComputedStyle(document.body).backgroundColor,"
            " [...document.querySelector('#costs canvas').getContext('2d')"
            ".getImageData(1, 1, 1, 1).data],"
            " document.querySelectorAll('#frontier .dot').length]"
        )
    finally:
        browser.size(1280, 900)
        browser.scheme("light")
    paper = [22, 24, 29] if scheme == "dark" else [255, 255, 255]
    assert seen == [390, 390, f"rgb({', '.join(map(str, paper))})", [*paper, 255], 21]


def test_the_keyboard_alone_gets_from_the_first_cost_to_the_file(
    browser: Browser, found: Exploration, tmp_path: Path
) -> None:
    opened(browser, tmp_path, found)

    def go(name: str) -> None:
        for _ in range(40):
            browser.type(KEYS["tab"])
            if browser.run("return document.activeElement.id") == name:
                return
        raise AssertionError(f"no way to {name}")

    browser.run("document.body.focus()")
    go("costs")
    browser.type(
        KEYS["up"] * 3
        + KEYS["home"]
        + KEYS["right"] * 2
        + "++"
        + KEYS["right"]
        + "3"
        + KEYS["enter"]
    )
    go("weight")
    browser.type(KEYS["left"] * 10)
    go("abstain")
    browser.type(" ")
    go("price")
    go("save")
    browser.type(KEYS["enter"])
    costs = saved(browser)
    assert matrix(browser) == decided(found, costs, 0.3)
    assert np.unique(costs.matrix()).tolist() == pytest.approx([0, 1, 0.9 * 1.56 + 0.1, 2.8])


def test_a_large_file_is_drawn_by_class_and_counts_are_of_the_file(
    browser: Browser, tmp_path: Path
) -> None:
    found = explore(write(tmp_path / "p.csv", CLASSES, n=2000), examples=200)
    assert len(found.true) == 200
    opened(browser, tmp_path, found)
    drawn = np.array(decided(found, Penalty.from_rules(CLASSES, {})))
    assert matrix(browser) == np.rint(drawn * found.weights[:, None]).astype(int).tolist()
    right = (np.diag(drawn) * found.weights).sum() / 2000
    assert text(browser, "accuracy") == f"{100 * right:.2f} %"
    assert "holds 200 of 2,000 examples" in browser.run("return document.body.textContent")


def test_it_starts_on_the_costliest_mistake_and_saves_the_cheapest_cost_as_default(
    browser: Browser, tmp_path: Path
) -> None:
    classes = ["benign", "malignant"]
    costs = Penalty.from_rules(classes, {("malignant", "benign"): 20.0})
    opened(browser, tmp_path, explore(write(tmp_path / "p.csv", classes), penalty=costs))
    chosen = "return ['true-class', 'answer-class'].map(id => document.getElementById(id).value)"
    assert browser.run(chosen) == ["1", "0"]
    assert text(browser, "budget-example").startswith("malignant->benign <= ")
    assert "default = 1\n" in browser.run("return document.getElementById('toml').value")
