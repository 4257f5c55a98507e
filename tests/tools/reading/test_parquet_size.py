"""A small Parquet file that grows when it is read is refused before it does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from untrue.cli import exit_code
from untrue.errors import DataError
from untrue.tools.reading import parquet_size
from untrue.tools.reading.tables import Kind, open_table, read_table

ROWS = 20_000
LONG = "x" * ROWS


def one_text(rows: int, text: str) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([text]))


def write_dictionary(path: Path) -> None:
    pq.write_table(pa.table({"x": one_text(ROWS, LONG)}), path, store_schema=False)


def write_categories(path: Path) -> None:
    pq.write_table(pa.table({"x": one_text(ROWS, LONG)}), path)


def write_prefixes(path: Path) -> None:
    with pq.ParquetWriter(
        path,
        pa.schema({"x": pa.string()}),
        use_dictionary=False,
        column_encoding={"x": "DELTA_BYTE_ARRAY"},
    ) as writer:
        for _ in range(2):
            writer.write_table(pa.table({"x": [LONG] * (ROWS // 2)}))


@pytest.mark.parametrize(
    ("write", "kind"),
    [
        (write_dictionary, "label"),
        (write_dictionary, "any"),
        (write_categories, "text"),
        (write_prefixes, "label"),
    ],
)
def test_long_texts_that_are_stored_once_are_refused(
    write: Callable[[Path], None], kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    write(path)
    assert path.stat().st_size < 10_000
    # Read, it would take 400 MB: it must be refused before.
    monkeypatch.setattr(pq, "read_table", None)
    with pytest.raises(DataError, match=r"unpacks from [\d,]+ bytes to more than 200 times"):
        read_table(open_table(path), {"x": kind})


def test_the_command_says_so_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.parquet"
    answers = one_text(ROWS, LONG)
    pq.write_table(pa.table({"truth": answers, "predicted": answers}), path)
    assert exit_code(["audit", str(path), "--budget", "a->b <= 1%", "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "unpacks from" in error
    assert sorted(file.name for file in tmp_path.iterdir()) == ["p.parquet"]


def test_the_longest_text_of_a_dictionary_is_enough_where_it_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    texts = [f"text {i}" for i in range(60_000)]
    # Most of them stand on pages, beside a dictionary that was full.
    how = {"dictionary_pagesize_limit": 1000, "data_page_size": 4000}
    pq.write_table(pa.table({"x": texts}), path, **how)
    monkeypatch.setattr(parquet_size, "_text_sizes", None)
    assert read_table(open_table(path), {"x": "text"})["x"].to_pylist() == texts
    pq.write_table(pa.table({"x": texts}), path, use_dictionary=False)
    with pq.ParquetFile(path, read_dictionary=["x"]) as file:
        assert len(next(file.iter_batches(1)).column(0).dictionary) == 1


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"store_schema": False, "dictionary_pagesize_limit": 64},
        {"use_dictionary": False, "column_encoding": {"x": "DELTA_BYTE_ARRAY"}},
        {"use_dictionary": False},
    ],
)
@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.binary()])
def test_what_is_counted_is_what_is_read(
    how: dict[str, object], type_: pa.DataType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    texts = [None if i % 7 == 0 else "é" * (i % 40) for i in range(500)]
    column = pa.chunked_array([pa.array(texts[:300], type_), pa.array(texts[300:], type_)])
    pq.write_table(pa.table({"x": column, "y": np.arange(500.0)}), path, row_group_size=200, **how)
    # Everything is counted, whatever it comes to.
    monkeypatch.setattr(parquet_size, "UNPACKED", 0)
    monkeypatch.setattr(parquet_size, "GROWTH", 0)
    counted: list[int] = []
    monkeypatch.setattr(
        parquet_size, "check_growth", lambda _path, _packed, total, _kind: counted.append(total)
    )
    found = read_table(open_table(path), {"x": "text", "y": "real"})
    assert found["x"].to_pylist() == [text or None for text in texts]
    own = sum(len((text or "").encode()) for text in texts)
    if how != {"use_dictionary": False}:
        assert counted[-1] - counted[0] >= own
    if not how:
        assert counted[-1] - counted[0] == own
