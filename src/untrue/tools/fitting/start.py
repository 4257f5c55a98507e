"""Fitting that continues from a model: same weights and preprocessing, a few epochs more."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from untrue.array_types import IntArray
from untrue.errors import ArgumentError, listed
from untrue.tools.fitting.learners import Choice, Learner
from untrue.tools.fitting.model import Model
from untrue.tools.fitting.model_folder import load_model
from untrue.tools.reading.images import ImagePreprocessing
from untrue.tools.reading.sources import Preprocessing, Source, TableSource
from untrue.training import Settings, continued
from untrue.training.splits import Split

# How many rows of inputs are hashed at once.
HASHED = 4096


@dataclass(frozen=True, slots=True, eq=False)
class StartModel:
    """A model to continue from. where: how messages call it."""

    model: Model
    where: str

    @property
    def network(self) -> str:
        return str(self.model.predictor.description()["name"])

    def choose(
        self, asked: str | None, given: Mapping[str, Any], *, rounds: int | None
    ) -> tuple[Choice, Settings]:
        """The network of the model, and how its training continues: a few epochs, or as given."""
        if asked not in (None, "network", self.network):
            raise ArgumentError(
                f"`start_from` {self.where} has the network {self.network!r}; `model` {asked!r} "
                "cannot continue from its weights. Leave `model` out."
            )
        if rounds is not None:
            raise ArgumentError("`rounds` belongs to boosted trees; `start_from` is for networks.")
        known = self.model.training
        names = [field.name for field in fields(Settings)]
        how = Settings.from_dict({"epochs": 1, **{n: known[n] for n in names if n in known}})
        asked_for = {name: value for name, value in given.items() if value is not None}
        return Choice(self.network, f"that of {self.where}"), continued(how, asked_for)

    def check(self, source: Source, classes: tuple[str, ...], parts: Split, seed: int) -> None:
        """Refuse data of another kind, other columns or classes, and another split: the model would
        be measured on examples it has learned from."""
        if source.kind != self.model.kind:
            raise ArgumentError(
                f"`start_from` {self.where} was fitted to data of kind {self.model.kind!r}; these "
                f"are {source.kind!r}."
            )
        self._check_columns(source)
        if classes != self.model.classes:
            raise ArgumentError(
                f"`start_from` {self.where} has other classes: {listed(self.model.classes)}; these "
                f"are {listed(classes)}."
            )
        now = {
            "seed": seed,
            "train": len(parts.train),
            "validation": len(parts.validation),
            "test": len(parts.test),
        }
        known = {name: self.model.training.get(name) for name in now}
        if known != now:
            name = next(name for name in now if known[name] != now[name])
            raise ArgumentError(
                f"`start_from` {self.where} was fitted with another split ({name} {known[name]}, "
                f"now {now[name]}), so examples it has learned from would be measured on. Give the "
                "same data, seed and shares."
            )

    def check_rows(self, inputs: npt.NDArray[Any], labels: IntArray, parts: Split) -> None:
        """Refuse other rows in a split of the same sizes: some that are held out now may be among
        those that the model has learned from."""
        known = self.model.training.get("rows_sha256")
        if known is None:
            raise ArgumentError(
                f"`start_from` {self.where} does not record which rows it learned from, so rows "
                "held out now may be among them. Continue from a model of `untrue fit`."
            )
        if known != rows_digest(inputs, labels, parts):
            raise ArgumentError(
                f"`start_from` {self.where} learned from other rows, or from these in another "
                "order, so rows held out now may be among those it learned from. Give the file it "
                "was fitted to, unchanged; or leave `start_from` out and train from the start."
            )

    def _check_columns(self, source: Source) -> None:
        """The weights belong to columns by their place: each must be what it was."""
        preprocessing = self.model.preprocessing
        if not isinstance(source, TableSource) or isinstance(preprocessing, ImagePreprocessing):
            return
        known, now = preprocessing.schema, source.schema
        if (known.numbers, known.categories) == (now.numbers, now.categories):
            return
        lost = [name for name in known.names if name not in now.names]
        new = [name for name in now.names if name not in known.names]
        parts = [
            *([f"it has {listed(lost)}, which these lack"] if lost else []),
            *([f"these have {listed(new)}, which it lacks"] if new else []),
        ]
        what = "; ".join(parts) or "their order or kind (numbers, categories) differs"
        raise ArgumentError(
            f"`start_from` {self.where} learned from other columns: {what}. Give the same columns "
            "in the same order."
        )

    def prepare(
        self, source: Source, settings: Settings
    ) -> tuple[Learner, Preprocessing, npt.NDArray[Any]]:
        """A learner with the weights, and the inputs as the model has them."""
        from untrue.tools.fitting.network import NetworkLearner, NetworkPredictor
        from untrue.training.loop import Weights

        predictor = self.model.predictor
        assert isinstance(predictor, NetworkPredictor)
        preprocessing = self.model.preprocessing
        start = Weights(predictor.content())
        learner = NetworkLearner(predictor.spec, settings, start=start)
        inputs = source.inputs(preprocessing)
        source.release()
        return learner, preprocessing, inputs

    def record(self) -> dict[str, Any]:
        """Where a model came from, for its record."""
        digest = hashlib.sha256(self.model.predictor.content()).hexdigest()
        known = self.model.training
        return {"weights_sha256": digest, "loss": known.get("loss"), "alpha": known.get("alpha")}


def rows_digest(inputs: npt.NDArray[Any], labels: IntArray, parts: Split) -> str:
    """SHA-256 of the rows that a model learns from and watches, with their labels, in order."""
    digest = hashlib.sha256()
    for part in (parts.train, parts.validation):
        digest.update(f"{inputs.dtype} {(len(part), *inputs.shape[1:])}".encode())
        for start in range(0, len(part), HASHED):
            rows = part[start : start + HASHED]
            digest.update(np.ascontiguousarray(inputs[rows]).data)
            digest.update(np.ascontiguousarray(labels[rows], dtype=np.int64).data)
    return digest.hexdigest()


def read_start(given: Model | str | Path) -> StartModel:
    """A model, or the folder of one; refuses one that is no network."""
    if not isinstance(given, Model | str | Path):
        raise ArgumentError(
            f"`start_from` must be a model, or the folder of one; got {given!r}. Give "
            "`fit(...).model`, or the folder that `untrue fit --out` wrote."
        )
    model = given if isinstance(given, Model) else load_model(Path(given))
    where = "the model given" if isinstance(given, Model) else str(given)
    kind = model.predictor.description()["kind"]
    if kind != "network":
        raise ArgumentError(
            f"`start_from` {where} is a model of {kind}, which cannot be trained further; only a "
            "network can (`--model network`)."
        )
    return StartModel(model, where)
