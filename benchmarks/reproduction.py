"""The tables of docs/reproduction.md, made from the rows that lie beside it.

`python -m benchmarks.reproduction STORE NAME` draws the report of a sweep, keeps its runs, rows,
tables and figures in docs/reproduction/NAME and writes the page's tables again. Without arguments
it only writes the tables. A test holds page and rows together.

The runs that are kept (runs.sqlite, without weights and test probabilities) can be reported again,
and a sweep that is not finished continues from them:

    untrue merge docs/reproduction/NAME --out STORE

`--add` keeps the published rows of runs that the sweep plans and the store lacks, so that a sweep
can grow whose store is lost. Figures of confusion matrices, which rows do not hold, then stay as
they are.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from benchmarks.drawn_sweep import collected, draw, with_published
from benchmarks.kept_runs import keep_runs
from benchmarks.pages import DOCS, Page, Row, Source, in_markdown
from benchmarks.record import RESULTS
from untrue.metrics.intervals import mean_interval, paired_interval
from untrue.report.runs.chapters import as_text
from untrue.report.sweep.published import published_value

FOLDER = DOCS / "reproduction"
# A model over its repetitions: loss, alpha, decision.
Model = tuple[str, float, str]
ERRORS = ("total_error_pct", "coarse_error_pct", "errors_in_superclass_pct")
BASE: Model = ("cross-entropy", 0.0, "argmax")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path, nargs="?")
    parser.add_argument("name", nargs="?", choices=list(SWEEPS))
    parser.add_argument("--add", action="store_true")
    options = parser.parse_args()
    if options.store:
        if not options.name:
            parser.error("NAME says what the sweep is")
        keep(options.store, FOLDER / options.name, add=options.add)
    print(PAGE.update())


def keep(store: Path, folder: Path, *, add: bool = False) -> None:
    """The report of a sweep, as far as the page needs it, in place of what the folder held, or
    added to it."""
    sweep = collected(store)
    if add:
        sweep = with_published(sweep, folder / "rows.csv")
    with tempfile.TemporaryDirectory() as written:
        made = draw(sweep, Path(written), matrices=not add)
        made.append(keep_runs(store, Path(written) / "runs"))
        if not add:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        for path in made:
            shutil.copyfile(path, folder / path.name)


def zones(rows: Sequence[Row]) -> str:
    """Errors in the zone and in all, each repetition's, then the paired differences."""
    sizes = sorted({int(row["zone_size"]) for row in rows})
    here = {n: [row for row in rows if int(row["zone_size"]) == n] for n in sizes}
    counts = [["model", *(name for n in sizes for name in (f"zone of {n}", "errors in all"))]]
    changes = [counts[0]]
    for model in models(rows):
        count, change = [called(model)], [called(model)]
        for n in sizes:
            for measure in ("zone_errors", "errors"):
                found = by_seed(here[n], model, measure)
                count.append(" / ".join(f"{found[seed]:.0f}" for seed in sorted(found)))
                base = by_seed(here[n], BASE, measure)
                change.append(as_text(paired_interval(found, base), "+.1f"))
        counts.append(count)
        if model != BASE:
            changes.append(change)
    return beside_baseline(counts, changes, rows)


def confident(rows: Sequence[Row]) -> str:
    """How sure the errors in the zone are, by loss and alpha."""
    sizes = sorted({int(row["zone_size"]) for row in rows})
    heads = ("mean confidence in a zone of {} (%)", "of these errors, above 90 %")
    lines = [["model", *(name.format(n) for n in sizes for name in heads)]]
    for model in models(rows):
        if model[2] != "argmax":
            continue
        line = [called(model)]
        for n in sizes:
            here = [row for row in rows if int(row["zone_size"]) == n]
            sure = by_seed(here, model, "zone_error_confidence_pct")
            line.append(as_text(mean_interval(sure.values()), ".1f"))
            high = sum(by_seed(here, model, "confident_zone_errors").values())
            line.append(f"{high:.0f} of {sum(by_seed(here, model, 'zone_errors').values()):.0f}")
        lines.append(line)
    return in_markdown(lines)


def hierarchy(rows: Sequence[Row]) -> str:
    """The paper's three measures; then the gains beside the published ones, read in both ways."""
    lines = [["model", "total error (%)", "coarse error (%)", "errors inside the super-class (%)"]]
    gains = [
        [
            "model",
            "gain (points)",
            "published",
            "published, by 1 - coarse / total",
            "total error (points)",
            "published",
        ]
    ]
    base = [by_seed(rows, BASE, measure) for measure in ERRORS]
    for model in models(rows):
        found = [by_seed(rows, model, measure) for measure in ERRORS]
        lines.append([called(model), *(as_text(mean_interval(f.values()), ".2f") for f in found)])
        if model == BASE or model[2] != "argmax":
            continue
        printed, derived, errors = published_gains(model[0], model[1])
        change, _, gain = (
            as_text(paired_interval(its, of_base), "+.2f")
            for its, of_base in zip(found, base, strict=True)
        )
        gains.append([called(model), gain, printed, derived, change, errors])
    return (
        f"{in_markdown(lines)}\nBeside the baseline of the same repetition: the gain in the share "
        "of the errors that stays in the right super-class, and what it costs in total error:\n\n"
        f"{in_markdown(gains)}\n{trained(rows)}"
    )


def published_gains(loss: str, alpha: float) -> tuple[str, str, str]:
    """Of the share as the paper's table prints it, and as its two errors imply it; of the error."""

    def values(at: float) -> list[float] | None:
        found = [published_value("cifar100_hierarchy", m, loss=loss, alpha=at) for m in ERRORS]
        return [value for value in found if value is not None] if all(found) else None

    before, after = values(0.0), values(alpha)
    if before is None or after is None:
        return "", "", ""
    implied = [100 * (1 - coarse / total) for total, coarse, _ in (before, after)]
    gains = (after[2] - before[2], implied[1] - implied[0], after[0] - before[0])
    printed, derived, errors = (f"{gain:+.2f}" for gain in gains)
    return printed, derived, errors


