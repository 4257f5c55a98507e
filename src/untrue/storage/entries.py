"""One entry of a storage as cells of a row, with a checksum over all of them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from untrue.errors import ArgumentError, UntrueError
from untrue.input_files import visible

# id, kind, key, label, facts, arrays, data, checksum; text comes as bytes, see `database`.
Row = tuple[Any, ...]
T = TypeVar("T")

# The kinds of array that are kept, all little-endian; never objects.
DTYPES = ("<f4", "<f8", "<i8", "<u2", "|u1")
# What reading a record may raise when it is not what it should be.
UNREADABLE = (
    UntrueError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """What is kept under a kind and a key.

    label: its name for people. facts: plain JSON. arrays: float32, float64, int64 or bytes
    (uint8), of any shape.
    """

    kind: str
    key: str
    label: str
    facts: Mapping[str, Any]
    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Damaged:
    """An entry that cannot be trusted. kind, key and label: as far as they can be read."""

    id: int
    kind: str
    key: str
    label: str
    reason: str

    @property
    def name(self) -> str:
        """What to call it, on one line."""
        return visible(self.label or self.key or f"entry {self.id:x}")


def entry_id(kind: str, key: str) -> int:
    """The number of the row: 63 bits of a hash.

    A row is found by it without an index, so a damaged key cannot hide an entry.
    """
    digest = hashlib.sha256(json.dumps([kind, key]).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def to_row(entry: Entry) -> Row:
    """The cells of an entry."""
    layout, data = [], []
    for name, array in entry.arrays.items():
        small = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        if small.dtype.str not in DTYPES:
            raise ArgumentError(
                f"Array {name!r} must be float32, float64, int64, uint16 or uint8; got "
                f"{array.dtype}."
            )
        # From the original: `ascontiguousarray` gives a number of no dimension one.
        layout.append([name, small.dtype.str, list(array.shape)])
        data.append(small.tobytes())
    number = entry_id(entry.kind, entry.key)
    texts = [entry.kind, entry.key, entry.label, _json(entry.facts), _json(layout)]
    content = b"".join(data)
    checksum = checksum_of(number, [*(text.encode() for text in texts), content])
    return number, *texts, content, checksum


def from_row(row: Row) -> Entry | Damaged:
    """The entry of a row, if every cell is as it was written."""
    number, *cells, checksum = row
    if not all(isinstance(cell, bytes) for cell in (*cells, checksum)):
        return _damaged(row, "a cell is of the wrong type")
    if checksum != checksum_of(number, cells).encode():
        return _damaged(row, "its checksum does not match")
    kind, key, label, facts, layout, data = cells
    try:
        return Entry(
            kind=kind.decode(),
            key=key.decode(),
            label=label.decode(),
            facts=_object(json.loads(facts)),
            arrays=_arrays(json.loads(layout), data),
        )
    except UNREADABLE as error:
        return _damaged(row, f"it cannot be read ({error})")


def read_as(entry: Entry, reader: Callable[[Entry], T]) -> T | Damaged:
    """What a reader makes of an entry; one that it cannot read is damaged too."""
    try:
        return reader(entry)
    except UNREADABLE as error:
        number = entry_id(entry.kind, entry.key)
        reason = f"it is no {entry.kind} that this version reads ({type(error).__name__}: {error})"
        return Damaged(number, entry.kind, entry.key, entry.label, reason)


def checksum_of(number: int, cells: list[bytes]) -> str:
    """SHA-256 of the row's number and its cells, each after its length."""
    found = hashlib.sha256(str(number).encode())
    for cell in cells:
        found.update(f" {len(cell)} ".encode())
        found.update(cell)
    return found.hexdigest()


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"the facts are a {type(value).__name__}")
    return value


def _arrays(layout: list[Any], data: bytes) -> dict[str, npt.NDArray[Any]]:
    """Read-only views of the data, one after the other."""
    found, start = {}, 0
    for name, dtype, shape in layout:
        if dtype not in DTYPES:
            raise ValueError(f"unknown kind of array {dtype!r}")
        count = math.prod(shape)
        found[name] = np.frombuffer(data, dtype, count, start).reshape(shape)
        start += found[name].nbytes
    if start != len(data):
        raise ValueError(f"{len(data)} bytes of arrays in place of {start}")
    return found


def _damaged(row: Row, reason: str) -> Damaged:
    kind, key, label = (
        cell.decode(errors="replace") if isinstance(cell, bytes) else "" for cell in row[1:4]
    )
    return Damaged(row[0] if isinstance(row[0], int) else 0, kind, key, label, reason)
