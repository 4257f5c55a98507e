"""A network with several exits: stages in a row, a head after each, and answers that stop early."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from untrue.errors import ArgumentError
from untrue.exits import ExitAnswers, ExitRule, read_work


class ExitNetwork(nn.Module):
    """Inputs to a list of logits, one (N, k) an exit, the first exit first.

    stages  each takes what the one before it gives
    heads   each takes what its stage gives, and gives logits
    """

    def __init__(self, stages: Iterable[nn.Module], heads: Iterable[nn.Module]) -> None:
        super().__init__()
        self.stages, self.heads = nn.ModuleList(stages), nn.ModuleList(heads)
        if not len(self.stages) == len(self.heads) > 0:
            raise ArgumentError(
                f"`stages` and `heads` must be as many, one per exit; got {len(self.stages)} and "
                f"{len(self.heads)}."
            )

    @property
    def n_exits(self) -> int:
        return len(self.stages)

    def forward(self, x: Tensor) -> list[Tensor]:
        found = []
        for stage, head in zip(self.stages, self.heads, strict=True):
            x = stage(x)
            found.append(head(x))
        return found

    @torch.inference_mode()
    def answer(
        self,
        x: Tensor,
        rule: ExitRule,
        *,
        calibrated: Sequence[Callable[[Tensor], Tensor]] | None = None,
        work: Sequence[float] | None = None,
    ) -> ExitAnswers:
        """Answers (N,) by a rule, computed no further than they need: a stage sees the examples
        that no exit before it has answered.

        calibrated: of each exit what makes probabilities of its logits, such as a `Temperature`;
        without it softmax does. work: see `exit_work`.
        """
        check_exits(rule, self.n_exits, calibrated)
        n = len(x)
        labels, exits, costs = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.int64), np.empty(n)
        waiting = np.arange(n)
        pairs = zip(self.stages, self.heads, strict=True)
        for number, (stage, head) in enumerate(pairs, start=1):
            x = stage(x)
            logits = head(x).float()
            probs = calibrated[number - 1](logits) if calibrated else logits.softmax(1)
            found, expected, stops = rule.answer(probs, number)
            here = waiting[stops]
            labels[here], costs[here], exits[here] = found[stops], expected[stops], number
            waiting = waiting[~stops]
            if not len(waiting):
                break
            if stops.any():
                x = x[torch.from_numpy(~stops).to(x.device)]
        return ExitAnswers(labels, exits, costs, rule, read_work(work, self.n_exits))


def with_exits(
    blocks: Sequence[list[nn.Module]],
    channels: Sequence[int],
    head: Callable[[int], list[nn.Module]],
    n_exits: int,
) -> nn.Module:
    """Blocks in a row with a head at the end, or with one after each of the last blocks.

    channels: of each block's outputs, which `head` takes
    """
    parts = joined(blocks, n_exits)
    if n_exits == 1:
        return nn.Sequential(*parts[0], *head(channels[-1]))
    stages = [nn.Sequential(*part) for part in parts]
    return ExitNetwork(stages, [nn.Sequential(*head(count)) for count in channels[-n_exits:]])


def joined(blocks: Sequence[list[nn.Module]], n_exits: int) -> list[list[nn.Module]]:
    """Blocks as that many stages: those too many are part of the first."""
    first = len(blocks) - n_exits + 1
    return [[part for block in blocks[:first] for part in block], *blocks[first:]]


def check_exits(rule: ExitRule, n_exits: int, calibrated: Sequence[Any] | None) -> None:
    if rule.n_exits != n_exits:
        raise ArgumentError(f"`rule` is for {rule.n_exits} exits; the network has {n_exits}.")
    if calibrated is not None and len(calibrated) != n_exits:
        raise ArgumentError(
            f"`calibrated` must hold one function per exit, {n_exits}; got {len(calibrated)}."
        )


def exit_work(network: ExitNetwork, inputs: tuple[int, ...]) -> tuple[float, ...]:
    """Of each exit the multiplications for one example up to it, with the heads that are asked on
    the way: what `exit_early` calls `work`. inputs: the shape of one example."""
    from torch.utils.flop_counter import FlopCounterMode

    training = network.training
    network.eval()
    x = torch.zeros((1, *inputs), device=next(network.parameters()).device)
    done, work = 0.0, []
    with torch.no_grad():
        for stage, head in zip(network.stages, network.heads, strict=True):
            with FlopCounterMode(display=False) as counter:
                x = stage(x)
                head(x)
            # It counts a multiplication and the addition after it as two.
            done += counter.get_total_flops() / 2
            work.append(done)
    network.train(training)
    return tuple(work)
