"""IDX and CIFAR files are read exactly, and a broken one is named with its bytes."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from untrue.errors import DataError
from untrue.lab.data.formats import read_cifar, read_idx

VALUES = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
HEAD = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4])
GOOD = HEAD + VALUES.tobytes()


@pytest.mark.parametrize("name", ["some-idx3-ubyte", "some-idx3-ubyte.gz"])
def test_idx_is_read_plain_and_compressed(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(GOOD) if name.endswith(".gz") else GOOD)
    values = read_idx(path, dimensions=3)
    assert values.dtype == np.uint8
    assert values.flags.writeable
    np.testing.assert_array_equal(values, VALUES)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GOOD[:-5], r"bytes\) is truncated .*promises 2 x 3 x 4 = 24 bytes of values, it holds 19"),
        (GOOD + b"x", r"promises 2 x 3 x 4 = 24 bytes of values, it holds more than 24"),
        (HEAD, r"it holds 0"),
        (HEAD[:7], r"truncated: 7 bytes are too few for the header .* takes 16"),
        (b"", r"truncated: 0 bytes are too few"),
        (b"<!DOCTYPE html><html>", r"must begin with the bytes 00 00 08 03; got 3c 21 44 4f"),
        (b"\0\0\x08\x01" + GOOD[4:], r"must begin with the bytes 00 00 08 03; got 00 00 08 01"),
        (HEAD[:4] + b"\xff" * 12 + GOOD[16:], r"promises 4294967295 x .* it holds 24\."),
    ],
    ids=["cut", "longer", "no values", "half a header", "empty", "a web page", "labels", "huge"],
)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_broken_idx_file_is_named_with_its_bytes(
    tmp_path: Path, content: bytes, message: str, suffix: str
) -> None:
    path = tmp_path / f"train-images-idx3-ubyte{suffix}"
    path.write_bytes(gzip.compress(content) if suffix else content)
    with pytest.raises(DataError, match=message) as caught:
        read_idx(path, dimensions=3)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("kept", [5, 20, -1])
def test_a_cut_gzip_file_is_named_with_its_size(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(GOOD)[:kept])
    size = path.stat().st_size
    with pytest.raises(DataError, match=rf"\({size} bytes\) is truncated or corrupt: .*decompress"):
        read_idx(path, dimensions=3)


def test_gzip_rubbish_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a-idx3-ubyte.gz"
    path.write_bytes(b"no gzip file at all")
    with pytest.raises(DataError, match="does not decompress"):
        read_idx(path, dimensions=3)
    broken = bytearray(gzip.compress(GOOD))
    broken[12] ^= 0xFF
    path.write_bytes(broken)
    with pytest.raises(DataError, match="truncated or corrupt"):
        read_idx(path, dimensions=3)


@pytest.mark.parametrize("label_bytes", [1, 2])
def test_cifar_records_are_planes_of_rows(tmp_path: Path, label_bytes: int) -> None:
    generator = np.random.default_rng(0)
    records = generator.integers(0, 256, (3, label_bytes + 3072), np.uint8)
    path = tmp_path / "a.bin"
    path.write_bytes(records.tobytes())
    labels, images = read_cifar(path, label_bytes=label_bytes)
    np.testing.assert_array_equal(labels, records[:, :label_bytes])
    assert images.shape == (3, 3, 32, 32)
    assert images[1, 2, 5, 7] == records[1, label_bytes + 2 * 1024 + 5 * 32 + 7]


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (3073 * 2 - 1, r"records of 3,073 bytes; got 6,145 bytes, that is 1 records and 3,072"),
        (0, r"got 0 bytes"),
        (3074, r"got 3,074 bytes, that is 1 records and 1 bytes"),
    ],
)
def test_a_cifar_file_of_the_wrong_size_is_named(tmp_path: Path, size: int, message: str) -> None:
    path = tmp_path / "data_batch_1.bin"
    path.write_bytes(bytes(size))
    with pytest.raises(DataError, match=message) as caught:
        read_cifar(path, label_bytes=1)
    assert str(path) in str(caught.value)
