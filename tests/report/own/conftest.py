"""The page of `untrue explore` in a real browser: what tests do with it."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.browser import Browser

import untrue
from untrue import Penalty
from untrue.report.own.explore.page import explore_page
from untrue.tools.exploring.explore import Exploration, explore
from untrue.tools.exploring.quantised import restored

CLASSES = ["healthy", "benign", "tumour", "cyst"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as opened:
        yield opened


def write(path: Path, classes: list[str], *, n: int = 400, seed: int = 0) -> Path:
    """Predictions of a model that is right more often than not, and rows that tie."""
    rng = np.random.default_rng(seed)
    k = len(classes)
    true = rng.choice(k, n, p=np.linspace(1, 2, k) / np.linspace(1, 2, k).sum())
    logits = rng.normal(size=(n, k))
    logits[np.arange(n), true] += 1.5
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    probs[:20] = np.eye(k)[0] / 2 + np.eye(k)[1] / 2
    probs[20:40] = 1 / k
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "truth", *(f"prob_{name}" for name in classes)])
        for row in range(n):
            writer.writerow([f"case {row}", classes[true[row]], *probs[row].tolist()])
    return path


def opened(browser: Browser, folder: Path, found: Exploration) -> None:
    page = folder / "page.html"
    page.write_text(explore_page(found, {}), encoding="utf-8")
    for old in browser.downloads.iterdir():
        old.unlink()
    browser.open(page)
    settled(browser)
    browser.run("document.getElementById('as-table').open = true")


def settled(browser: Browser) -> None:
    """Wait until the page has computed all that it shows."""
    deadline = time.monotonic() + 30
    while browser.run("return document.querySelector('main').getAttribute('aria-busy')") != "false":
        assert time.monotonic() < deadline
        time.sleep(0.02)


def matrix(browser: Browser) -> list[list[int]]:
    """The table of the page, the column of no answer included where it has one."""
    settled(browser)
    rows: list[list[int]] = browser.run(
        "return [...document.querySelectorAll('#as-table tr')].slice(1)"
        ".map(row => [...row.cells].slice(1).map(cell => Number(cell.textContent)))"
    )
    return rows


def text(browser: Browser, name: str) -> str:
    found: str = browser.run(f"return document.getElementById('{name}').textContent")
    return found


def put(browser: Browser, name: str, value: Any, event: str = "input") -> None:
    browser.run(
        "const [name, value, event] = arguments; const place = document.getElementById(name);"
        "if (place.type === 'checkbox') place.checked = value; else place.value = value;"
        "place.dispatchEvent(new Event(event, {bubbles: true}));",
        *(name, value, event),
    )


def edit(browser: Browser, true: int, answer: int, cost: float, scope: str = "cell") -> None:
    browser.run(
        "const place = document.querySelector(`input[value=${arguments[0]}]`);"
        "place.checked = true; place.dispatchEvent(new Event('change', {bubbles: true}));",
        scope,
    )
    put(browser, "true-class", true, "change")
    put(browser, "answer-class", answer, "change")
    put(browser, "value", cost)


def saved(browser: Browser) -> Penalty:
    """The costs that the page saves, read from the file."""
    path = browser.downloads / "costs.toml"
    path.unlink(missing_ok=True)
    settled(browser)
    browser.click("#save")
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return Penalty.load(path)


def decided(found: Exploration, costs: Penalty, price: float | None = None) -> list[list[int]]:
    """What `untrue.decide` answers on the page's probabilities, as the page shows it."""
    k = len(found.classes)
    answers = untrue.decide(restored(found.codes), costs, price)
    counts = np.zeros((k, k + 1), dtype=int)
    np.add.at(counts, (found.true, np.where(answers < 0, k, answers)), 1)
    shown: list[list[int]] = counts[:, : k if price is None else k + 1].tolist()
    return shown


@pytest.fixture
def found(tmp_path: Path) -> Exploration:
    return explore(write(tmp_path / "p.csv", CLASSES))
