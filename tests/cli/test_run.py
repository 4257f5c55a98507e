"""`untrue run` and `untrue status`, as a person runs them: stopped, killed, resumed, crowded."""

from __future__ import annotations

import os
import pty
import re
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.untrue_process import UNTRUE, run_untrue

from untrue.cli import exit_code
from untrue.lab.data import Dataset
from untrue.lab.records import DatasetInfo
from untrue.lab.splits import describe
from untrue.lab.store import FILE, Store
from untrue.storage import locked, owner

ONE = ["--device", "cpu", "--jobs", "1", "--threads", "1"]
TWO = ["--device", "cpu", "--jobs", "2", "--threads", "1"]
TINY = ["run", "demo", "--data", "digits", "--scale", "smoke", "--limit-train", "300", *ONE]
# Enough epochs that a run takes a moment and can be caught in the middle.
SLOW = [*TINY, "--repetitions", "2", "--epochs", "60"]
Rows = list[tuple[object, ...]]


def rows(directory: Path) -> Rows:
    """Everything that was computed, and nothing about when and how fast."""
    with Store.read(directory) as store:
        return [
            (
                result.config,
                result.status,
                result.confusion.tobytes(),
                [(made.costs, made.confusion.tobytes()) for made in result.decisions],
                result.train_losses,
                result.test_loss,
            )
            for sweep in store.sweeps()
            for result in store.results(sweep)
        ]


def wait_for(true: Callable[[], bool], seconds: float = 300) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.02)


def finished(directory: Path) -> int:
    if not (directory / FILE).exists():
        return 0
    with Store.read(directory) as store:
        return len(store.status())


def workers(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in children.read_text().split()] if children.exists() else []


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