def small(rows: Sequence[Row]) -> str:
    """What becomes of classes with few images, beside the paper's table."""
    measures = {
        "accuracy_pct": "right, all classes (%)",
        "small_class_accuracy_pct": "right, small classes (%)",
        "small_class_superclass_accuracy_pct": "small classes, super-class right (%)",
    }
    heads = (name for text in measures.values() for name in (text, "published"))
    lines = [["images of a small class", "model", *heads]]
    changes = [["images of a small class", "model", *measures.values()]]
    rows = whole_repetitions([row for row in rows if row["small_count"]])
    for count in sorted({int(row["small_count"]) for row in rows}):
        here = [row for row in rows if row["small_count"] == str(count)]
        for model in (model for model in models(here) if model[2] == "argmax"):
            line, change = [f"{count}", called(model)], [f"{count}", called(model)]
            for measure in measures:
                found = by_seed(here, model, measure)
                line.append(as_text(mean_interval(found.values()), ".2f"))
                printed = published_value(
                    "cifar100_small_sample",
                    measure,
                    loss="bilinear",
                    alpha=model[1],
                    small_count=count,
                )
                line.append("" if printed is None else f"{printed:.2f}")
                base = by_seed(here, BASE, measure)
                change.append(as_text(paired_interval(found, base), "+.2f"))
            lines.append(line)
            if model != BASE:
                changes.append(change)
    return beside_baseline(lines, changes, rows, unit=" (points)")


def compact(rows: Sequence[Row]) -> str:
    """What the compact network learns, by what was tried."""
    columns = {
        "epochs": "epochs",
        "shift": "shift (pixels)",
        "validation_accuracy_pct": "right, held-out images (%)",
        "minutes": "minutes",
        "core_minutes": "minutes of the core",
    }
    return in_markdown([list(columns.values()), *([row[c] for c in columns] for row in rows)])


def models(rows: Iterable[Row]) -> list[Model]:
    """In the order of the tables: the baseline, decided both ways, then each loss by alpha."""
    found = {
        (row["loss"], float(row["alpha"]), row["decision"])
        for row in rows
        if row["decision"] == BASE[2] or row["loss"] == BASE[0]
    }
    return sorted(found, key=lambda model: (model[0] != BASE[0], *model))


def called(model: Model) -> str:
    """'bilinear, alpha 0.9, least-cost decision'."""
    loss, alpha, decision = model
    name = "baseline" if loss == BASE[0] else f"{loss}, alpha {alpha:g}"
    return name if decision == "argmax" else f"{name}, least-cost decision"


def by_seed(rows: Iterable[Row], model: Model, measure: str) -> dict[int, float]:
    return {
        int(row["seed"]): float(row[measure])
        for row in rows
        if (row["loss"], float(row["alpha"]), row["decision"]) == model and row[measure]
    }


def whole_repetitions(rows: Sequence[Row]) -> list[Row]:
    """Without repetitions that some model lacks."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for row in rows:
        found.setdefault((row["small_count"], row["loss"], row["alpha"]), set()).add(row["seed"])
    whole = set.intersection(*found.values())
    return [row for row in rows if row["seed"] in whole]


def beside_baseline(
    values: Sequence[Sequence[str]],
    changes: Sequence[Sequence[str]],
    rows: Sequence[Row],
    unit: str = "",
) -> str:
    """The values of each model, then the paired differences, and what stands behind them."""
    return (
        f"{in_markdown(values)}\nDifferences to the baseline of the same repetition{unit}, means "
        f"with 95 % intervals:\n\n{in_markdown(changes)}\n{trained(rows)}"
    )


def trained(rows: Sequence[Row]) -> str:
    """What stands behind the table, from the records."""
    by_id = {row["run_id"]: row for row in rows}
    minutes = [float(row["seconds"]) / 60 for row in by_id.values()]
    epochs = sorted({int(row["epochs_run"]) for row in by_id.values()})
    span = f"{epochs[0]}" if len(epochs) == 1 else f"{epochs[0]} to {epochs[-1]}"
    images = sorted({int(row["train_images"]) for row in by_id.values()})
    return (
        f"{len(by_id)} models, repetitions {len({row['seed'] for row in rows})}, {span} epochs, "
        f"{' or '.join(f'{n:,}' for n in images)} training images, {min(minutes):.1f} to "
        f"{max(minutes):.1f} minutes a model, {sum(minutes) / 60:.1f} hours in all.\n"
    )


def zones_and_confidence(rows: Sequence[Row]) -> str:
    sure = confident(rows)
    return f"{zones(rows)}\nHow sure the wrong answers in the zone are:\n\n{sure}"


SWEEPS: dict[str, Callable[[Sequence[Row]], str]] = {
    "mnist-masked-zone": zones_and_confidence,
    "mnist-masked-zone-literal": zones_and_confidence,
    "cifar10-masked-zone": zones_and_confidence,
    "cifar10-masked-zone-paper-network": zones_and_confidence,
    "cifar100-hierarchy": hierarchy,
    "cifar100-hierarchy-whole": hierarchy,
    "cifar100-hierarchy-paper-network": hierarchy,
    "small-sample": small,
}
PAGE = Page(
    DOCS / "reproduction.md",
    {
        "compact": Source(RESULTS / "compact.csv", compact),
        **{name: Source(FOLDER / name / "rows.csv", shown) for name, shown in SWEEPS.items()},
    },
)


if __name__ == "__main__":
    main()
