"""How much memory the columns of a Parquet file take once they are read, found before they are.

Two encodings make a small file large. A dictionary holds a long text once, for all of its rows; and
"delta byte array" writes of a text only what differs from the one before. The size of both is
counted in pieces that stay small, and a file that grows out of proportion is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from untrue.errors import DataError
from untrue.input_files import GROWTH, UNPACKED, check_growth
from untrue.optional import need
from untrue.tools.reading.csv_rows import PURPOSE

DICTIONARIES = {"RLE_DICTIONARY", "PLAIN_DICTIONARY"}
PREFIXES = "DELTA_BYTE_ARRAY"
# Rows counted at a time: of a dictionary, whose texts stand once in memory, and at least and at
# most of texts that must be written out to be counted.
COUNTED = 2**20
FEWEST, MOST = 8, 2**16


@dataclass(frozen=True, slots=True)
class Chunk:
    """A column in a row group: how it is stored, and its bytes on the pages, unpacked."""

    group: int
    rows: int
    encodings: frozenset[str]
    unpacked: int
    text: bool

    @property
    def grows(self) -> bool:
        """Whether its texts may be more bytes than its pages have."""
        return self.text and not self.encodings.isdisjoint({*DICTIONARIES, PREFIXES})


def check_size(path: Path, source: Any, columns: Collection[str]) -> None:
    """Refuse a file whose columns take far more memory than the file has bytes."""
    parquet = need("pyarrow.parquet", PURPOSE)
    about = parquet.read_metadata(source)
    packed = path.stat().st_size
    rows = sum(about.row_group(i).num_rows for i in range(about.num_row_groups))
    chunks = {name: tuple(_chunks(about, name)) for name in columns}
    stored = sum(chunk.unpacked for found in chunks.values() for chunk in found)
    total = max(8 * rows * len(columns), stored)
    check_growth(path, packed, total, DataError)
    growing = {name: [chunk for chunk in found if chunk.grows] for name, found in chunks.items()}
    allowed = max(UNPACKED, GROWTH * packed)
    for longest in (_longest_by_pages, _longest_in_dictionary):
        most = sum(
            chunk.rows * longest(parquet, source, name, chunk)
            for name, found in growing.items()
            for chunk in found
        )
        if total + most <= allowed:
            return
    for name, found in growing.items():
        for size in _text_sizes(parquet, source, name, found):
            total += size
            check_growth(path, packed, total, DataError)


def _chunks(about: Any, name: str) -> Iterator[Chunk]:
    for group in range(about.num_row_groups):
        held = about.row_group(group)
        for position in range(held.num_columns):
            column = held.column(position)
            if column.path_in_schema == name:
                yield Chunk(
                    group,
                    held.num_rows,
                    frozenset(column.encodings),
                    column.total_uncompressed_size,
                    column.physical_type == "BYTE_ARRAY",
                )


def _longest_by_pages(_parquet: Any, _source: Any, _name: str, chunk: Chunk) -> int:
    """No text is longer than all that is on the pages."""
    return chunk.unpacked


def _longest_in_dictionary(parquet: Any, source: Any, name: str, chunk: Chunk) -> int:
    """The longest text of the dictionary; texts beside it are on the pages, and counted with them.

    A batch of one row has the whole dictionary, or only its own text where the first page has none.
    """
    if PREFIXES in chunk.encodings or chunk.rows == 0:
        return chunk.unpacked
    compute = need("pyarrow.compute", PURPOSE)
    with parquet.ParquetFile(source, read_dictionary=[name]) as file:
        batch = next(file.iter_batches(1, row_groups=[chunk.group], columns=[name]))
    texts = batch.column(0).dictionary
    if len(texts) < 2:
        return chunk.unpacked
    return int(compute.max(compute.binary_length(texts)).as_py() or 0)


def _text_sizes(parquet: Any, source: Any, name: str, chunks: list[Chunk]) -> Iterator[int]:
    """The bytes of a column's texts, piece by piece."""
    for chunk in chunks:
        # Prefixes are not read as a dictionary: so few rows that they fit.
        shared = PREFIXES not in chunk.encodings
        rows = COUNTED
        if not shared:
            rows = min(max(UNPACKED // max(chunk.unpacked, 1), FEWEST), MOST)
        with parquet.ParquetFile(source, read_dictionary=[name] if shared else None) as file:
            for batch in file.iter_batches(rows, row_groups=[chunk.group], columns=[name]):
                yield _bytes_of(batch.column(0))


def _bytes_of(column: Any) -> int:
    """The bytes of all texts of a column, each as often as it stands there."""
    arrow, compute = need("pyarrow", PURPOSE), need("pyarrow.compute", PURPOSE)
    if not arrow.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = compute.binary_length(column.dictionary).cast(arrow.int64())
    return int(compute.sum(lengths.take(column.indices)).as_py() or 0)
