"""What each exit of a trained network is worth, and what stopping early costs and saves."""

from __future__ import annotations

import time

from torch import Tensor, nn

from untrue.decision import Temperature
from untrue.exits import ExitRule
from untrue.lab import scoring
from untrue.lab.records import DatasetInfo, EarlyStop, ExitResult, RunConfig
from untrue.metrics import confusion_matrix
from untrue.networks.exits import ExitNetwork, exit_work
from untrue.training.evaluation import outputs_of, staged_answers
from untrue.training.examples import Examples, network_input

# Of the expected cost, in the units of the costs that are scored on: with 1 inside the super-class
# and 5 across, from "the last exit for everything" to "the first for everything".
THRESHOLDS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.2, 1.6, 2.4, 3.2, 4.0, 5.0)


def score_exits(
    network: nn.Module, config: RunConfig, info: DatasetInfo, test: Examples, watched: Examples
) -> tuple[tuple[ExitResult, ...], tuple[EarlyStop, ...]]:
    """Each exit on the test images, and these with early stopping by the costs of `score_on`.

    watched: validation images, to find each exit's temperature.
    """
    if not isinstance(network, ExitNetwork):
        return (), ()
    work = exit_work(network, tuple(network_input(test.inputs[:1]).shape[1:]))
    temperatures = _temperatures(network, watched) if config.calibrate else [1.0] * len(work)
    labels = test.labels.cpu().numpy()
    exits = tuple(
        ExitResult(each, scoring.count(_numpy(logits), labels), temperature)
        for each, logits, temperature in zip(
            work, outputs_of(network, test.inputs), temperatures, strict=True
        )
    )
    if not config.score_on:
        return exits, ()
    penalty = scoring.penalty(config.score_on[0], info)
    calibrated = [Temperature(each) for each in temperatures]
    stops = []
    # The first is made twice, so that it is not charged for what a first call takes.
    for threshold in THRESHOLDS[:1] + THRESHOLDS:
        rule = ExitRule(penalty, threshold, len(work))
        started = time.perf_counter()
        found = staged_answers(network, test.inputs, rule, calibrated=calibrated, work=work)
        seconds = time.perf_counter() - started
        counts = confusion_matrix(labels, found.labels, len(info.classes))
        assert found.saved is not None
        by_exit = tuple(found.by_exit.tolist())
        stops.append(EarlyStop(threshold, seconds, found.saved, by_exit, counts))
    return exits, tuple(stops[1:])


def _temperatures(network: ExitNetwork, watched: Examples) -> list[float]:
    labels = watched.labels.cpu().numpy()
    outputs = outputs_of(network, watched.inputs)
    return [scoring.fitted_temperature(_numpy(logits), labels) for logits in outputs]


def _numpy(logits: Tensor) -> scoring.Probs:
    found: scoring.Probs = logits.float().cpu().numpy()
    return found
