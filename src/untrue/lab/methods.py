"""What a run minimises and how its outputs are read: cross-entropy, ours, and the rivals."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from untrue.array_types import IntArray
from untrue.errors import UntrueWarning
from untrue.lab import scoring
from untrue.lab.records import Confidence, DatasetInfo, Decision, PenaltySpec, RunConfig, Validated
from untrue.lab.scoring import Probs
from untrue.lab.specs import fields_of
from untrue.losses import MultiExitLoss, registry
from untrue.penalty import Penalty
from untrue.tools.fitting.link import Link

Objective = Callable[[Tensor, Tensor], Tensor]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Method:
    """objective: outputs (N, n_outputs), target (N,) -> the mean loss.

    scores: outputs -> (N, k); the method's own answer is the class of the greatest score.
    probabilistic: the softmax of the scores is what the model holds for probable. link: how a loss
    by costs moves it. new_head: the outputs are no logits of the classes, so that the last layer of
    a network that gives those is of no use to it.
    """

    objective: Objective
    n_outputs: int
    scores: Callable[[Tensor], Tensor] = lambda outputs: outputs
    probabilistic: bool = True
    link: Link | None = None
    new_head: bool = False


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """The test images as a `RunResult` holds them, and their probabilities (N, k)."""

    probs: Probs
    confusion: IntArray
    decisions: tuple[Decision, ...] = ()
    test_loss: float | None = None
    temperature: float | None = None
    ece: tuple[float, float] | None = None
    confidence: Confidence | None = None
    validated: tuple[Validated, ...] = ()
    clipped: float | None = None

    def of_result(self) -> dict[str, Any]:
        """All but the probabilities, by the names of the fields of a `RunResult`."""
        return {name: value for name, value in fields_of(self).items() if name != "probs"}


def build(config: RunConfig, info: DatasetInfo) -> Method:
    """The method of a run. A loss with tensors of its own is an `nn.Module`, still on the CPU."""
    k, entry = len(info.classes), registry.find(config.loss)
    if config.setup.exits > 1:
        return Method(_of_exits(config, info), k)
    if config.is_baseline:
        return Method(F.cross_entropy, k)
    with warnings.catch_warnings():
        # High strengths and sparse zones are what the experiments are about.
        warnings.simplefilter("ignore", UntrueWarning)
        needs = [] if config.penalty is None else _needs(entry, config.penalty, info)
        strength = None if config.knob is None else config.knob[1]
        loss: Any = entry.make(*needs, strength=strength)
    if entry.outputs == "nodes":
        return Method(loss, loss.n_outputs, loss.log_probs, new_head=True)
    if entry.outputs == "costs":
        # The outputs are costs: the least is the answer, and they are no probabilities.
        return Method(loss, k, lambda outputs: -outputs, probabilistic=False, new_head=True)
    if config.penalty is not None and config.loss in registry.MIXED:
        link = Link(config.loss, config.alpha, scoring.penalty(config.penalty, info))
        return Method(loss, k, link=link)
    return Method(loss, k)


def score(
    method: Method,
    config: RunConfig,
    info: DatasetInfo,
    outputs: Tensor,
    labels: IntArray,
    *,
    held_back: tuple[Tensor, IntArray] | None = None,
) -> Scored:
    """The test images' outputs (N, n_outputs), all on the CPU, as answers.

    held_back: outputs and labels of the validation images, to calibrate by.
    """
    scores = method.scores(outputs)
    probs = scores.softmax(dim=1).numpy()
    if not method.probabilistic:
        seen: tuple[Validated, ...] = ()
        if held_back is not None and config.score_on:
            watched = method.scores(held_back[0]).numpy()
            seen = (scoring.validated("argmax", watched, held_back[1], config.score_on[0], info),)
        return Scored(probs, scoring.count(scores.numpy(), labels), validated=seen)
    scored = Scored(
        probs=probs,
        confusion=scoring.count(probs, labels),
        decisions=tuple(scoring.decided(probs, labels, spec, info) for spec in config.score_on),
        test_loss=float(F.cross_entropy(scores.double(), torch.from_numpy(labels))),
        confidence=scoring.confidence(probs, labels),
    )
    if held_back is None:
        return scored
    more = scoring.calibrated(
        method.scores(held_back[0]).numpy(),
        held_back[1],
        scores.numpy(),
        labels,
        config.score_on,
        info,
        link=method.link,
        # The free rule has strengths as the losses have.
        shares=scoring.SHARES if config.is_baseline else (),
    )
    decisions = (*scored.decisions, *more.decisions)
    return dataclasses.replace(scored, **{**fields_of(more), "decisions": decisions})


def _of_exits(config: RunConfig, info: DatasetInfo) -> MultiExitLoss:
    """The loss of a network with several exits, all of which count the same."""
    n, entry = config.setup.exits, registry.find(config.loss)
    strength = None if config.knob is None else config.knob[1]
    growing = entry.needs == ("hierarchy",) and config.exit_costs == "text"
    losses = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrueWarning)
        for number in range(1, n + 1):
            needs: list[Any] = []
            if config.penalty is not None and (config.exit_costs == "same" or growing):
                needs = _needs(entry, config.penalty, info)
            elif config.penalty is not None and config.exit_costs != "same":
                hierarchy, cost = scoring.hierarchy(config.penalty, info), config.penalty.outside
                needs = [
                    Penalty.for_exit(hierarchy, number, n, cost=cost, reading=config.exit_costs)
                ]
            share = number / n if growing else 1.0
            losses.append(
                entry.make(*needs, strength=None if strength is None else share * strength)
            )
    return MultiExitLoss(losses)


def _needs(entry: registry.LossEntry, spec: PenaltySpec, info: DatasetInfo) -> list[Any]:
    """What a loss needs, from the costs of a run."""
    made = {"penalty": scoring.penalty, "hierarchy": scoring.hierarchy}
    return [made[need](spec, info) for need in entry.needs]
