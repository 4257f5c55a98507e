"""The chapter about zones, when the runs of a sweep have none."""

from __future__ import annotations

import pytest

from untrue.errors import DataError
from untrue.report.sweep.zone_tables import shown_size


class NoZones:
    """The arms of runs without zones, as a damaged or foreign store may hold them."""

    def values(self, _: str) -> tuple[float, ...]:
        return ()


def test_runs_without_zones_are_one_sentence() -> None:
    with pytest.raises(DataError, match="should be about zones, but none of its runs has one"):
        shown_size(NoZones())  # type: ignore[arg-type]
