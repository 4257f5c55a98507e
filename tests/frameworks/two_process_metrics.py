"""A program: two processes measure one half of the examples each, and print what they find."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import torch.multiprocessing
from torch import distributed

import untrue
from untrue.torchmetrics import CoarseError, ExpectedCost, MistakeSeverity, ZoneErrors

TREE = untrue.Hierarchy.from_groups({"vehicle": ["car", "bus"], "animal": ["cat", "dog", "eel"]})
COSTS = untrue.Penalty.from_hierarchy(TREE)


def metrics() -> list[ExpectedCost | ZoneErrors | MistakeSeverity | CoarseError]:
    return [
        ExpectedCost(COSTS),
        ZoneErrors(COSTS),
        MistakeSeverity(TREE),
        CoarseError(TREE.coarsen(1)),
    ]


def examples() -> tuple[torch.Tensor, torch.Tensor]:
    """(31, 5) logits and (31,) classes: an odd number, so that the halves differ."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(31, 5, generator=generator)
    return logits, torch.randint(0, 5, (31,), generator=generator)


def work(rank: int, folder: str) -> None:
    distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2
    )
    logits, target = examples()
    found = []
    for metric in metrics():
        metric.update(logits[rank::2], target[rank::2])
        found.append(metric.compute().item())
    (Path(folder) / f"{rank}.json").write_text(json.dumps(found))
    distributed.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(work, args=(sys.argv[1],), nprocs=2)
