"""The runs of a directory, as entries of a storage: made once, and read beside their writer.

run      by run id: config, confusion matrix, decisions, losses, provenance; of baselines also
         the test probabilities
weights  by run id: a network's numbers as safetensors, of runs that others continue from
sweep    by name: what was asked for, with the config of every run, so that gaps can be named
dataset  by name: class names, groups, fingerprint

with Store.read("runs/mnist") as store:
    for sweep in store.sweeps():
        results = store.results(sweep)      # finished runs, in the order of the sweep
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from untrue.array_types import IntArray
from untrue.lab.records import (
    Confidence,
    DatasetInfo,
    Decision,
    EarlyStop,
    ExitResult,
    PenaltySpec,
    Provenance,
    RunConfig,
    RunResult,
    Sweep,
    Validated,
)
from untrue.lab.specs import fields_of
from untrue.storage import Damaged, Entry, Storage, StorageError, entry_id

FILE = "runs.sqlite"
RUN, SWEEP, DATASET, WEIGHTS = "run", "sweep", "dataset", "weights"
OTHER = "Choose another --out."
CONFUSION, PROBS, TRAIN = "confusion", "probs", "train confusion"
SURE, HIGH, SAFETENSORS = "confidence", "high confidence", "safetensors"
STATES = ("ok", "failed")
# The kinds of number that counts are kept in: the first that holds them all.
COUNTS = (np.uint8, np.uint16, np.int64)
# What of a run has confusion matrices of its own: the name of its arrays, and of its field.
_NESTED = {"decision": "decisions", "exit": "exits", "stop": "stops"}


class Store:
    """The results of a directory. Open with `Store.write` (one process) or `Store.read` (any)."""

    def __init__(self, storage: Storage, path: Path) -> None:
        self.path = path
        self._storage = storage

    @classmethod
    def write(cls, directory: str | Path) -> Self:
        """Open for reading and writing; the directory and the file are made when absent."""
        path = Path(directory) / FILE
        return cls(Storage.write(path, other=OTHER), path)

    @classmethod
    def read(cls, directory: str | Path) -> Self:
        """Open for reading only: entries stay as they are, and nothing is left beside the file."""
        path = Path(directory) / FILE
        if Path(directory).is_file():
            raise StorageError(
                f"{directory} is a file; name the folder that `untrue run` or `untrue compare` "
                "made."
            )
        if not path.is_file():
            raise StorageError(
                f"No results in {directory}: {FILE} is not there. "
                f"Make some with `untrue run EXPERIMENT --out {directory}`."
            )
        return cls(Storage.read(path, other="Choose another directory."), path)

    @classmethod
    def memory(cls) -> Self:
        """An empty store that nobody keeps."""
        return cls(Storage.memory(), Path(FILE))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._storage.close()

    def add(
        self,
        result: RunResult,
        *,
        probs: npt.NDArray[np.float32] | None = None,
        weights: bytes | None = None,
    ) -> None:
        """Store one run whole, or not at all. A run of the same id is replaced.

        weights: its network as safetensors, in an entry of its own.
        """
        entries = [_from_run(result, probs)]
        if weights is not None:
            label, content = f"weights of {result.config.label}", np.frombuffer(weights, np.uint8)
            entries.append(Entry(WEIGHTS, result.run_id, label, {}, {SAFETENSORS: content}))
        self._storage.put(*entries)

    def add_decisions(self, run_id: str, decisions: Iterable[Decision]) -> None:
        """Score a finished run on more cost matrices; one that was there is replaced."""
        entry = self._storage.get(RUN, run_id)
        if not isinstance(entry, Entry):
            raise StorageError(f"There is no whole run {run_id} in {self.path} to score.")
        self.add(_to_run(entry).with_decisions(decisions), probs=entry.arrays.get(PROBS))

    def add_dataset(self, info: DatasetInfo) -> None:
        """Note a data set; refuses when the runs here were made from other files."""
        known = self.dataset(info.name)
        if known is not None and known.fingerprint != info.fingerprint:
            raise StorageError(
                f"The runs in {self.path.parent} were made with other files of {info.name!r} "
                f"({known.train_images} training and {known.test_images} test images; now "
                f"{info.train_images} and {info.test_images}). {OTHER}"
            )
        self._storage.put(Entry(DATASET, info.name, f"data set {info.name}", info.to_dict()))

    def add_sweep(self, sweep: Sweep) -> None:
        """Note what is asked for. A sweep of the same name is replaced; its runs stay."""
        self._storage.put(Entry(SWEEP, sweep.name, f"plan of {sweep.name}", sweep.to_dict()))

    def status(self) -> dict[str, str]:
        """'ok' or 'failed' by run id. Damaged runs are not in it."""
        found = {entry.key: entry.facts.get("status") for entry in self._storage.entries(RUN)}
        return {run_id: state for run_id, state in found.items() if state in STATES}

    def run(self, run_id: str) -> RunResult | Damaged | None:
        """One run, or None when it has not been made."""
        return self._storage.get_as(RUN, run_id, _to_run)

    def result(self, run_id: str) -> RunResult | None:
        """One run, or None when it has not been made or is damaged."""
        return _whole(self.run(run_id))

    def results(self, sweep: Sweep | None = None) -> Iterator[RunResult]:
        """Finished runs, failed ones too: those of a sweep in its order, or all by run id."""
        if sweep is None:
            yield from self._storage.all_as(RUN, _to_run)
        else:
            found = (self.result(config.run_id) for config in sweep.configs)
            yield from (run for run in found if run is not None)

    def probs(self, run_id: str) -> npt.NDArray[np.float32] | None:
        """Test probabilities (N, k) of a baseline, in the order of the test images."""
        entry = self._storage.get(RUN, run_id)
        found = entry.arrays.get(PROBS) if isinstance(entry, Entry) else None
        return None if found is None else found.astype(np.float32)

    def weights(self, run_id: str) -> bytes | None:
        """The weights of a run as safetensors; None when they were not kept or are damaged."""
        return _whole(self._storage.get_as(WEIGHTS, run_id, _to_weights))

    def has_weights(self, run_id: str) -> bool:
        return self.weights(run_id) is not None

    def sweeps(self) -> list[Sweep]:
        """What was asked for in this directory, by name."""
        return list(self._storage.all_as(SWEEP, _to_sweep))

    def dataset(self, name: str) -> DatasetInfo | None:
        """What is known of a data set, or None when that is not noted or damaged."""
        return _whole(self._storage.get_as(DATASET, name, _to_dataset))

    def datasets(self) -> list[DatasetInfo]:
        """What is known of the data sets, by name."""
        return list(self._storage.all_as(DATASET, _to_dataset))

    def damaged(self) -> tuple[Damaged, ...]:
        """Every entry that is left out because it cannot be trusted."""
        return self._storage.damaged(READERS)

    def damaged_runs(self, configs: Sequence[RunConfig]) -> list[RunConfig]:
        """Those whose run is there but damaged."""
        bad = {entry.id for entry in self.damaged()}
        return [config for config in configs if run_entry(config.run_id) in bad]

    def problem(self) -> str | None:
        """What is wrong with the file as a whole, or None."""
        return self._storage.problem()


T = TypeVar("T")


def run_entry(run_id: str) -> int:
    """The `Damaged.id` of a run that is damaged."""
    return entry_id(RUN, run_id)


def _whole(found: T | Damaged | None) -> T | None:
    return None if isinstance(found, Damaged) else found


def _from_run(result: RunResult, probs: npt.NDArray[np.float32] | None) -> Entry:
    counts = {CONFUSION: result.confusion}
    if result.train_confusion is not None:
        counts[TRAIN] = result.train_confusion
    for kind, records in _NESTED.items():
        for number, record in enumerate(getattr(result, records)):
            counts[f"{kind} {number}"] = record.confusion
    arrays: dict[str, npt.NDArray[Any]] = {}
    if result.confidence is not None:
        counts[HIGH], arrays[SURE] = result.confidence.high, result.confidence.total
    arrays |= {name: _in_few_bytes(array) for name, array in counts.items()}
    facts = {
        **fields_of(result),
        "config": result.config.to_dict(),
        "provenance": fields_of(result.provenance),
        "decisions": [
            [d.costs.to_dict(), d.calibrated, d.posterior, d.share] for d in result.decisions
        ],
        "validated": [[v.rule, v.error, v.cost, v.share] for v in result.validated],
        "exits": [[e.work, e.temperature] for e in result.exits],
        "stops": [[s.threshold, s.seconds, s.saved, s.by_exit] for s in result.stops],
    }
    for name in ("confusion", "train_confusion", "confidence"):
        del facts[name]
    return Entry(
        RUN,
        result.run_id,
        result.config.label,
        facts,
        arrays if probs is None else {**arrays, PROBS: probs},
    )


def _to_run(entry: Entry) -> RunResult:
    fields = dict(entry.facts)
    if fields["status"] not in STATES:
        raise ValueError(f"its status is {fields['status']!r}")
    k = len(entry.arrays[CONFUSION])
    decisions = tuple(
        Decision(PenaltySpec.from_dict(costs), _counts(entry, f"decision {number}", k), *how)
        for number, (costs, *how) in enumerate(fields.pop("decisions"))
    )
    sure = None
    if SURE in entry.arrays:
        sure = Confidence(_square(entry, SURE, k, (np.float64,)), _counts(entry, HIGH, k))
    exits = tuple(
        ExitResult(work, _counts(entry, f"exit {number}", k), temperature)
        for number, (work, temperature) in enumerate(fields.pop("exits"))
    )
    stops = tuple(
        EarlyStop(threshold, seconds, saved, tuple(by_exit), _counts(entry, f"stop {number}", k))
        for number, (threshold, seconds, saved, by_exit) in enumerate(fields.pop("stops"))
    )
    for name in ("train_losses", "validation_losses", "ece"):
        fields[name] = None if fields[name] is None else tuple(fields[name])
    provenance = dict(fields.pop("provenance"))
    provenance["versions"] = tuple((name, text) for name, text in provenance["versions"])
    return RunResult(
        config=RunConfig.from_dict(fields.pop("config")),
        provenance=Provenance(**provenance),
        confusion=_counts(entry, CONFUSION, k),
        decisions=decisions,
        exits=exits,
        stops=stops,
        confidence=sure,
        train_confusion=_counts(entry, TRAIN, k) if TRAIN in entry.arrays else None,
        validated=tuple(Validated(*each) for each in fields.pop("validated", ())),
        **fields,
    )


def _in_few_bytes(counts: IntArray) -> npt.NDArray[Any]:
    """Most counts of many classes are small, and a store holds several matrices of each run."""
    kinds = (kind for kind in COUNTS if counts.max(initial=0) <= np.iinfo(kind).max)
    return counts.astype(next(kinds))


def _counts(entry: Entry, name: str, k: int) -> IntArray:
    return _square(entry, name, k, COUNTS).astype(np.int64)


def _square(entry: Entry, name: str, k: int, kinds: Sequence[type[np.generic]]) -> npt.NDArray[Any]:
    found = entry.arrays[name]
    if found.dtype not in kinds or found.shape != (k, k):
        raise ValueError(f"{name} is {found.dtype} of shape {found.shape}, not ({k}, {k})")
    return found


def _to_weights(entry: Entry) -> bytes:
    found = entry.arrays[SAFETENSORS]
    if found.dtype != np.uint8 or found.ndim != 1:
        raise ValueError("the weights are no bytes")
    return found.tobytes()


def _to_sweep(entry: Entry) -> Sweep:
    return Sweep.from_dict(entry.facts)


def _to_dataset(entry: Entry) -> DatasetInfo:
    return DatasetInfo.from_dict(entry.facts)


# How each kind of entry is read; what they cannot read is damaged.
READERS: dict[str, Callable[[Entry], object]] = {
    RUN: _to_run,
    SWEEP: _to_sweep,
    DATASET: _to_dataset,
    WEIGHTS: _to_weights,
}
