"""Train one model of a comparison on a person's own data, as `untrue fit` trains."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from untrue.lab import methods
from untrue.lab.machine import provenance
from untrue.lab.models import parameter_count
from untrue.lab.own_data import Opened
from untrue.lab.records import RunConfig, RunResult
from untrue.lab.training import Progress, Trained
from untrue.tools.fitting.fit import fitted_network
from untrue.tools.fitting.networks import choose_network
from untrue.tools.fitting.training import Progress as Epoch
from untrue.tools.fitting.training import Settings, logits_of


def train(
    config: RunConfig,
    data: Opened,
    *,
    on_progress: Callable[[Progress], None] | None = None,
) -> Trained:
    """Train the model of `config` on the CPU and score it on the test part of its seed."""
    started = time.perf_counter()
    method = methods.build(config, data.info)
    parts = data.split(config)
    inputs = data.source.inputs(data.source.fit_preprocessing(parts.train))
    spec = choose_network(config.network, inputs.shape[1:], method.n_outputs)

    def tell(epoch: Epoch) -> None:
        if on_progress is not None:
            on_progress(Progress(epoch.epoch, epoch.epochs, 1, 1, epoch.train_loss))

    network, history = fitted_network(
        method.objective,
        spec,
        inputs,
        data.labels,
        parts,
        Settings(
            epochs=config.epochs,
            batch_size=config.batch_size,
            learning_rate=config.learning_rate,
            # Without patience every method gets all epochs, and the best of them is kept.
            patience=config.patience or config.epochs,
            seed=config.seed,
        ),
        tell,
    )
    scored = methods.score(
        method,
        config,
        data.info,
        torch.from_numpy(logits_of(network, inputs[parts.test])),
        data.labels[parts.test],
        held_back=(
            torch.from_numpy(logits_of(network, inputs[parts.validation])),
            data.labels[parts.validation],
        ),
    )
    result = RunResult(
        config=config,
        status="ok",
        provenance=provenance(
            time.perf_counter() - started, device="cpu", threads=torch.get_num_threads()
        ),
        confusion=scored.confusion,
        decisions=scored.decisions,
        train_losses=history.train,
        validation_losses=history.validation,
        best_epoch=history.best_epoch,
        test_loss=scored.test_loss,
        train_images=len(parts.train),
        parameters=parameter_count(network),
        temperature=scored.temperature,
        ece=scored.ece,
    )
    return Trained(result, scored.probs, network)
