"""How quickly the page of `untrue explore` answers a drag, measured inside Chromium.

    python -m benchmarks.explore
    python -m benchmarks.explore --picture docs/explore.png

A page of 20,000 examples is made from scores drawn at random, for 10 and for 100 classes. Each step
of a drag moves a slider of the page as a person would; the milliseconds are those from that event
until the frame with the new matrices has been drawn, and of these the processor's, which do not
depend on what else the machine does. Writes benchmarks/results/explore.csv.
With --picture, a screenshot of the page of real digits is made instead.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import record
from benchmarks.browser import MISSING, Browser
from untrue.report.own.explore.page import explore_page
from untrue.tools.exploring.explore import MOST_EXAMPLES, Exploration, Group, explore
from untrue.tools.exploring.quantised import quantised

LIMITS = {10: 50.0, 100: 200.0}
GROUP = 5
SCOPES = ("cell", "row", "column", "group")
# Steps of a slider, one after the other; each ends when its frame has been drawn.
DRAG = """
const [id, scope, steps] = arguments;
if (scope) {
  const choice = document.querySelector(`input[value=${scope}]`);
  choice.checked = true;
  choice.dispatchEvent(new Event("change", {bubbles: true}));
}
const slider = document.getElementById(id);
const drawn = () => new Promise((done) => requestAnimationFrame(() => {
  const channel = new MessageChannel();
  channel.port1.onmessage = done;
  channel.port2.postMessage(0);
}));
const times = [];
return (async () => {
  await drawn();
  for (let step = 0; step < steps; step++) {
    slider.value = Number(slider.min)
      + ((step + 1) / (steps + 1)) * (Number(slider.max) - Number(slider.min));
    const start = performance.now();
    slider.dispatchEvent(new Event("input", {bubbles: true}));
    await drawn();
    times.push(performance.now() - start);
  }
  return times;
})();
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--picture", type=Path, help="Only make a picture, at this path.")
    parser.add_argument("--steps", type=int, default=40, help="Of each drag.")
    parser.add_argument("--examples", type=int, default=MOST_EXAMPLES)
    given = parser.parse_args()
    if MISSING is not None:
        raise SystemExit(MISSING)
    with tempfile.TemporaryDirectory() as folder:
        if given.picture is not None:
            print(picture(Path(folder), given.picture))
            return
        rows = measured(Path(folder), given.examples, given.steps)
    print(record.write("explore", rows))


def measured(folder: Path, examples: int, steps: int) -> list[dict[str, object]]:
    """A row for each number of classes and each kind of drag."""
    rows: list[dict[str, object]] = []
    for n_classes, limit in LIMITS.items():
        page = folder / f"{n_classes}.html"
        page.write_text(explore_page(made_up(n_classes, examples), {}), encoding="utf-8")
        with Browser() as browser:
            browser.open(page)
            kinds = [("value-range", scope) for scope in SCOPES] + [("weight", "")]
            for slider, scope in kinds:
                load = os.getloadavg()[0]
                before = processor_ms(browser)
                times = np.array(browser.run(DRAG, slider, scope, steps))
                spent = processor_ms(browser) - before
                row = {
                    "classes": n_classes,
                    "examples": examples,
                    "drag": scope or slider,
                    "median_ms": round(float(np.median(times)), 1),
                    "p95_ms": round(float(np.quantile(times, 0.95)), 1),
                    "worst_ms": round(float(times.max()), 1),
                    "processor_ms": round(spent / steps, 1),
                    "limit_ms": limit,
                    "steps": steps,
                    "megabytes": round(page.stat().st_size / 1e6, 2),
                    "load": round(load, 1),
                }
                print(row)
                rows.append(row)
    return rows


def processor_ms(browser: Browser) -> float:
    """What the page's thread has computed so far: unlike the clock, other programs do not add to
    it."""
    browser.command("Performance.enable", {"timeDomain": "threadTicks"})
    found = browser.command("Performance.getMetrics", {})["metrics"]
    return 1000 * next(float(m["value"]) for m in found if m["name"] == "TaskDuration")


def made_up(n_classes: int, n: int) -> Exploration:
    """Examples of a model that is right nine times in ten and unsure of everything."""
    rng = np.random.default_rng(0)
    true = np.sort(rng.integers(0, n_classes, n))
    logits = rng.normal(size=(n, n_classes))
    logits[np.arange(n), true] += 4.0
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    costs = 1.0 - np.eye(n_classes)
    return Exploration(
        source="made-up.csv",
        truth="truth",
        columns=tuple(f"prob_{i}" for i in range(n_classes)),
        classes=tuple(f"class {i}" for i in range(n_classes)),
        rows=np.arange(n),
        names=None,
        true=true,
        codes=quantised(probs),
        counts=np.bincount(true, minlength=n_classes).astype(np.int64),
        costs=costs,
        groups=tuple(
            Group(f"group {i}", tuple(range(GROUP * i, GROUP * i + GROUP)))
            for i in range(n_classes // GROUP)
        ),
        altered=0,
        seed=0,
        notes=(),
    )


def picture(folder: Path, path: Path) -> Path:
    """The page of docs/explore.md: digits, with one mistake made costly."""
    page = folder / "digits.html"
    digits(folder / "digits.csv")
    with contextlib.chdir(folder):
        page.write_text(explore_page(explore(Path("digits.csv")), {}), encoding="utf-8")
    with Browser(width=1200, height=1000) as browser:
        browser.open(page)
        browser.run(
            "document.getElementById('budget').value = '*->8 <= 1%';"
            "document.querySelector('#budget-form button').click();"
            "return new Promise((done) => setTimeout(done, 1500));"
        )
        browser.run("scrollTo(0, 0)")
        return browser.picture(path)


def digits(path: Path) -> None:
    """Probabilities of a small model on real digits that it has not seen."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression

    images, target = load_digits(return_X_y=True)
    model = LogisticRegression(max_iter=2000).fit(images[:150], target[:150])
    probs = model.predict_proba(images[150:])
    header = ",".join(["truth", *(f"prob_{i}" for i in range(10))])
    rows = np.column_stack([target[150:], probs])
    np.savetxt(path, rows, delimiter=",", header=header, comments="", fmt=["%d"] + ["%.9g"] * 10)


if __name__ == "__main__":
    main()
