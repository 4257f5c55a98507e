"""Directories merged into one: each run once, and nothing where the data differ."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from tests.cli.untrue_process import run_untrue
from tests.lab.test_store import (
    CONFIG,
    COSTS,
    FAILED,
    INFO,
    OTHER_COSTS,
    RESULT,
    same,
)

from untrue.lab.merging import Merged, merge
from untrue.lab.records import Decision, PenaltySpec, RunResult, Start, Sweep
from untrue.lab.store import FILE, Store
from untrue.storage import StorageError, locked

PROBS = np.full((10, 2), 0.5, dtype=np.float32)
SECOND = dataclasses.replace(RESULT, config=dataclasses.replace(CONFIG, seed=1))


def directory(path: Path, *results: RunResult, info: object = INFO, weights: bool = False) -> Path:
    """A directory with these runs and the sweep that asked for them."""
    configs = tuple(result.config for result in results)
    with Store.write(path) as store:
        store.add_dataset(info)  # type: ignore[arg-type]
        store.add_sweep(Sweep("masked-zone", "tiny", "desk", "untrue run", len(configs), configs))
        for result in results:
            store.add(result, probs=PROBS, weights=b"numbers" if weights else None)
    return path


def test_each_run_is_there_once_with_all_that_belongs_to_it(tmp_path: Path) -> None:
    first = directory(tmp_path / "a", RESULT, weights=True)
    both = directory(tmp_path / "b", RESULT, SECOND)
    before = [(place / FILE).read_bytes() for place in (first, both)]
    assert merge([first, both], tmp_path / "out") == Merged(added=2, known=1, damaged=0)
    with Store.read(tmp_path / "out") as store:
        (sweep,) = store.sweeps()
        found = list(store.results(sweep))
        assert [run.config.seed for run in found] == [0, 1]
        assert same(found[0], RESULT)
        assert same(found[1], SECOND)
        assert sweep.expected == 2
        assert store.datasets() == [INFO]
        assert np.array_equal(store.probs(RESULT.run_id), PROBS)  # type: ignore[arg-type]
        assert store.weights(RESULT.run_id) == b"numbers"
    assert [(place / FILE).read_bytes() for place in (first, both)] == before


def test_merging_again_adds_nothing(tmp_path: Path) -> None:
    first = directory(tmp_path / "a", RESULT)
    merge([first], tmp_path / "out")
    assert merge([first], tmp_path / "out") == Merged(added=0, known=1, damaged=0)


def test_results_only_are_small_and_can_be_reported(tmp_path: Path) -> None:
    first = directory(tmp_path / "a", RESULT, weights=True)
    merge([first], tmp_path / "out", results_only=True)
    with Store.read(tmp_path / "out") as store:
        assert same(store.result(RESULT.run_id), RESULT)  # type: ignore[arg-type]
        assert store.probs(RESULT.run_id) is None
        assert store.weights(RESULT.run_id) is None


def test_a_finished_run_takes_the_place_of_a_failed_one_and_not_the_other_way(
    tmp_path: Path,
) -> None:
    failed = directory(tmp_path / "a", FAILED)
    good = directory(tmp_path / "b", RESULT)
    for sources in ([failed, good], [good, failed]):
        out = tmp_path / f"out-{sources[0].name}"
        merge(sources, out)
        with Store.read(out) as store:
            assert store.status() == {RESULT.run_id: "ok"}


def test_decisions_by_other_costs_come_along(tmp_path: Path) -> None:
    more = Decision(OTHER_COSTS, np.array([[5, 0], [3, 2]]))
    scored = dataclasses.replace(RESULT, decisions=(*RESULT.decisions, more))
    merge([directory(tmp_path / "a", RESULT), directory(tmp_path / "b", scored)], tmp_path / "out")
    with Store.read(tmp_path / "out") as store:
        found = store.result(RESULT.run_id)
        assert found is not None
        assert [made.costs for made in found.decisions] == [d.costs for d in scored.decisions]


def test_a_baseline_keeps_the_zones_of_every_directory(tmp_path: Path) -> None:
    """Zones of 10 cells made here, of 30 there: the report sets both beside the same baseline."""
    first, second = (dataclasses.replace(CONFIG, score_on=(each,)) for each in (COSTS, OTHER_COSTS))
    other = Decision(OTHER_COSTS, np.array([[5, 0], [3, 2]]))
    made = [
        dataclasses.replace(RESULT, config=first),
        dataclasses.replace(RESULT, config=second, decisions=(other,)),
    ]
    assert made[0].run_id == made[1].run_id
    merge([directory(tmp_path / name, run) for name, run in zip("ab", made, strict=True)], tmp_path)
    with Store.read(tmp_path) as store:
        (sweep,) = store.sweeps()
        assert [config.score_on for config in sweep.configs] == [(COSTS, OTHER_COSTS)]


def test_weights_and_probabilities_come_to_runs_that_lack_them(tmp_path: Path) -> None:
    whole = directory(tmp_path / "a", RESULT, weights=True)
    merge([whole], tmp_path / "out", results_only=True)
    assert merge([whole], tmp_path / "out") == Merged(added=0, known=1, damaged=0)
    with Store.read(tmp_path / "out") as store:
        assert store.weights(RESULT.run_id) == b"numbers"
        assert np.array_equal(store.probs(RESULT.run_id), PROBS)  # type: ignore[arg-type]


def test_a_run_that_came_out_otherwise_elsewhere_gets_no_weights_from_there(tmp_path: Path) -> None:
    """Another processor rounds otherwise: the weights would not be those of the result."""
    here = directory(tmp_path / "a", dataclasses.replace(RESULT, test_loss=0.25))
    there = directory(tmp_path / "b", dataclasses.replace(RESULT, test_loss=0.5), weights=True)
    assert merge([here, there], tmp_path / "out") == Merged(added=1, known=1, damaged=0)
    with Store.read(tmp_path / "out") as store:
        assert store.result(RESULT.run_id).test_loss == 0.25  # type: ignore[union-attr]
        assert store.weights(RESULT.run_id) is None


def test_other_data_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    first = directory(tmp_path / "a", RESULT)
    other = directory(tmp_path / "b", SECOND, info=dataclasses.replace(INFO, fingerprint="x"))
    with pytest.raises(StorageError, match=r"a and .*b were made with other files of 'tiny'"):
        merge([first, other], tmp_path / "out")
    assert not (tmp_path / "out").exists()
    merge([first], tmp_path / "out")
    with pytest.raises(StorageError, match="were made with other files of 'tiny'"):
        merge([other], tmp_path / "out")
    with Store.read(tmp_path / "out") as store:
        assert list(store.status()) == [RESULT.run_id]


def test_other_costs_of_one_sweep_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    first = directory(tmp_path / "a", judged_by(10.0, seed=0, cells=((0, 1),)))
    zone = directory(tmp_path / "b", judged_by(10.0, seed=1, cells=((1, 0),)))
    other = directory(tmp_path / "c", judged_by(70.0, seed=2, cells=((0, 1),)))
    with pytest.raises(StorageError, match=r"in .*a and .*c was judged by other costs"):
        merge([first, other], tmp_path / "out")
    assert not (tmp_path / "out").exists()
    # Another zone of the same costs is another repetition.
    merge([first, zone], tmp_path / "out")
    before = (tmp_path / "out" / FILE).read_bytes()
    with pytest.raises(StorageError, match=r"in .*out and .*c was judged by other costs"):
        merge([other], tmp_path / "out")
    with Store.read(tmp_path / "out") as store:
        assert len(store.status()) == 2
    assert (tmp_path / "out" / FILE).read_bytes() == before


def test_comparisons_by_zones_of_other_sizes_are_refused(tmp_path: Path) -> None:
    """Every setting of a comparison is set beside every other, so they must have the same costs."""
    places = []
    for seed, cells in enumerate((((0, 1),), ((0, 1), (1, 0)))):
        run = judged_by(10.0, seed=seed, cells=cells)
        places.append(tmp_path / str(seed))
        with Store.write(places[-1]) as store:
            store.add_dataset(INFO)
            store.add_sweep(Sweep("compare", "tiny", "desk", "untrue compare", 1, (run.config,)))
            store.add(run)
    with pytest.raises(StorageError, match=r"compare/tiny in .* was judged by other costs"):
        merge(places, tmp_path / "out")


def test_a_sweep_trained_in_another_way_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    """A report would take the mean of both, or show one of two runs of the same repetition."""
    longer = dataclasses.replace(CONFIG.setup.training, epochs=CONFIG.setup.training.epochs + 1)
    other_setup = dataclasses.replace(CONFIG.setup, training=longer)
    treated = dataclasses.replace(
        CONFIG, loss="bilinear", alpha=0.5, penalty=PenaltySpec("zone", 1.0, 0.0, ((0, 1),), "rows")
    )
    cut = dataclasses.replace(CONFIG, small_classes=(0,), small_count=5)
    assert treated.penalty is not None
    scaled = dataclasses.replace(treated.penalty, normalization="max")
    for number, (here, there) in enumerate(
        (
            (CONFIG, dataclasses.replace(CONFIG, seed=1, setup=other_setup)),
            (treated, dataclasses.replace(treated, penalty=scaled)),
            (cut, dataclasses.replace(cut, small_classes=(1,))),
        )
    ):
        places = [
            directory(tmp_path / f"{number}{name}", dataclasses.replace(RESULT, config=config))
            for name, config in (("a", here), ("b", there))
        ]
        with pytest.raises(StorageError, match=r"masked-zone/tiny in .*a and .*b was trained in"):
            merge(places, tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_starts_alone_and_what_continued_from_others_are_one_sweep(tmp_path: Path) -> None:
    """Stopped while it trained its starts, a sweep does not know yet what continues from them."""
    whole = dataclasses.replace(CONFIG, keep_weights=True)
    short = dataclasses.replace(CONFIG.setup.training, epochs=CONFIG.setup.training.epochs + 1)
    start = Start(whole.run_id, whole.setup.training.epochs)
    warm = dataclasses.replace(
        CONFIG, setup=dataclasses.replace(CONFIG.setup, training=short), start=start
    )
    finished = directory(
        tmp_path / "a", *(dataclasses.replace(RESULT, config=config) for config in (whole, warm))
    )
    stopped = directory(
        tmp_path / "b", dataclasses.replace(RESULT, config=dataclasses.replace(whole, seed=1))
    )
    with Store.write(stopped) as store:
        (sweep,) = store.sweeps()
        store.add_sweep(dataclasses.replace(sweep, expected=2))
    assert merge([finished, stopped], tmp_path / "out").added == 3


def judged_by(inside: float, *, seed: int, cells: tuple[tuple[int, int], ...]) -> RunResult:
    spec = PenaltySpec("zone", inside, 1.0, cells)
    return dataclasses.replace(
        RESULT, config=dataclasses.replace(CONFIG, seed=seed, score_on=(spec,))
    )


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    first = directory(tmp_path / "a", RESULT)
    with locked(tmp_path / "out"), pytest.raises(StorageError, match="is in use by another"):
        merge([first], tmp_path / "out")


def test_repetitions_made_apart_are_one_sweep(tmp_path: Path) -> None:
    """As a person does it: two machines, another seed each, one report."""
    tiny = ["run", "demo", "--data", "digits", "--scale", "smoke", "--limit-train", "300"]
    tiny += ["--device", "cpu", "--jobs", "1", "--threads", "1"]
    for seed in ("0", "1"):
        done = run_untrue(*tiny, "--seed", seed, "--repetitions", "1", "--out", tmp_path / seed)
        assert done.returncode == 0, done.stderr
    done = run_untrue("merge", tmp_path / "0", tmp_path / "1", "--out", tmp_path / "all")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(tmp_path / "all" / FILE)
    again = run_untrue(*tiny, "--repetitions", "2", "--out", tmp_path / "all")
    assert again.returncode == 0, again.stderr
    assert " 0 to train" in again.stdout, again.stdout
    assert run_untrue("report", tmp_path / "all").returncode == 0


def test_what_is_no_directory_of_runs_is_one_line(tmp_path: Path) -> None:
    done = run_untrue("merge", tmp_path / "none", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert done.stderr.startswith("error: No results in")
    assert not (tmp_path / "out").exists()
