"""`untrue data list | get | check`, as a person runs them."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from untrue.lab.data import names

IDX = {
    "train-images-idx3-ubyte": bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28])
    + bytes(2 * 28 * 28),
    "train-labels-idx1-ubyte": bytes([0, 0, 8, 1, 0, 0, 0, 2, 3, 9]),
}
IDX |= {name.replace("train", "t10k"): content for name, content in IDX.items()}
Run = Callable[..., subprocess.CompletedProcess[str]]
ARCHIVE = "cifar-10-binary.tar.gz"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A user with an empty cache and no $UNTRUE_DATA."""
    home = str(tmp_path / "home")
    kept = {name: value for name, value in os.environ.items() if name != "UNTRUE_DATA"}
    return {**kept, "HOME": home, "XDG_CACHE_HOME": f"{home}/.cache"}


@pytest.fixture
def data(environment: dict[str, str]) -> Run:
    def run(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "untrue", "data", *map(str, words)]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=60, env={**environment, **variables}
        )

    return run


@pytest.fixture
def mnist(tmp_path: Path) -> Path:
    folder = tmp_path / "sets/mnist"
    folder.mkdir(parents=True)
    for name, content in IDX.items():
        (folder / f"{name}.gz").write_bytes(gzip.compress(content))
    return folder


class Handler(http.server.BaseHTTPRequestHandler):
    """Promises a megabyte; gives it at the address /whole, and a little of it at /stuck."""

    asked = threading.Event()
    go_on = threading.Event()

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(1 << 20))
        self.end_headers()
        if self.path.startswith("/whole"):
            self.wfile.write(bytes(1 << 20))
            return
        self.wfile.write(bytes(1 << 19))
        self.wfile.flush()
        self.asked.set()
        self.go_on.wait(30)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    Handler.asked.clear()
    Handler.go_on.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.daemon_threads = True
        thread = threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        Handler.go_on.set()
        running.shutdown()
        thread.join()


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_list_says_what_there_is_where_and_how_big(data: Run, mnist: Path) -> None:
    done = data("list", "--data-dir", mnist.parent)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    order = [line.split()[0] for line in lines[:12:2]]
    assert order == ["digits", "mnist-5k", "mnist", "fashion-mnist", "cifar10", "cifar100"]
    assert lines[3].strip().endswith("mnist_5k.csv.gz")
    assert "1.1 MB" in lines[2]
    assert lines[5].strip() == str(mnist)
    assert "0.0 MB  handwritten digits" in lines[4]
    assert lines[9].strip() == "not here"
    assert data("list", UNTRUE_DATA=str(mnist.parent)).stdout == done.stdout


def test_show_names_the_classes_of_a_set_that_need_not_be_here(data: Run) -> None:
    done = data("show", "fashion-mnist")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:2] == [
        "fashion-mnist: articles of clothing, 28 x 28 grey",
        "10 classes, in the order of the labels:",
    ]
    assert [line.strip() for line in lines[2:]] == list(names.FASHION)
    groups = data("show", "cifar100").stdout
    assert "100 classes" in groups
    assert "  fish: aquarium_fish, flatfish, ray, shark, trout\n" in groups
    assert [line.strip() for line in data("show", "mnist-5k").stdout.splitlines()[2:]] == list(
        "0123456789"
    )
    wrong = data("show", "fashion")
    assert wrong.returncode == 2
    assert "did you mean 'fashion-mnist'" in wrong.stderr


def test_get_ends_with_the_path(data: Run, mnist: Path) -> None:
    done = data("get", "mnist", "--data-dir", mnist.parent)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{mnist}\n", "")
    assert data("get", "digits").stdout.endswith("digits.csv.gz\n")


