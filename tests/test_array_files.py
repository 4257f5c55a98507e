"""NumPy's files: plain arrays as they were saved, and what is not that in one sentence."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from untrue.array_files import read_npy, read_npz
from untrue.errors import DataError

ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.array(3),
    np.array(["a", "bcd"]),
    np.zeros((0, 3)),
    np.arange(5, dtype=">i4"),
    np.array([True, False]),
]


@pytest.mark.parametrize("array", ARRAYS, ids=str)
def test_arrays_come_back_as_they_were(array: np.ndarray[Any, Any], tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", array)
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", X=array, other=np.zeros(2))
        arrays, names = read_npz(tmp_path / "a.npz", ("X", "y"))
        assert names == ("X", "other")
        assert list(arrays) == ["X"]
        for found in (read_npy(tmp_path / "a.npy"), arrays["X"]):
            assert found.dtype == array.dtype
            np.testing.assert_array_equal(found, array)
            assert found.flags.writeable


def npy(header: str, content: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    text = header.encode()
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + content


def header(shape: str, kind: str = "'<f8'") -> str:
    return f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}\n"


BROKEN = {
    "empty": b"",
    "no numpy": b"hello, world",
    "cut header": npy(header("(2,)"))[:20],
    "no dictionary": npy("[1, 2]\n"),
    "code": npy("__import__('os').system('touch /tmp/ran')\n"),
    "deep": npy("(" * 3000 + "\n"),
    "absurd shape": npy(header("(1000000000000,)")),
    "past 64 bits": npy(header(f"({2**70},)")),
    "negative": npy(header("(-1,)"), b"\x00" * 8),
    "promises more": npy(header("(3,)"), b"\x00" * 16),
    "no type": npy(header("(1,)", "'<q9'"), b"\x00" * 16),
    "objects": npy(header("(1,)", "'|O'"), pickle.dumps([1])),
    "odd shape": npy(header("'ab'"), b"\x00" * 16),
    "newer": npy(header("(1,)"), b"\x00" * 8, version=b"\x07\x01"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_array_is_one_sentence(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(BROKEN[name])
    with pytest.raises(DataError, match=r"a\.npy is not readable as a plain \.npy array \(.+\)\."):
        read_npy(tmp_path / "a.npy")
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", BROKEN[name])
    with pytest.raises(
        DataError, match=r"a\.npz is not readable as \.npz with plain arrays \(.+\)"
    ):
        read_npz(tmp_path / "a.npz", ["X"])


def test_an_archive_that_is_none_or_is_damaged_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, X=np.random.default_rng(0).normal(size=500))
    whole = path.read_bytes()
    encrypted = bytearray(whole)
    encrypted[6] |= 1
    encrypted[whole.index(b"PK\x01\x02") + 8] |= 1
    damaged = bytearray(whole)
    damaged[1000] ^= 0xFF
    single = io.BytesIO()
    np.save(single, np.zeros(3))
    for content in (encrypted, damaged, whole[:1000], b"", single.getvalue()):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"a\.npz is not readable as \.npz with plain arrays"):
            read_npz(path, ["X"])


def test_an_archive_made_to_fill_the_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("X.npy", "w", force_zip64=True) as member,
    ):
        member.write(npy(header("(300, 1000000)", "'|u1'")))
        for _ in range(300):
            member.write(bytes(10**6))
    with pytest.raises(DataError, match=r"a\.npz unpacks from [\d,]+ bytes to more than 200 times"):
        read_npz(path, ["X"])