@pytest.fixture
def started() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []

    def start(*words: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*UNTRUE, *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    place = tmp_path_factory.mktemp("undisturbed")
    done = run_untrue(*SLOW, "--out", place)
    assert done.returncode == 0, done.stderr
    found = rows(place)
    assert len(found) == 10
    return found


def test_a_run_says_what_it_will_do_and_where_it_put_it(tmp_path: Path) -> None:
    place = tmp_path / "runs"
    done = run_untrue(*TINY, "--out", place)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith(
        "demo on digits, scale smoke: 5 models, 0 done already, 5 to train, "
    )
    assert lines[1].startswith("[1/5] digits baseline seed=0: ")
    assert lines[-2] == "5 runs stored."
    assert lines[-1] == str(place / FILE)
    assert done.stderr == ""

    again = run_untrue(*TINY, "--out", place)
    assert "5 models, 5 done already, 0 to train." in again.stdout

    status = run_untrue("status", place)
    assert status.returncode == 0
    assert "demo/digits, scale smoke: 5 of 5 done" in status.stdout
    assert "running now: no" in status.stdout


def test_killed_in_the_middle_and_run_again_gives_the_undisturbed_rows(
    tmp_path: Path, started: Callable[..., subprocess.Popen[str]], undisturbed: Rows
) -> None:
    process = started(*SLOW, *TWO, "--out", tmp_path)
    wait_for(lambda: finished(tmp_path) >= 3)
    children = workers(process.pid)
    assert len(children) >= 2
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert 3 <= finished(tmp_path) < 10
    # No process trains on for a parent that is gone.
    wait_for(lambda: not any(alive(pid) for pid in children))
    done = run_untrue(*SLOW, *TWO, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert rows(tmp_path) == undisturbed
    with Store.read(tmp_path) as store:
        assert len(store.status()) == 10


def test_ctrl_c_ends_cleanly_and_the_same_command_goes_on(
    tmp_path: Path, started: Callable[..., subprocess.Popen[str]], undisturbed: Rows
) -> None:
    process = started(*SLOW, "--out", tmp_path)
    wait_for(lambda: finished(tmp_path) >= 1)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert " stored." in out
    assert "Traceback" not in out + err
    status = run_untrue("status", tmp_path)
    assert f"continue with: untrue {' '.join(SLOW)} --out {tmp_path}" in status.stdout
    assert run_untrue(*SLOW, "--out", tmp_path).returncode == 0
    assert rows(tmp_path) == undisturbed


def test_two_at_once_do_not_share_a_directory(
    tmp_path: Path, started: Callable[..., subprocess.Popen[str]], undisturbed: Rows
) -> None:
    first = started(*SLOW, "--out", tmp_path)
    wait_for(lambda: owner(tmp_path) is not None)
    second = run_untrue(*SLOW, "--out", tmp_path)
    assert second.returncode == 2
    assert second.stderr == (
        f"error: {tmp_path} is in use by another `untrue` (process {first.pid}). "
        "Wait for it to end, or choose another --out.\n"
    )
    assert f"running now: process {first.pid}" in run_untrue("status", tmp_path).stdout
    first.communicate(timeout=600)
    assert first.returncode == 0
    assert rows(tmp_path) == undisturbed


def test_runs_that_fail_are_stored_and_shown(tmp_path: Path) -> None:
    words = [*TINY, "--learning-rate", "1e30", "--alpha", "0,.5", "--loss", "bilinear"]
    done = run_untrue(*words, "--out", tmp_path)
    assert done.returncode == 1
    assert "failed: untrue.errors.DivergedError: Training stopped: the " in done.stdout
    assert f"0 runs stored, 2 failed (see `untrue status {tmp_path}`)." in done.stdout
    status = run_untrue("status", tmp_path)
    assert "failed: digits baseline seed=0: untrue.errors.DivergedError" in status.stdout
    assert "adding --retry-failed" in status.stdout
    again = run_untrue(*words, "--out", tmp_path)
    assert "2 models, 0 done already, 2 failed, 0 to train." in again.stdout
    retried = run_untrue(*words, "--out", tmp_path, "--retry-failed")
    assert "2 failed, 2 to train" in retried.stdout


def test_damaged_runs_are_named_left_out_and_made_again_after_a_repair(tmp_path: Path) -> None:
    assert run_untrue(*TINY, "--out", tmp_path).returncode == 0
    before = rows(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE)) as db, db:
        db.execute("UPDATE entries SET data = x'' WHERE label LIKE '% bilinear alpha=0.5%'")
        db.execute("UPDATE entries SET facts = '{' WHERE label LIKE '%baseline%'")
        db.execute("UPDATE entries SET key = 'x' WHERE label LIKE 'plan of %'")
    named = [
        "damaged: digits baseline seed=0: its checksum does not match",
        "damaged: digits bilinear alpha=0.5 n=20 seed=0: its checksum does not match",
        "damaged: plan of demo/digits: its checksum does not match",
        f"3 damaged: `untrue status {tmp_path} --repair` drops what is damaged",
    ]
    status = run_untrue("status", tmp_path)
    assert (status.returncode, status.stderr) == (0, "")
    assert set(named) <= set(status.stdout.splitlines())

    # A run notes its plan anew, and leaves the damaged runs alone.
    again = run_untrue(*TINY, "--out", tmp_path)
    assert again.returncode == 0
    assert "5 models, 3 done already, 2 damaged, 0 to train." in again.stdout
    assert f"3 runs stored, 2 damaged (see `untrue status {tmp_path}`)." in again.stdout

    repaired = run_untrue("status", tmp_path, "--repair")
    assert repaired.returncode == 0
    assert "repair: 2 damaged dropped, 5 kept" in repaired.stdout
    assert "demo/digits, scale smoke: 3 of 5 done" in repaired.stdout
    last = run_untrue(*TINY, "--out", tmp_path)
    assert "5 models, 3 done already, 2 to train" in last.stdout
    assert rows(tmp_path) == before


def test_a_repair_beside_a_run_is_refused(tmp_path: Path) -> None:
    with Store.write(tmp_path), locked(tmp_path):
        done = run_untrue("status", tmp_path, "--repair")
    assert done.returncode == 2
    assert "is in use by another `untrue`" in done.stderr


def test_a_terminal_gets_a_live_display(tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*UNTRUE, *TINY, "--out", str(tmp_path), "--epochs", "40"],
        stdout=follower,
        stderr=subprocess.PIPE,
        stdin=follower,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"},
    )
    os.close(follower)
    shown = b""
    try:
        while chunk := os.read(leader, 65536):
            shown += chunk
    except OSError:
        pass
    os.close(leader)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    text = shown.decode()
    assert "of 5 runs" in text
    assert re.search(r"epoch \d+/40, loss \d", text)
    assert "left" in text


