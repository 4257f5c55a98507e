"""Options and messages of `--executor ray` that need no cluster."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from untrue.cli import exit_code
from untrue.errors import ArgumentError, UntrueError
from untrue.machine import versions
from untrue.ray import COMPARED, Cluster, MismatchError, check_versions

TINY = ["run", "demo", "--data", "digits", "--scale", "smoke", "--limit-train", "300"]


def test_an_address_where_nothing_is_gets_one_line_soon(tmp_path: Path) -> None:
    started = time.monotonic()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    words = [*TINY, "--executor", "ray", "--address", address, "--out", str(tmp_path / "x")]
    command = [sys.executable, "-m", "untrue", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert time.monotonic() - started < 60
    assert done.returncode == 2
    assert done.stderr == (
        f"error: No Ray cluster answers at {address} (Connection refused). Is the head up "
        f"(`ray start --head --port {address.partition(':')[2]}`), and reachable from here?\n"
    )
    assert not (tmp_path / "x").exists()


def test_wrong_options_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {
        "--address belongs to --executor ray": ["--address", "auto"],
        "--gpus belongs to --executor ray": ["--gpus", "1"],
        "`--executor` must be local or ray; got 'dask'": ["--executor", "dask"],
        "`address` must be auto or HOST:PORT; got 'here'": [
            *("--executor", "ray", "--address", "here")
        ],
        "`--gpus` must be a share of one GPU or a whole number": [
            *("--executor", "ray", "--gpus", "1.5")
        ],
    }
    for line, words in wrong.items():
        assert exit_code([*TINY, *words, "--out", str(tmp_path / "x")]) == 2
        said = capsys.readouterr().err
        assert line in said
        assert said.count("\n") == 1
    with pytest.raises(ArgumentError, match="`threads`"):
        Cluster(threads=0)


def test_versions_are_compared_by_name() -> None:
    ours = versions(COMPARED)
    check_versions(ours, ours)
    packages = ("torch", "ray", "lightgbm", "xgboost")
    for package in filter(importlib.util.find_spec, packages):
        theirs = tuple((n, "1.0" if n == package else v) for n, v in ours)
        line = rf"has {package} 1\.0, this machine .* Install the same"
        with pytest.raises(MismatchError, match=line):
            check_versions(ours, theirs)
        with pytest.raises(MismatchError, match=f"has {package} none, this machine "):
            check_versions(ours, tuple(each for each in ours if each[0] != package))
    assert issubclass(MismatchError, UntrueError)


def test_a_missing_ray_says_how_to_install_it(tmp_path: Path) -> None:
    code = "import sys; sys.modules['ray'] = None\nfrom untrue.cli import main; main(sys.argv[1:])"
    words = [*TINY, "--executor", "ray", "--out", str(tmp_path / "x")]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert done.returncode == 2
    line = 'error: The executor ray needs ray, which is missing: pip install "untrue[ray]".\n'
    assert done.stderr == line
