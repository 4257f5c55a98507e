"""NumPy's files, .npy and .npz: plain arrays, never a pickle, no larger than the header states.

A header may state any shape. It is compared with the size of the file before memory is allocated.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from untrue.errors import DataError, UntrueError
from untrue.input_files import check_growth, check_regular, reading

Array = npt.NDArray[Any]

PIECE = 2**24


def read_npy(path: Path, kind: type[UntrueError] = DataError) -> Array:
    """The array of an .npy file."""
    size = check_regular(path, kind).st_size
    with reading(path, "a plain .npy array", kind), path.open("rb") as stream:
        return _array(stream, size)


def read_npz(path: Path, wanted: Iterable[str]) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Of the arrays in an .npz file those of these names, and the names of all."""
    size = check_regular(path).st_size
    found: dict[str, Array] = {}
    with reading(path, ".npz with plain arrays"), zipfile.ZipFile(path) as archive:
        members = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
        for name in wanted:
            if name in members:
                entry = members[name]
                check_growth(path, size, entry.file_size, DataError)
                with archive.open(entry) as stream:
                    found[name] = _array(stream, entry.file_size)
    return found, tuple(members)


def _array(stream: IO[bytes], size: int) -> Array:
    """An array from a stream of `size` bytes, whose header promises no more than these."""
    version = np.lib.format.read_magic(stream)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise ValueError(f"its format is {version[0]}.{version[1]}; 1.0 and 2.0 are read")
    shape, fortran, kind = readers[version](stream)
    if kind.hasobject:
        raise ValueError("objects and pickles are refused")
    promised = math.prod(shape) * kind.itemsize
    too_much = ValueError(f"its header promises shape {shape}, more than the file holds")
    if min(shape, default=0) < 0 or promised > size:
        raise too_much
    content = np.empty(promised, np.uint8)
    filled = 0
    while filled < promised:
        piece = stream.read(min(PIECE, promised - filled))
        if not piece:
            raise too_much
        content[filled : filled + len(piece)] = np.frombuffer(piece, np.uint8)
        filled += len(piece)
    if not promised:
        return np.empty(shape, kind)
    values: Array = content.view(kind)
    return values.reshape(shape[::-1]).T if fortran else values.reshape(shape)
