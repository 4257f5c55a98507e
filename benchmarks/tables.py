"""The tables of docs/kernels.md, made from benchmarks/results.

`python -m benchmarks.tables` writes them into the page, between the marks that name a file of
results; the benchmarks do so themselves when they end. A test holds page and results together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.pages import DOCS, Page, Row, Source, in_markdown
from benchmarks.record import RESULTS

# What a column shows, by the names of a size's candidates; the least, if there are several.
BILINEAR = {
    "by hand": ("by hand: softmax times A[y]", "by hand: one-hot times A"),
    "compiled": ("by hand: softmax times A[y], compiled",),
    "torch": ("{form} bilinear, torch",),
    "native": ("{form} bilinear, native",),
}
LOG_BILINEAR = {
    "by hand": ("by hand: log(1 - softmax)",),
    "compiled": ("by hand: log(1 - softmax), compiled",),
    "torch": ("{form} log-bilinear, torch",),
    "native": ("{form} log-bilinear, native",),
}
FORMS = ("dense", "rules", "tree")


def main() -> None:
    print(update())


def update() -> Path:
    """Write every table into the page."""
    return PAGE.update()


def table_of_losses(rows: Sequence[Row]) -> str:
    """Time as a multiple of `F.cross_entropy`, a line for each size and form of costs."""
    kinds = (("", BILINEAR), ("log: ", LOG_BILINEAR))
    names = [f"{kind}{column}" for kind, columns in kinds for column in columns]
    lines = [["costs", "classes", "batch", *names]]
    sizes = sorted({(int(row["classes"]), int(row["batch"])) for row in rows})
    for form in FORMS:
        for k, n in sizes:
            here = {
                row["loss"]: float(row["times_cross_entropy"])
                for row in rows
                if (int(row["classes"]), int(row["batch"])) == (k, n)
            }
            if not any(name.startswith(f"{form} ") for name in here):
                continue
            cells = [
                _least(here, [name.format(form=form) for name in candidates])
                for _, columns in kinds
                for candidates in columns.values()
            ]
            lines.append([form, f"{k:,}", f"{n:,}", *cells])
    return in_markdown(lines)


def table_of_heads(rows: Sequence[Row]) -> str:
    """Time and memory of the layer and the loss together."""
    lines = [["examples", "classes", "loss", "seconds", "times cross-entropy", "MB"]]
    for row in rows:
        sizes = [f"{int(row[name]):,}" for name in ("examples", "classes")]
        numbers = [row["seconds"], row["times_cross_entropy"], f"{float(row['megabytes']):,.0f}"]
        lines.append([*sizes, row["loss"], *numbers])
    return in_markdown(lines)


def _least(here: Mapping[str, float], names: Sequence[str]) -> str:
    found = [here[name] for name in names if name in here]
    return f"{min(found):.2f}" if found else ""


PAGE = Page(
    DOCS / "kernels.md",
    {
        "losses": Source(RESULTS / "losses.csv", table_of_losses),
        "linear_head": Source(RESULTS / "linear_head.csv", table_of_heads),
    },
)


if __name__ == "__main__":
    main()
