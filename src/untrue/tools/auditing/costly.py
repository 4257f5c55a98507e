"""The costly mistakes that happened: which kinds of error in a confusion matrix are in the zone."""

from __future__ import annotations

from untrue.metrics import Cells
from untrue.penalty import Penalty


def costly_pairs(cells: Cells, penalty: Penalty, above: float) -> list[tuple[int, int]]:
    """The kinds of error in `cells` that cost more than `above`, as (true, predicted) positions."""
    chosen = cells.wrong & (penalty.cost(cells.true, cells.predicted) > above)
    return list(zip(cells.true[chosen].tolist(), cells.predicted[chosen].tolist(), strict=True))
