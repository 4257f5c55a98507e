"""What a stored result says about the machine it was made on. No torch."""

from __future__ import annotations

import datetime
import functools
import platform
from pathlib import Path

from untrue.lab.records import Provenance
from untrue.machine import cores, versions


def provenance(seconds: float, *, device: str, threads: int) -> Provenance:
    """Where and with what a run that took `seconds` was made; it is dated now."""
    return Provenance(
        seconds=round(seconds, 3),
        finished_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        device=device,
        threads=threads,
        hardware=hardware(),
        versions=versions(),
    )


@functools.cache
def hardware() -> str:
    """The processor and its cores, in one line."""
    name = platform.processor() or platform.machine()
    described = Path("/proc/cpuinfo")
    if described.is_file():
        for line in described.read_text().splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    return f"{name}, {cores()} cores, {platform.system()}"
