"""The two file formats: IDX (plain or .gz) and CIFAR's binary records. No pickle is ever opened."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from untrue.errors import DataError

Bytes = npt.NDArray[np.uint8]

IMAGE_BYTES = 3 * 32 * 32
UNSIGNED_BYTE = 8


def open_plain(path: Path) -> BinaryIO:
    """The file's content as a stream, decompressed when its name ends in .gz."""
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def read_idx(path: Path, *, dimensions: int) -> Bytes:
    """The array of unsigned bytes in an IDX file.

    Header, big-endian: two zero bytes, the type (8: unsigned byte), the number of dimensions, then
    four bytes for each dimension; after it the values, last dimension fastest, and nothing more.
    """
    size = path.stat().st_size
    try:
        with open_plain(path) as stream:
            head = stream.read(4 + 4 * dimensions)
            shape = idx_shape(path, head, dimensions)
            promised = math.prod(shape)
            body = read_up_to(stream, promised + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        reason = str(error).rstrip(".").lower()
        raise DataError(
            f"{path} ({size:,} bytes) is truncated or corrupt: it does not decompress ({reason}). "
            f"Remove it and fetch it again."
        ) from None
    if len(body) != promised:
        held = f"more than {promised:,}" if len(body) > promised else f"{len(body):,}"
        raise DataError(
            f"{path} ({size:,} bytes) is truncated or corrupt: its header promises "
            f"{' x '.join(map(str, shape))} = {promised:,} bytes of values, it holds {held}."
        )
    return np.frombuffer(body, np.uint8).reshape(shape)


def read_up_to(stream: BinaryIO, limit: int) -> bytearray:
    """At most `limit` bytes, piece by piece: a corrupt header may promise more than memory holds.

    A limit one above what is promised shows a file that goes on, without reading all of it.
    """
    body = bytearray()
    while piece := stream.read(min(1 << 20, limit - len(body))):
        body += piece
    return body


def idx_shape(path: Path, head: bytes, dimensions: int) -> tuple[int, ...]:
    """The shape an IDX header states, or an error that says what the file is instead."""
    wanted = bytes([0, 0, UNSIGNED_BYTE, dimensions])
    if len(head) < 4 + 4 * dimensions:
        raise DataError(
            f"{path} is truncated: {len(head):,} bytes are too few for the header of an IDX file "
            f"of {dimensions} dimension(s), which takes {4 + 4 * dimensions}."
        )
    if head[:4] != wanted:
        raise DataError(
            f"{path} is not an IDX file of unsigned bytes in {dimensions} dimension(s): it must "
            f"begin with the bytes {wanted.hex(' ')}; got {head[:4].hex(' ')}."
        )
    return tuple(int(n) for n in np.frombuffer(head, ">u4", dimensions, 4))


def read_cifar(path: Path, *, label_bytes: int) -> tuple[Bytes, Bytes]:
    """Labels (N, label_bytes) and images (N, 3, 32, 32) of a file of CIFAR's binary records.

    A record is `label_bytes` label bytes (CIFAR-10: one; CIFAR-100: coarse, then fine), then 3,072
    bytes of image: the red plane, the green, the blue, each row by row.
    """
    record = label_bytes + IMAGE_BYTES
    size = path.stat().st_size
    if size == 0 or size % record:
        raise DataError(
            f"{path} is truncated or corrupt: it must hold whole records of {record:,} bytes; "
            f"got {size:,} bytes, that is {size // record:,} records and {size % record:,} bytes."
        )
    records = np.fromfile(path, np.uint8).reshape(-1, record)
    images = np.ascontiguousarray(records[:, label_bytes:]).reshape(-1, 3, 32, 32)
    return records[:, :label_bytes].copy(), images
