"""Networks as learners: trained by the one loop, kept as safetensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from untrue.array_types import FloatArray, IntArray
from untrue.losses import registry
from untrue.networks import NETWORKS, NetworkSpec, from_spec
from untrue.networks.weights import check_values, from_bytes, to_bytes
from untrue.penalty import ExamplePenalty, Penalty
from untrue.tools.fitting.learners import FitTask, Fitted, Tell
from untrue.training import Settings
from untrue.training.estimate import seconds_per_epoch
from untrue.training.evaluation import Objective, logits_of
from untrue.training.examples import Examples
from untrue.training.loop import Weights, train_new
from untrue.training.progress import duration

WORTH_SAYING = 5.0
"""Seconds below which nobody asks how long a training takes."""


@dataclass(frozen=True, slots=True, eq=False)
class NetworkPredictor:
    """A trained network with the spec it was built from."""

    spec: NetworkSpec
    network: nn.Module
    file: str = "weights.safetensors"

    @property
    def inputs(self) -> tuple[int, ...]:
        return self.spec.inputs

    @property
    def n_classes(self) -> int:
        return self.spec.n_classes

    def logits(self, inputs: npt.NDArray[Any]) -> FloatArray:
        return np.asarray(logits_of(self.network, inputs), dtype=np.float64)

    def content(self) -> bytes:
        return to_bytes(self.network)

    def description(self) -> dict[str, Any]:
        return {"kind": "network", **asdict(self.spec), "inputs": list(self.spec.inputs)}

    def words(self) -> str:
        return f"network {self.spec.name}, inputs {' x '.join(map(str, self.spec.inputs))}"


@dataclass(frozen=True, slots=True)
class NetworkLearner:
    """A kind of network for some data, and how it is trained. start: what it continues from."""

    spec: NetworkSpec
    how: Settings
    start: Weights | None = None

    def train(self, task: FitTask, *, seed: int, on_progress: Tell | None = None) -> Fitted:
        objective, examples, watched = _placed(task)
        network, history = train_new(
            self.spec,
            objective,
            examples,
            self.how,
            seed=seed,
            watched=watched,
            start=self.start,
            on_progress=on_progress,
        )
        return Fitted(NetworkPredictor(self.spec, network), history)

    def time_in_words(self, task: FitTask) -> str | None:
        objective, examples, watched = _placed(task)
        epoch = seconds_per_epoch(self.spec, objective, examples, self.how, watched=watched)
        if epoch * self.how.epochs < WORTH_SAYING:
            return None
        return (
            f"A model takes at most about {duration(epoch * self.how.epochs)} here: "
            f"{self.how.epochs} epochs of {duration(epoch)}, batches of {self.how.batch_size:,}"
        )

    def settings(self) -> dict[str, Any]:
        return {
            "model": "network",
            "library": f"torch {torch.__version__}",
            "network": self.spec.name,
            **self.how.to_dict(),
        }


def _placed(task: FitTask) -> tuple[Objective, Examples, Examples]:
    """What is minimised, the examples to learn from, and those to watch."""
    objective, target = objective_and_target(task.loss, task.penalty, task.alpha, task.labels)
    train, watched = (
        Examples.place(task.inputs[rows], target[rows])
        for rows in (task.parts.train, task.parts.validation)
    )
    return objective, train, watched


def objective_and_target(
    loss: str, penalty: Penalty | ExamplePenalty, alpha: float, labels: IntArray
) -> tuple[Objective, IntArray]:
    """What is minimised, by the name of the loss, and what it takes as targets: (N,)."""
    if loss == registry.CROSS_ENTROPY:
        return F.cross_entropy, labels
    if not isinstance(penalty, ExamplePenalty):
        return registry.find(loss).make(penalty, strength=alpha), labels
    by_class = registry.find(loss).make(penalty.mean(labels), strength=alpha)
    return ExampleObjective(by_class, penalty, labels), np.arange(len(labels))


class ExampleObjective(nn.Module):
    """A loss with costs of each example. Its targets are positions of examples, not classes:
    it knows the class and the row of costs (k,) of each."""

    labels: Tensor
    rows: Tensor

    def __init__(self, loss: nn.Module, costs: ExamplePenalty, labels: IntArray) -> None:
        super().__init__()
        self.loss = loss
        self.register_buffer("labels", torch.from_numpy(np.asarray(labels, dtype=np.int64)))
        rows = costs.rows(labels).astype(np.float32)
        self.register_buffer("rows", torch.from_numpy(rows))

    @property
    def alpha(self) -> float:
        return float(self.loss.alpha)  # type: ignore[arg-type]

    @alpha.setter
    def alpha(self, value: float) -> None:
        self.loss.alpha = value  # type: ignore[assignment]

    def forward(self, logits: Tensor, positions: Tensor) -> Tensor:
        found: Tensor = self.loss(logits, self.labels[positions], costs=self.rows[positions])
        return found


def load(description: Mapping[str, Any], content: bytes) -> NetworkPredictor:
    """A network from a folder; a ValueError where its parts do not fit."""
    spec = NetworkSpec(
        str(description["name"]),
        tuple(map(int, description["inputs"])),
        int(description["n_classes"]),
        float(description["width"]),
    )
    if spec.name not in NETWORKS:
        raise ValueError(f"network {spec.name!r}")
    network = _filled(spec, from_bytes(content))
    network.eval()
    return NetworkPredictor(spec, network)


def _filled(spec: NetworkSpec, weights: Mapping[str, Tensor]) -> nn.Module:
    """The network with these weights, each of the right shape and finite.

    It is built without memory of its own: a description of enormous layers takes none.
    """
    with torch.device("meta"):
        network = from_spec(spec)
    kinds = {name: value.dtype for name, value in network.state_dict().items()}
    network.load_state_dict(weights, assign=True)
    check_values(network, kinds)
    return network
