"""Small files in the canonical formats, made on the spot, and a place with no data but them."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from untrue.lab.data import names


@pytest.fixture(autouse=True)
def empty_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with an empty cache and no $UNTRUE_DATA."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
    monkeypatch.delenv("UNTRUE_DATA", raising=False)
    return home


def idx(values: np.ndarray) -> bytes:
    head = bytes([0, 0, 8, values.ndim])
    return head + b"".join(n.to_bytes(4, "big") for n in values.shape) + values.tobytes()


def mnist_content(train: int = 30, test: int = 20) -> dict[str, bytes]:
    """The four IDX files by name; image i of a part is filled with i, its label is i mod 10."""
    content = {}
    for part, count in (("train", train), ("t10k", test)):
        images = np.arange(count, dtype=np.uint8)[:, None, None].repeat(28, 1).repeat(28, 2)
        content[f"{part}-images-idx3-ubyte"] = idx(images)
        content[f"{part}-labels-idx1-ubyte"] = idx(np.arange(count, dtype=np.uint8) % 10)
    return content


@pytest.fixture
def write_mnist() -> Callable[..., Path]:
    def write(folder: Path, *, compress: bool = False) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in mnist_content().items():
            if compress:
                (folder / f"{name}.gz").write_bytes(gzip.compress(content))
            else:
                (folder / name).write_bytes(content)
        return folder

    return write


def cifar_records(fine: np.ndarray, *, coarse: bool) -> bytes:
    """Records whose planes are filled with 1 (red), 2 (green), 3 (blue) and the first pixel i."""
    pixels = np.repeat(np.array([1, 2, 3], np.uint8), 1024)[None].repeat(len(fine), 0)
    pixels[:, 0] = np.arange(len(fine))
    labels = fine.astype(np.uint8)[:, None]
    if coarse:
        above = np.array(names.CIFAR100_COARSE, np.uint8)[fine][:, None]
        labels = np.concatenate([above, labels], axis=1)
    return np.concatenate([labels, pixels], axis=1).tobytes()


@pytest.fixture
def write_cifar10() -> Callable[..., Path]:
    def write(folder: Path, *, batches: int = 2) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(1, batches + 1):
            records = cifar_records(np.full(10, number % 10), coarse=False)
            (folder / f"data_batch_{number}.bin").write_bytes(records)
        (folder / "test_batch.bin").write_bytes(cifar_records(np.arange(10), coarse=False))
        return folder

    return write


@pytest.fixture
def write_cifar100() -> Callable[..., Path]:
    def write(folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "train.bin").write_bytes(cifar_records(np.arange(100), coarse=True))
        (folder / "test.bin").write_bytes(cifar_records(np.arange(100)[::-1], coarse=True))
        return folder

    return write


@pytest.fixture
def mnist_files() -> dict[str, bytes]:
    return mnist_content()
