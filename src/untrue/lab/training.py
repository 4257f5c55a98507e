"""Train one model from its config and score it: same config, same machine, same result."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from untrue.array_types import IntArray
from untrue.errors import ArgumentError
from untrue.lab import boosted, methods, scoring
from untrue.lab.data import Dataset
from untrue.lab.exit_scores import score_exits
from untrue.lab.own_data import Opened
from untrue.lab.provenance import provenance
from untrue.lab.records import DatasetInfo, RunConfig, RunResult
from untrue.lab.splits import describe, split
from untrue.networks import choose, parameter_count
from untrue.training.device import pick_device
from untrue.training.evaluation import outputs_of
from untrue.training.examples import Examples
from untrue.training.loop import Weights, train_new
from untrue.training.progress import Progress
from untrue.training.splits import limited

Arrays = tuple[npt.NDArray[Any], IntArray]


@dataclass(frozen=True, slots=True, eq=False)
class TrainedRun:
    """A finished run: its record, the test probabilities (N, k) and the network, if it is one."""

    result: RunResult
    probs: npt.NDArray[np.float32]
    network: nn.Module | None


@dataclass(frozen=True, slots=True, eq=False)
class RunParts:
    """Inputs and labels of a run's training, validation and test examples."""

    train: Arrays
    validation: Arrays
    test: Arrays


def train(
    config: RunConfig,
    data: Dataset | Opened,
    *,
    info: DatasetInfo | None = None,
    device: str | None = None,
    weights: bytes | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> TrainedRun:
    """Train the model of `config` on a data set of the lab or a person's own, and score it.

    info: of the data, which are hashed when it is not given. weights: those it continues from, as
    safetensors, where the config has a `start`.
    Raises `DivergedError` when the loss or a gradient is no longer finite.
    """
    started = time.perf_counter()
    if (config.start is None) != (weights is None):
        raise ArgumentError(
            f"`weights` are for a run that continues from another: {config.label} has "
            f"{'none to continue from' if weights else f'to continue from run {config.start}'}."
        )
    info = info or (data.info if isinstance(data, Opened) else describe(data))
    method = methods.build(config, info)
    if boosted.is_boosted(config):
        assert isinstance(data, Opened)  # the plan was checked
        return _train_trees(config, data, info, method, started, on_progress)
    place = pick_device(device)
    parts = _parts(config, data)
    setup, shape = config.setup, parts.train[0].shape[1:]
    spec = choose(setup.network, shape, method.n_outputs, width=setup.width, exits=setup.exits)
    watched = Examples.place(*parts.validation, place)
    network, history = train_new(
        spec,
        method.objective,
        Examples.place(*parts.train, place),
        setup.training,
        seed=config.seed,
        start=None if weights is None else Weights(weights, new_head=method.new_head),
        watched=watched if setup.training.patience else None,
        on_progress=on_progress,
    )
    test = Examples.place(*parts.test, place)
    if isinstance(method.objective, nn.Module):
        method.objective.cpu()
    scored = methods.score(
        method,
        config,
        info,
        _outputs(network, test),
        parts.test[1],
        held_back=(_outputs(network, watched), parts.validation[1]) if config.calibrate else None,
    )
    exits, stops = score_exits(network, config, info, test, watched)
    seen = limited(parts.train[1], len(parts.test[1]))
    answers = method.scores(
        _outputs(network, Examples.place(parts.train[0][seen], parts.train[1][seen], place))
    )
    result = RunResult(
        config=config,
        status="ok",
        provenance=provenance(
            time.perf_counter() - started, device=str(place), threads=torch.get_num_threads()
        ),
        train_losses=history.train,
        validation_losses=history.validation,
        best_epoch=history.best_epoch,
        train_images=len(parts.train[1]),
        parameters=parameter_count(network),
        exits=exits,
        stops=stops,
        train_confusion=scoring.count(answers.numpy(), parts.train[1][seen]),
        **scored.of_result(),
    )
    return TrainedRun(result, scored.probs, network)


def _train_trees(
    config: RunConfig,
    data: Opened,
    info: DatasetInfo,
    method: methods.Method,
    started: float,
    on_progress: Callable[[Progress], None] | None,
) -> TrainedRun:
    """The same by boosted trees, whose scores are answered as a network's are."""
    found = boosted.train_trees(config, data, info, on_progress)
    validation, test, train = (
        torch.from_numpy(np.asarray(scores, dtype=np.float32))
        for scores in (found.validation, found.test, found.train)
    )
    labels, parts = data.labels, found.parts
    scored = methods.score(
        method,
        config,
        info,
        test,
        labels[parts.test],
        held_back=(validation, labels[parts.validation]) if config.calibrate else None,
    )
    result = RunResult(
        config=config,
        status="ok",
        provenance=provenance(
            time.perf_counter() - started, device="cpu", threads=torch.get_num_threads()
        ),
        validation_losses=found.history.validation,
        best_epoch=found.history.best_epoch,
        train_images=len(parts.train),
        parameters=found.trees,
        train_confusion=scoring.count(train.numpy(), labels[found.seen]),
        **scored.of_result(),
    )
    return TrainedRun(result, scored.probs, None)


def _parts(config: RunConfig, data: Dataset | Opened) -> RunParts:
    if isinstance(data, Opened):
        found = data.split(config)
        inputs = data.inputs(data.source.fit_preprocessing(found.train))
        shares = (found.train, found.validation, found.test)
        return RunParts(*((inputs[part], data.labels[part]) for part in shares))
    found = split(config, data)
    return RunParts(
        (data.train_images[found.train], data.train_labels[found.train]),
        (data.train_images[found.validation], data.train_labels[found.validation]),
        (data.test_images[found.test], data.test_labels[found.test]),
    )


def _outputs(network: nn.Module, examples: Examples) -> Tensor:
    return outputs_of(network, examples.inputs)[-1].float().cpu()
