"""The numbers the paper published, as data inside the package."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as resources

SOURCE = (
    "Y. S. Resheff, A. Mandelbaum, D. Weinshall: Every Untrue Label is Untrue in its Own Way: "
    "Controlling Error Type with the Log Bilinear Loss"
)


@dataclass(frozen=True, slots=True)
class Published:
    """One number. loss is '' for a baseline that stands for both losses."""

    experiment: str
    loss: str
    alpha: float
    small_count: int | None
    metric: str
    value: float
    source: str


@cache
def published() -> tuple[Published, ...]:
    """Every number of `published.csv`."""
    text = resources("untrue.report.sweep").joinpath("published.csv").read_text(encoding="utf-8")
    return tuple(
        Published(
            experiment=row["experiment"],
            loss=row["loss"].replace("_", "-"),
            alpha=float(row["alpha"]),
            small_count=int(count) if (count := row["samples_per_small_class"]) else None,
            metric=row["metric"],
            value=float(row["value"]),
            source=row["source"],
        )
        for row in csv.DictReader(text.splitlines())
    )


@cache
def published_value(
    experiment: str, metric: str, *, loss: str, alpha: float, small_count: int | None = None
) -> float | None:
    """The paper's value of a measure, or None where it gives none.

    >>> published_value("cifar100_hierarchy", "total_error_pct", loss="bilinear", alpha=0.5)
    36.93
    """
    for number in published():
        if (number.experiment, number.metric, number.small_count) == (
            experiment,
            metric,
            small_count,
        ) and (number.loss in ("", loss) and abs(number.alpha - alpha) < 1e-9):
            return number.value
    return None
