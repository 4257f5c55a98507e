"""The tables of docs/benchmarks.md, made from benchmarks/results.

`python -m benchmarks.cost_tables` writes them into the page, between the marks that name a file of
results; the benchmarks do so themselves when they end. A test holds page and results together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.tables import Row, results

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
# Elkan, SIGKDD Explorations 1, 2000.
KDD_PUBLISHED = {
    "winner (published)": 0.2331,
    "second (published)": 0.2356,
    "third (published)": 0.2367,
    "1-nearest neighbour (published)": 0.2523,
}
# Michie, Spiegelhalter, Taylor, "Machine Learning, Neural and Statistical Classification", 1994.
STATLOG = {
    "linear discriminant (Statlog)": 0.535,
    "logistic discriminant (Statlog)": 0.538,
    "CART (Statlog)": 0.613,
    'always "bad" (Statlog)': 0.700,
    "C4.5 (Statlog)": 0.985,
}
NOT_YET = "Not measured yet.\n"


def main() -> None:
    print(update())


def update() -> Path:
    """Write every table into the page."""
    text = PAGE.read_text()
    for name in TABLES:
        text = replaced(text, name)
    temporary = PAGE.with_suffix(".partial")
    temporary.write_text(text)
    return temporary.replace(PAGE)


def replaced(text: str, name: str) -> str:
    """A page with the table of some results as they are now."""
    rows = results(name)
    table = TABLES[name](rows) if rows else NOT_YET
    pattern = rf"(<!-- {name}: begin -->\n).*?(<!-- {name}: end -->)"
    return re.sub(pattern, lambda found: found[1] + table + found[2], text, flags=re.DOTALL)


def kdd_table(rows: Sequence[Row]) -> str:
    """Each family of methods with the setting that the training file chose, and with the best."""
    families = list(dict.fromkeys((row["loss"], row["decision"]) for row in rows))
    lines = [["method", "chosen by the held-out kinds", "held out", "test", "least of all on test"]]
    for loss, decision in sorted(families):
        own = [row for row in rows if (row["loss"], row["decision"]) == (loss, decision)]
        chosen = min(own, key=lambda row: float(row["held_out_cost"]))
        best = min(own, key=lambda row: float(row["test_cost"]))
        mark = "**" if chosen["chosen"] == "True" else ""
        lines.append(
            [
                f"{mark}{loss}, {decision}{mark}",
                _setting(chosen),
                f"{float(chosen['held_out_cost']):.3f}",
                f"{mark}{_with_sd(chosen)}{mark}",
                f"{_with_sd(best)} ({_setting(best)})",
            ]
        )
    for name, cost in KDD_PUBLISHED.items():
        lines.append([name, "", "", f"{cost:.4f}", ""])
    below = sum(float(row["test_cost"]) < KDD_PUBLISHED["winner (published)"] for row in rows)
    (kept,) = [row for row in rows if row["chosen"] == "True"]
    best = min(rows, key=lambda row: float(row["test_cost"]))
    return (
        f"{_markdown(lines)}\nOf {len(rows)} candidates the training file chose {_name(kept)}: "
        f"**{_with_sd(kept)}** on the test file. {below} of the {len(rows)} are below the winner's "
        f"0.2331 there; the least is {_name(best)}, {_with_sd(best)}. After ± stands the standard "
        f"deviation over {kept['seeds']} seeds.\n"
    )


def german_table(rows: Sequence[Row]) -> str:
    """Mean costs with intervals, beside the published ones."""
    return _credit(rows, ".3f", STATLOG)


def example_table(rows: Sequence[Row]) -> str:
    """Mean costs in marks, with intervals."""
    return _credit(rows, ".0f", {})


def boosting_table(rows: Sequence[Row]) -> str:
    """Times and memory as ratios, beside what was aimed at."""
    lines = [["what", "seconds", "ratio", "aim: at most", "peak memory over the numbers"]]
    for row in rows:
        peak = row.get("peak_over_numbers", "")
        lines.append([row["what"], row["seconds"], row["ratio"], row.get("aim", ""), peak])
    return _markdown(lines)


def _credit(rows: Sequence[Row], digits: str, published: dict[str, float]) -> str:
    lines = [["method", "mean cost", "95 % interval", f"minus {rows[0]['reference']}"]]
    for row in sorted(rows, key=lambda row: float(row["mean_cost"])):
        mean, low, high = (format(float(row[n]), digits) for n in ("mean_cost", "low", "high"))
        change = "" if row["method"] == row["reference"] else _change(row, f"+{digits}")
        lines.append([row["method"], mean, f"{low} to {high}", change])
    for name, cost in published.items():
        lines.append([name, format(cost, digits), "", ""])
    often = f"Times repeated: {rows[0]['repetitions']}, {rows[0]['folds']} folds each."
    return (
        f"{_markdown(lines)}\n{often} Intervals are over applicants, their costs averaged over the "
        "repetitions; differences are paired.\n"
    )


def _change(row: Row, digits: str) -> str:
    value, low, high = (
        format(float(row[n]), digits) for n in ("difference", "difference_low", "difference_high")
    )
    return f"{value} ({low} to {high})"


def _setting(row: Row) -> str:
    alpha = "" if row["loss"] == "cross-entropy" else f"alpha {float(row['alpha']):g}, "
    return f"{alpha}{row['rows']} rows, {row['rounds']} rounds"


def _name(row: Row) -> str:
    return f"{row['loss']}, {_setting(row)}, {row['decision']}"


def _with_sd(row: Row) -> str:
    return f"{float(row['test_cost']):.4f} ± {float(row['test_cost_sd']):.4f}"


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    head, *body = (f"| {' | '.join(cells)} |" for cells in lines)
    return "\n".join([head, "|" + "---|" * len(lines[0]), *body, ""])


TABLES: dict[str, Callable[[Sequence[Row]], str]] = {
    "kdd99": kdd_table,
    "german": german_table,
    "example_costs": example_table,
    "boosting": boosting_table,
}


if __name__ == "__main__":
    main()
