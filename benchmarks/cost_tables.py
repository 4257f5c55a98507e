"""The tables of docs/benchmarks.md, made from benchmarks/results.

`python -m benchmarks.cost_tables` writes them into the page, between the marks that name a file of
results; the benchmarks do so themselves when they end. A test holds page and results together.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.pages import DOCS, Page, Row, Source, in_markdown
from benchmarks.record import RESULTS

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


def main() -> None:
    print(update())


def update() -> Path:
    """Write every table into the page."""
    return PAGE.update()


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
        f"{in_markdown(lines)}\nOf {len(rows)} candidates the training file chose {_name(kept)}: "
        f"**{_with_sd(kept)}** on the test file. {below} of the {len(rows)} are below the winner's "
        f"0.2331 there; the least is {_name(best)}, {_with_sd(best)}. After ± stands the standard "
        f"deviation over {kept['seeds']} seeds.\n"
    )


def german_table(rows: Sequence[Row]) -> str:
    """Mean costs with intervals, beside the published ones."""
    return _credit(rows, ".3f", STATLOG)


def example_table(rows: Sequence[Row]) -> str:
    """Mean costs in marks, with intervals: a table a design, and what costs by row add."""
    parts = []
    for design in dict.fromkeys(row["design"] for row in rows):
        own = [row for row in rows if row["design"] == design]
        means = " and ".join(f"{float(own[0][name]):,.0f}" for name in ("accepted", "refused"))
        parts.append(
            f"**{design.capitalize()}** (mean costs {means} marks).\n\n{_credit(own, '.0f', {})}\n"
            f"{by_row_sentence(own)}\n"
        )
    return "\n".join(parts)


def by_row_sentence(rows: Sequence[Row]) -> str:
    """What a method costs less or more by row than by class, of all that are there both ways."""
    twins = [row for row in rows if row.get("twin")]
    (free,) = [row for row in twins if row["twin"] == row["reference"]]
    less: list[str] = []
    more: list[str] = []
    open_: list[str] = []
    for row in twins:
        side = less if float(row["twin_difference_high"]) < 0 else more
        if float(row["twin_difference_low"]) <= 0 <= float(row["twin_difference_high"]):
            side = open_
        side.append(f"{row['method']} {_change(row, '+.1f', 'twin_difference')}")
    verdict = next(
        words
        for words, names in (
            ("**helps the free rule**", less),
            ("**harms the free rule**", more),
            ("is **not shown to help the free rule**", open_),
        )
        if any(name.startswith(free["method"]) for name in names)
    )
    named = [
        f"{words} {len(names)}{' (' + '; '.join(names) + ')' if names else ''}"
        for words, names in (("costs less in", less), ("more in", more))
    ]
    return (
        f"Taking each applicant's own costs {verdict}: LightGBM decided by row costs "
        f"{_change(free, '+.1f', 'twin_difference')} marks beside the same by class. Of "
        f"{len(twins)} methods that are there by row and by class, by row {', '.join(named)}; of "
        f"{len(open_)} the interval holds 0."
    )


def boosting_table(rows: Sequence[Row]) -> str:
    """Times and memory as ratios, beside what was aimed at."""
    head = ["what", "seconds", "ratio", "aim: at most", "peak memory over the numbers"]
    columns = ["what", "seconds", "ratio", "aim", "peak_over_numbers", "aim_over_numbers"]
    lines = [[*head, "aim: at most"]]
    lines += [[row.get(name) or "" for name in columns] for row in rows]
    return in_markdown(lines)


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
        f"{in_markdown(lines)}\n{often} Intervals are over applicants, their costs averaged over "
        "the repetitions; differences are paired.\n"
    )


def _change(row: Row, digits: str, name: str = "difference") -> str:
    names = (name, f"{name}_low", f"{name}_high")
    value, low, high = (format(float(row[n]), digits) for n in names)
    return f"{value} ({low} to {high})"


def _setting(row: Row) -> str:
    alpha = "" if row["loss"] == "cross-entropy" else f"alpha {float(row['alpha']):g}, "
    return f"{alpha}{row['rows']} rows, {row['rounds']} rounds"


def _name(row: Row) -> str:
    return f"{row['loss']}, {_setting(row)}, {row['decision']}"


def _with_sd(row: Row) -> str:
    return f"{float(row['test_cost']):.4f} ± {float(row['test_cost_sd']):.4f}"


PAGE = Page(
    DOCS / "benchmarks.md",
    {
        "kdd99": Source(RESULTS / "kdd99.csv", kdd_table),
        "german": Source(RESULTS / "german.csv", german_table),
        "example_costs": Source(RESULTS / "example_costs.csv", example_table),
        "boosting": Source(RESULTS / "boosting.csv", boosting_table),
    },
)


if __name__ == "__main__":
    main()
