"""Runs on a real Ray cluster: two nodes on the loopback address, which workers and nodes leave."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from untrue.lab.store import FILE, Store

PROGRAM = Path(__file__).parent / "ray_cluster.py"
UNTRUE = [sys.executable, "-m", "untrue"]
# One thread everywhere; Ray stays on 127.0.0.1, and notices within seconds that a node is gone.
ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",
    "RAY_health_check_initial_delay_ms": "0",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "3",
}
TINY = ["run", "demo", "--data", "digits", "--scale", "smoke", "--limit-train", "300"]
SHORT = [*TINY, "--epochs", "3", "--threads", "1", "--device", "cpu"]
# Enough epochs that a run takes seconds and can be caught in the middle.
SLOW = [*TINY, "--repetitions", "2", "--epochs", "60", "--threads", "1", "--device", "cpu"]
Rows = list[tuple[object, ...]]


@dataclass
class Nodes:
    """The cluster's program, and where its head is."""

    process: subprocess.Popen[str]
    address: str

    def ask(self, word: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def on(self) -> list[str]:
        return ["--executor", "ray", "--address", self.address]


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    # Short: the names of sockets are limited to a hundred letters.
    folder = Path(tempfile.mkdtemp(prefix="r", dir="/tmp"))
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=ENVIRONMENT | {"RAY_TMPDIR": str(folder)},
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("127.0.0.1:"), address
        assert listeners(descendants(process.pid)) == {"127.0.0.1"}
        yield Nodes(process, address)
    finally:
        mine = descendants(process.pid)
        with suppress(OSError, subprocess.TimeoutExpired):
            process.communicate(timeout=60)
        for pid in [process.pid, *mine]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def descendants(pid: int) -> list[int]:
    """The processes below one, by /proc."""
    parents: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            stat = (place / "stat").read_text().rpartition(")")[2].split()
            parents.setdefault(int(stat[1]), []).append(int(place.name))
    found: list[int] = []
    left = [pid]
    while left:
        below = parents.get(left.pop(), [])
        found += below
        left += below
    return found


def listeners(pids: list[int]) -> set[str]:
    """The addresses that processes listen on."""
    sockets = set()
    for pid in pids:
        with suppress(OSError):
            sockets |= {str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir()}
    found = set()
    for file in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{file}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                found.add(_address(words[1].partition(":")[0]))
    return found


def _address(text: str) -> str:
    """An address as the kernel writes it: 32-bit words, each in the machine's order."""
    words = [bytes.fromhex(text[i : i + 8])[::-1] for i in range(0, len(text), 8)]
    if len(words) == 4 and words[:3] == [bytes(4), bytes(4), b"\x00\x00\xff\xff"]:
        words = words[3:]  # of the old kind, within the new
    family = socket.AF_INET if len(words) == 1 else socket.AF_INET6
    return socket.inet_ntop(family, b"".join(words))


def untrue(*words: object, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    command = [*UNTRUE, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=ENVIRONMENT)


def begun(*words: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*UNTRUE, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        start_new_session=True,
    )


def rows(directory: Path) -> Rows:
    """Everything that was computed, and nothing about when and how fast."""
    with Store.read(directory) as store:
        return sorted(
            (
                (
                    result.config.run_id,
                    result.status,
                    result.confusion.tobytes(),
                    tuple((made.costs, made.confusion.tobytes()) for made in result.decisions),
                    result.train_losses,
                    result.test_loss,
                )
                for sweep in store.sweeps()
                for result in store.results(sweep)
            ),
            key=lambda row: str(row[0]),
        )


def dates(directory: Path) -> dict[str, str]:
    """When each finished run was made."""
    if not (directory / FILE).exists():
        return {}
    with Store.read(directory) as store:
        found = [result for sweep in store.sweeps() for result in store.results(sweep)]
        return {r.run_id: r.provenance.finished_at for r in found if r.status == "ok"}


def wait_for(true: Callable[[], bool], seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.1)


def tasks(nodes: Nodes) -> list[int]:
    """The workers of the cluster that have a run under way."""
    found = []
    for pid in descendants(nodes.process.pid):
        with suppress(OSError):
            if Path(f"/proc/{pid}/cmdline").read_text().startswith("ray::_task"):
                found.append(pid)
    return found


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    place = tmp_path_factory.mktemp("local")
    done = untrue(*SLOW, "--jobs", "2", "--out", place)
    assert done.returncode == 0, done.stderr
    return rows(place)


def test_the_same_rows_as_in_local_processes(nodes: Nodes, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    assert untrue(*SHORT, "--jobs", "2", "--out", here).returncode == 0
    done = untrue(*SHORT, *nodes.on(), "--out", there)
    assert (done.returncode, done.stderr) == (0, "")
    assert rows(there) == rows(here)
    # Workers too keep to this machine.
    assert listeners(descendants(nodes.process.pid)) == {"127.0.0.1"}
    # Progress as with local processes: a line a run, and two at a time, a node's core each.
    assert "5 models, 0 done already, 5 to train, 2 at a time" in done.stdout
    assert len(re.findall(r"^\[\d/5\] digits .* right, ", done.stdout, re.MULTILINE)) == 5
    with Store.read(there) as store:
        found = [result for sweep in store.sweeps() for result in store.results(sweep)]
        assert {result.provenance.threads for result in found} == {1}
        assert all((store.probs(r.run_id) is not None) == r.config.is_baseline for r in found)


def test_runs_go_on_from_weights_that_the_driver_has(nodes: Nodes, tmp_path: Path) -> None:
    words = [*SHORT, "--start-from", "baseline", "--alpha", ".5", "--loss", "bilinear"]
    here, there = tmp_path / "here", tmp_path / "there"
    assert untrue(*words, "--jobs", "2", "--out", here).returncode == 0
    done = untrue(*words, *nodes.on(), "--out", there)
    assert done.returncode == 0, done.stdout + done.stderr
    assert rows(there) == rows(here)
    assert len(rows(there)) > 1


def test_failed_runs_are_rows_and_a_data_dir_is_the_nodes_own(nodes: Nodes, tmp_path: Path) -> None:
    words = [*SHORT, "--alpha", "0", "--data-dir", tmp_path / "data", *nodes.on()]
    assert untrue(*words, "--out", tmp_path / "a").returncode == 0
    done = untrue(*words, "--learning-rate", "1e30", "--out", tmp_path / "b")
    assert (done.returncode, done.stderr) == (1, "")
    assert "failed: untrue.errors.DivergedError: Training stopped: the " in done.stdout


def test_own_data_travel_to_the_nodes(nodes: Nodes, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    lines = ["a,b,kind,label"]
    for row, kind in zip(x, rng.choice(["u", "v"], 200), strict=True):
        label = "yes" if row[0] + (kind == "u") > 0 else "no"
        lines.append(f"{row[0]:.3f},{row[1]:.3f},{kind},{label}")
    data = tmp_path / "own.csv"
    data.write_text("\n".join(lines))
    costs = tmp_path / "costs.csv"
    costs.write_text(",no,yes\nno,0,1\nyes,5,0\n")
    words = [
        *("compare", "--data", data, "--target", "label", "--penalty", costs),
        *("--methods", "ce,bilinear", "--strength", "bilinear=0.5"),
        *("--scale", "smoke", "--epochs", "2", "--repetitions", "1", "--threads", "1"),
    ]
    assert untrue(*words, "--jobs", "1", "--out", tmp_path / "here").returncode == 0
    done = untrue(*words, *nodes.on(), "--out", tmp_path / "there")
    assert done.returncode == 0, done.stderr
    assert rows(tmp_path / "there") == rows(tmp_path / "here")
    tune = [
        *("tune", data, "--target", "label", "--budget", "yes->no <= 60%", "--penalty", costs),
        *("--model", "linear", "--epochs", "3", "--trials", "0", "--repetitions", "2"),
    ]
    here = untrue(*tune, "--out", tmp_path / "m1")
    there = untrue(*tune, *nodes.on(), "--out", tmp_path / "m2")
    assert there.returncode == here.returncode, there.stderr
    for name in ("weights.safetensors", "preprocessing.json"):
        first, second = ((tmp_path / m / name).read_bytes() for m in ("m1", "m2"))
        assert first == second
    assert "repetition 2 of 2: 3 epochs, validation loss" in there.stdout


def test_a_worker_and_a_node_die_and_every_row_is_there(
    nodes: Nodes, tmp_path: Path, undisturbed: Rows
) -> None:
    process = begun(*SLOW, *nodes.on(), "--out", tmp_path)
    wait_for(lambda: len(dates(tmp_path)) >= 2 and len(tasks(nodes)) >= 1)
    os.kill(tasks(nodes)[0], signal.SIGKILL)
    wait_for(lambda: len(dates(tmp_path)) >= 4)
    before = dates(tmp_path)
    nodes.ask("kill")
    out, err = process.communicate(timeout=240)
    assert (process.returncode, err) == (0, ""), out
    after = dates(tmp_path)
    assert {run: after[run] for run in before} == before
    assert rows(tmp_path) == undisturbed
    nodes.ask("add")


def test_the_driver_is_killed_and_its_command_goes_on(
    nodes: Nodes, tmp_path: Path, undisturbed: Rows
) -> None:
    process = begun(*SLOW, *nodes.on(), "--out", tmp_path)
    wait_for(lambda: len(dates(tmp_path)) >= 2)
    process.kill()
    process.communicate()
    before = dates(tmp_path)
    # No worker trains on for a driver that is gone.
    wait_for(lambda: not tasks(nodes), 60)
    done = untrue(*SLOW, *nodes.on(), "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert {run: dates(tmp_path)[run] for run in before} == before
    assert rows(tmp_path) == undisturbed


def test_ctrl_c_cancels_what_is_under_way(nodes: Nodes, tmp_path: Path) -> None:
    process = begun(*SLOW, *nodes.on(), "--out", tmp_path)
    wait_for(lambda: len(dates(tmp_path)) >= 1 and len(tasks(nodes)) >= 1)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "interrupted\n")
    assert " stored." in out
    wait_for(lambda: not tasks(nodes), 30)
    with Store.read(tmp_path) as store:
        assert set(store.status().values()) == {"ok"}


def test_what_no_node_can_take_is_refused(nodes: Nodes, tmp_path: Path) -> None:
    done = untrue(*TINY, "--threads", "2", *nodes.on(), "--out", tmp_path / "x")
    assert done.returncode == 2
    assert done.stderr == (
        "error: No node of the cluster has 2 cores, as a run wants; the largest of its 2 has 1 "
        "cores. Give fewer `--threads` or `--gpus`.\n"
    )
    gpus = untrue(*TINY, "--gpus", ".5", *nodes.on(), "--out", tmp_path / "x")
    assert "No node of the cluster has 1 cores and 0.5 GPUs" in gpus.stderr
    assert not (tmp_path / "x").exists()


def test_other_versions_are_one_clear_line(nodes: Nodes, tmp_path: Path) -> None:
    """A driver whose untrue says it is another version; then one whose Ray does."""
    for name, package in (("untrue", "importlib.metadata"), ("ray", "ray")):
        patch = (
            "import importlib.metadata as m; old = m.version\n"
            f"m.version = lambda name: '9.9.9' if name == {name!r} else old(name)\n"
            if package != "ray"
            else "import ray; ray.__version__ = '9.9.9'\n"
        )
        code = f"import sys\n{patch}from untrue.cli import main; main(sys.argv[1:])"
        words = [*map(str, SHORT), *nodes.on(), "--out", str(tmp_path / name)]
        done = subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, text=True, env=ENVIRONMENT
        )
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1, done.stderr
        assert "9.9.9" in done.stderr
        assert "ersion" in done.stderr
        assert not dates(tmp_path / name)
