"""The runs of several directories in one: made on other machines, or published with their report.

A run's id is a hash of what decides its result: the same id is the same run wherever it was made.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import numpy.typing as npt

from untrue.errors import counted
from untrue.lab.records import RunResult, Sweep
from untrue.lab.store import Store
from untrue.storage import StorageError, locked


@dataclasses.dataclass(frozen=True, slots=True)
class Merged:
    """added: runs that came in. known: those that were there. damaged: entries left out."""

    added: int
    known: int
    damaged: int


def merge(sources: Sequence[str | Path], out: str | Path, *, results_only: bool = False) -> Merged:
    """Copy into `out` what the directories `sources` hold and it lacks; they stay as they are.

    A finished run takes the place of one that failed; one that is there, and came out the same,
    gets the weights, test probabilities and decisions it lacks. Sweeps of the same name become one,
    with the runs of all.
    Nothing is copied where two directories used other files of a data set, or where sweeps of the
    same name have other costs or were trained in another way.

    results_only: without weights and test probabilities, which are most of the bytes. Such runs can
        be reported and completed by others. Where weights are to be kept, or other costs to be
        scored, `untrue run` trains them again.
    """
    with ExitStack() as opened:
        stores = [opened.enter_context(Store.read(source)) for source in sources]
        _check_same_data(sources, stores)
        _check_same_sweeps(sources, stores)
        opened.enter_context(locked(out))
        target = opened.enter_context(Store.write(out))
        _check_same_sweeps([out, *sources], [target, *stores])
        for store in stores:
            for info in store.datasets():
                target.add_dataset(info)
        added = sum(_copied(store, target, results_only) for store in stores)
        for store in stores:
            for sweep in store.sweeps():
                target.add_sweep(_with_runs_of(target, sweep))
        runs = sum(len(store.status()) for store in stores)
        return Merged(added, runs - added, sum(len(store.damaged()) for store in stores))


def _check_same_data(sources: Sequence[str | Path], stores: Sequence[Store]) -> None:
    """Before anything is written: the same files behind each data set."""
    seen: dict[str, tuple[str, str | Path]] = {}
    for source, store in zip(sources, stores, strict=True):
        for info in store.datasets():
            fingerprint, first = seen.setdefault(info.name, (info.fingerprint, source))
            if fingerprint != info.fingerprint:
                raise StorageError(
                    f"The runs in {first} and {source} were made with other files of "
                    f"{info.name!r}; merge them into two directories."
                )


def _check_same_sweeps(places: Sequence[str | Path], stores: Sequence[Store]) -> None:
    """Before a run is written: sweeps of one name were made alike, or a report's means mix them."""
    seen: dict[tuple[str, str], tuple[set[object], str | Path]] = {}
    for place, store in zip(places, stores, strict=True):
        for sweep in store.sweeps():
            for how, stated in _made(sweep).items():
                known, first = seen.setdefault((sweep.name, how), (stated, place))
                if stated != known:
                    raise StorageError(
                        f"{sweep.name} in {first} and {place} was {how}; merge them into two "
                        "directories."
                    )


def _made(sweep: Sweep) -> dict[str, set[object]]:
    """What the runs of a sweep share, each with the words for a sweep that has it otherwise."""
    configs = sweep.configs
    # Zones are drawn for each repetition; what a mistake in them costs is not. Their size is an
    # axis of the experiments, but all settings of a comparison have the same.
    sized = sweep.experiment == "compare"
    costs: set[object] = {
        (dataclasses.replace(spec, cells=()), spec.zone_size if sized else 0)
        for config in configs
        for spec in config.score_on
    }
    # A plan that waits for its starts does not say yet how the others are trained.
    starts = {config.start.run_id for config in configs if config.start is not None}
    whole = len(configs) >= sweep.expected
    setups: set[object] = {
        (config.setup, config.start and config.start.epochs)
        for config in configs
        if whole and config.run_id not in starts
    }
    norms: set[object] = {config.penalty.normalization for config in configs if config.penalty}
    small: set[object] = {config.small_classes for config in configs if config.small_classes}
    found = {
        "judged by other costs": costs,
        "trained in another way (epochs, network or other options)": setups,
        "trained in another way (normalization of the penalty)": norms,
        "trained in another way (classes that were cut)": small,
    }
    return {how: stated for how, stated in found.items() if stated}


def _copied(source: Store, target: Store, results_only: bool) -> int:
    """How many runs came in."""
    return sum(
        add_or_complete(
            target,
            run,
            probs=None if results_only else source.probs(run.run_id),
            weights=None if results_only else source.weights(run.run_id),
        )
        for run in source.results()
    )


def add_or_complete(
    target: Store,
    run: RunResult,
    *,
    probs: npt.NDArray[np.float32] | None,
    weights: bytes | None,
) -> bool:
    """Keep a run of another directory; False: it was there, and got what it lacked."""
    there = target.result(run.run_id)
    if there is None or (there.status, run.status) == ("failed", "ok"):
        target.add(run, probs=probs, weights=weights)
        return True
    if run.status == "ok" and same_outcome(there, run):
        whole, kept = there.with_decisions(run.decisions), target.probs(run.run_id)
        more = len(whole.decisions) > len(there.decisions)
        weights = None if target.has_weights(run.run_id) else weights
        if more or weights is not None or (kept is None and probs is not None):
            target.add(whole, probs=probs if kept is None else kept, weights=weights)
    return False


def same_outcome(one: RunResult, other: RunResult) -> bool:
    """Processors round differently: what one run lacks must not come from another network."""
    return one.test_loss == other.test_loss and np.array_equal(one.confusion, other.confusion)


def check_replaceable(store: Store, there: RunResult) -> None:
    """Refuse to replace a run by one that came out otherwise, where its weights are in use."""
    starts = (run.config.start for run in store.results())
    others = sum(start is not None and start.run_id == there.run_id for start in starts)
    if not others and not store.has_weights(there.run_id):
        return
    made = there.provenance
    why = (
        f"{counted(others, 'run')} there continue{'s' if others == 1 else ''} from its weights"
        if others
        else "its weights are kept there"
    )
    raise StorageError(
        f"{there.config.label} came out otherwise than in {store.path.parent} ({made.hardware}, "
        f"{counted(made.threads, 'thread')}), and {why}, which are none of the new run: it is left "
        "as it was. Other processors and other numbers of threads round differently: choose "
        "another --out."
    )


def _with_runs_of(target: Store, sweep: Sweep) -> Sweep:
    """The sweep, with the runs that one of the same name has there."""
    there = next((known for known in target.sweeps() if known.name == sweep.name), None)
    if there is None:
        return sweep
    configs = {config.run_id: config for config in there.configs}
    for config in sweep.configs:
        # A baseline is scored on the zones of both.
        known = configs.get(config.run_id, config).score_on
        score_on = tuple(dict.fromkeys((*known, *config.score_on)))
        configs[config.run_id] = dataclasses.replace(config, score_on=score_on)
    expected = max(there.expected, sweep.expected, len(configs))
    return dataclasses.replace(there, configs=tuple(configs.values()), expected=expected)