def test_the_data_set_is_hashed_once_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = []

    def counted(data: Dataset) -> DatasetInfo:
        hashed.append(data.name)
        return describe(data)

    for module in ("run_data", "training", "splits"):
        monkeypatch.setattr(f"untrue.lab.{module}.describe", counted)
    assert exit_code([*TINY, "--alpha", "0", "--epochs", "1", "--out", str(tmp_path)]) == 0
    assert hashed == ["digits"]


def test_a_toml_file_is_an_experiment(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'experiment = "masked-zone"\nscale = "smoke"\ndata = "digits"\nalpha = [0, 0.5, 0.9]\n'
        "zone_size = [10, 20]\n"
    )
    done = run_untrue("run", file, "--out", tmp_path / "runs", "--dry-run", "--loss", "bilinear")
    assert "masked-zone on digits, scale smoke: 5 models" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mnist"], "Unknown experiment 'mnist'. Known: masked-zone, hierarchy"),
        (["demo", "--scale", "huge"], "Unknown scale 'huge'. Known: smoke, desk, paper."),
        (["demo", "--alpha", "0,2"], "`--alpha` must lie in [0, 1]; got 2."),
        (["demo", "--alpha", "low"], "`--alpha` must be a number; got 'low'."),
        (["demo", "--epochs", "0"], "`--epochs` must be at least 1; got 0."),
        (["demo", "--jobs", "0"], "`--jobs` must be at least 1; got 0."),
        (["demo", "--device", "abacus"], "`--device` 'abacus' cannot be used here: "),
        (["demo", "--zone-size", "91"], "91"),
        (["demo", "--network", "lenet"], "Unknown network 'lenet'"),
        (["demo", "--network", "cifar10"], "Network 'cifar10' takes images of (3, 32, 32)"),
        (["hierarchy", "--data", "digits", "--network", "digits"], "needs a data set with super-"),
        (["nothing.toml"], "nothing.toml"),
    ],
)
def test_nonsense_is_answered_in_one_line(tmp_path: Path, words: list[str], message: str) -> None:
    done = run_untrue("run", *words, "--out", tmp_path / "runs")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert finished(tmp_path / "runs") == 0


def test_a_read_only_place_is_said(mounted: Callable[..., Path]) -> None:
    place = mounted("64k", read_only=True)
    done = run_untrue(*TINY, "--out", place / "runs")
    assert done.returncode == 2
    assert done.stderr == f"error: Cannot write to {place / 'runs'}: Read-only file system.\n"


def test_a_full_disk_is_said_and_finished_runs_stay(mounted: Callable[..., Path]) -> None:
    place = mounted("192k")
    done = run_untrue(*TINY, "--out", place, "--repetitions", 9, "--epochs", 1)
    kept = rows(place)
    assert done.returncode == 2
    assert "disk is full. What is finished in it is safe." in done.stderr
    assert done.stderr.count("\n") == 1
    assert 0 < len(kept) < 45


def test_status_of_nothing_is_said(tmp_path: Path) -> None:
    done = run_untrue("status", tmp_path)
    assert done.returncode == 2
    assert "Make some with `untrue run EXPERIMENT --out" in done.stderr


@pytest.mark.parametrize("command", ["run", "status"])
def test_help_has_an_example(command: str) -> None:
    done = run_untrue(command, "--help")
    assert done.returncode == 0
    assert f"untrue {command} " in done.stdout
    assert "Example" in done.stdout
