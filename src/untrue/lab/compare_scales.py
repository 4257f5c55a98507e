"""How strongly each method of the comparison is asked to mind the costs, and how it is trained.

Strengths are those of the list of losses (`untrue.losses.registry`). They go from weak to strong
and hold for costs of at most 1 (normalization "max"). They are chosen so that the weakest is close
to plain cross-entropy and the strongest pays for fewer costly mistakes with more errors; every
method has as many as the others, so that none is tuned more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from untrue.checks import check_known
from untrue.lab.design import SCALES
from untrue.losses import registry
from untrue.training import suited_to

USUAL = {"validation": 500, "normalization": "max"}
# Which strengths a quick look takes.
SMOKE = slice(1, 2)

_MNIST = {"network": "mnist", "validation": 5000}
_CIFAR = {"epochs": 300, "validation": 5000, "patience": 20}
# Few images and epochs for two cores: small batches get further in them. A learning rate above
# this, or the CIFAR-100 network with its dropout, leaves cross-entropy at chance for as long.
_CIFAR_DESK = {
    "network": "cifar10",
    "epochs": 8,
    "batch_size": 10,
    "learning_rate": 3e-4,
    "width": 0.25,
    "validation": 1000,
    "limit_train": 10_000,
    "limit_test": 5000,
}
_SMOKE = {"epochs": 1, "validation": 200, "limit_train": 1200, "limit_test": 500}

# By data set, then by scale. What is not given here: see `Design`.
SETTINGS: dict[str, dict[str, Mapping[str, Any]]] = {
    "digits": {
        "smoke": {"network": "digits", "epochs": 5, "validation": 200},
        "desk": {"network": "digits", "epochs": 20, "validation": 200, "repetitions": 5},
        "paper": {"network": "digits", "epochs": 50, "validation": 200, "repetitions": 20},
    },
    "mnist-5k": {
        "smoke": {**_MNIST, **_SMOKE},
        # 1000 test images hold few errors of a kind: many repetitions tell more than many epochs.
        "desk": {**_MNIST, "epochs": 5, "width": 0.5, "validation": 500, "repetitions": 10},
        "paper": {**_MNIST, "epochs": 10, "validation": 500, "repetitions": 50},
    },
    "mnist": {
        "smoke": {**_MNIST, **_SMOKE},
        "desk": {**_MNIST, "epochs": 3, "repetitions": 3},
        "paper": {**_MNIST, "epochs": 10, "repetitions": 10},
    },
    "cifar10": {
        "smoke": {"network": "cifar10", **_SMOKE, "width": 0.125},
        "desk": {**_CIFAR_DESK, "repetitions": 2},
        "paper": {"network": "cifar10", **_CIFAR, "repetitions": 10},
    },
}
SETTINGS["fashion-mnist"] = SETTINGS["mnist"]
SETTINGS["cifar100"] = {
    "smoke": {**SETTINGS["cifar10"]["smoke"], "network": "cifar100"},
    "desk": SETTINGS["cifar10"]["desk"],
    "paper": {**SETTINGS["cifar10"]["paper"], "network": "cifar100"},
}


def strengths(method: str, scale: str) -> tuple[float, ...]:
    """The strengths a method is tried with; empty for cross-entropy and those without a knob."""
    known = {entry.label: entry.strengths for entry in registry.COMPARED}[method]
    return known[SMOKE] if scale == "smoke" else known


def settings_of(data: str, scale: str) -> dict[str, Any]:
    """The options of a `Design` that suit a data set at a scale."""
    check_known("scale", scale, SCALES)
    return {**USUAL, **SETTINGS[data][scale]}


def own_settings(examples: int, scale: str) -> dict[str, Any]:
    """The same for a person's own data with this many training examples."""
    check_known("scale", scale, SCALES)
    usual = suited_to(examples)
    return {
        **USUAL,
        "batch_size": usual.batch_size,
        "learning_rate": usual.learning_rate,
        "optimizer": usual.optimizer,
        "weight_decay": usual.weight_decay,
        "patience": usual.patience,
        "epochs": min(5, usual.epochs) if scale == "smoke" else usual.epochs,
        "repetitions": {"smoke": 1, "desk": 5, "paper": 20}[scale],
    }
