"""`python -m fuzz`: a number of cases or of seconds; exit code 1 when one was not clean."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

import torch

from fuzz import commands, costs, files, folders, rules
from fuzz.runner import Limits, Outcome, run

PARTS = (files, rules, costs, folders, commands)
TARGETS = {name: target for part in PARTS for name, target in part.TARGETS.items()}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--cases", type=int, help="how many")
    parser.add_argument("--seconds", type=float, help="for how long; else 60, or all --cases")
    parser.add_argument("--only", help="targets, with commas between: " + ", ".join(TARGETS))
    parser.add_argument("--stop-after", type=int, default=20, help="after this many findings")
    parser.add_argument("--out", type=Path, help="write what was tried, and how often, as JSON")
    given = parser.parse_args()
    chosen = {name.strip() for name in given.only.split(",")} if given.only else set(TARGETS)
    if not chosen <= set(TARGETS):
        parser.error(f"unknown: {', '.join(sorted(chosen - set(TARGETS)))}")
    seconds = 60.0 if given.cases is None and given.seconds is None else given.seconds
    torch.set_num_threads(1)
    started = time.monotonic()
    counts: Counter[tuple[str, str]] = Counter()
    findings: list[Outcome] = []
    targets = {name: part for name, part in TARGETS.items() if name in chosen}
    for outcome in run(
        targets, seed=given.seed, first=given.first, cases=given.cases, seconds=seconds
    ):
        counts[outcome.target, outcome.result] += 1
        if outcome.result == "finding":
            findings.append(outcome)
            again = f"python -m fuzz --seed {given.seed} --first {outcome.case} --cases 1"
            only = f" --only '{given.only}'" if given.only else ""
            print(f"FINDING {outcome.target}: {again}{only}\n{outcome.detail}\n", flush=True)
            if len(findings) >= given.stop_after:
                break
    summary = {
        "seed": given.seed,
        "first": given.first,
        "cases": sum(counts.values()),
        "findings": len(findings),
        "seconds": round(time.monotonic() - started),
        "limits": {"cpu_seconds": Limits().cpu, "memory_bytes": Limits().memory},
        "targets": {
            name: {result: counts[name, result] for result in ("accepted", "refused", "finding")}
            for name in sorted(targets)
        },
    }
    text = json.dumps(summary, indent=1)
    print(text)
    if given.out is not None:
        given.out.write_text(text + "\n")
    return int(bool(findings))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