def test_check_reads_everything(data: Run, mnist: Path) -> None:
    done = data("check", "--data-dir", mnist.parent)
    assert (done.returncode, done.stderr) == (0, "")
    digits, small, whole, _, cifar10, *_ = done.stdout.splitlines()
    assert "ok      1,442 training and 355 test images, built in" in digits
    assert "ok      4,000 training and 1,000 test images, built in" in small
    assert "ok      2 training and 2 test images, not the published files" in whole
    assert f"({mnist}, 0.0 MB)" in whole
    assert cifar10.split() == ["cifar10", "absent", "not", "here"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t10k-labels-idx1-ubyte.gz", b"", "truncated: 0 bytes are too few"),
        (
            "t10k-labels-idx1-ubyte.gz",
            gzip.compress(IDX["t10k-labels-idx1-ubyte"], mtime=0)[:-3],
            "does not decompress",
        ),
        ("train-images-idx3-ubyte", IDX["train-images-idx3-ubyte"][:-1], "it holds 1,567."),
        ("train-labels-idx1-ubyte", b"\0\0\x08\x01\0\0\0\x02\x03\x0a", "labels must be below 10"),
    ],
    ids=["empty", "cut gzip", "cut", "label"],
)
def test_check_names_a_broken_file_and_its_bytes(
    data: Run, mnist: Path, name: str, content: bytes, message: str
) -> None:
    (mnist / name).write_bytes(content)
    done = data("check", "mnist", "--data-dir", mnist.parent)
    assert done.returncode == 2
    (line,) = done.stdout.splitlines()
    assert line.startswith("mnist          bad ")
    assert str(mnist / name) in line
    assert message in line


def test_check_names_what_is_lacking(data: Run, mnist: Path) -> None:
    (mnist / "t10k-labels-idx1-ubyte.gz").unlink()
    done = data("check", "mnist", "cifar10", "--data-dir", mnist.parent)
    assert done.returncode == 2
    first, second = done.stdout.splitlines()
    assert first.endswith(f"bad     {mnist} lacks t10k-labels-idx1-ubyte.")
    assert "absent" in second


def test_an_unknown_name_is_refused(data: Run) -> None:
    done = data("check", "digits", "cifar")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: Unknown data set 'cifar'; did you mean 'cifar10'?")


def test_a_wrong_file_is_refused_in_one_line(data: Run, server: str, tmp_path: Path) -> None:
    folder = tmp_path / "sets"
    done = data("get", "cifar10", "--data-dir", folder, "--mirror", f"{server}/whole/")
    assert done.returncode == 2
    progress, error = done.stderr.splitlines()
    assert progress.startswith(f"fetching {ARCHIVE} from 127.0.0.1:")
    assert f"got {hashlib.sha256(bytes(1 << 20)).hexdigest()}" in error
    assert "or set UNTRUE_DATA to a folder that has them" in error
    assert everything(folder) == []


def test_a_terminal_shows_a_bar(server: str, tmp_path: Path, environment: dict[str, str]) -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "untrue", "data", "get", "cifar10"]
    with subprocess.Popen(
        [*command, "--data-dir", str(tmp_path), "--mirror", f"{server}/whole"],
        stderr=theirs,
        env={**environment, "TERM": "xterm", "COLUMNS": "120"},
    ) as process:
        process.wait(30)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert f"{ARCHIVE} from 127.0.0.1:" in shown
    assert "1.0/1.0 MB" in shown
    assert "wrong checksum" in shown


def start(words: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "untrue", "data", *words]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        # A shell that starts the tests in the background makes its children ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_ctrl_c_ends_cleanly(server: str, tmp_path: Path, environment: dict[str, str]) -> None:
    folder = tmp_path / "sets"
    words = ["get", "cifar10", "--data-dir", str(folder), "--mirror", f"{server}/stuck"]
    with start(words, environment) as process:
        assert Handler.asked.wait(30)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors.splitlines()[1:] == ["interrupted"]
    assert everything(folder) == []


def test_a_killed_download_leaves_nothing_that_is_taken_for_data(
    data: Run, server: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    folder = tmp_path / "sets"
    words = ["get", "cifar10", "--data-dir", str(folder), "--mirror", f"{server}/stuck"]
    with start(words, environment) as process:
        assert Handler.asked.wait(30)
        process.kill()
    place = folder / "cifar-10-batches-bin"
    assert [path for path in place.iterdir() if not path.name.startswith(".fetching-")] == []
    assert "cifar10        absent" in data("check", "cifar10", "--data-dir", folder).stdout


def test_a_disk_that_takes_no_more_is_reported_in_one_line(
    server: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    folder = tmp_path / "sets"
    command = [sys.executable, "-m", "untrue", "data", "get", "cifar10"]
    done = subprocess.run(
        [*command, "--data-dir", str(folder), "--mirror", f"{server}/whole"],
        capture_output=True,
        text=True,
        env={**environment, "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[1:] == ["error: File too large"]
    assert everything(folder) == []
