"""Tables are written whatever their file is called."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

from untrue.errors import ArgumentError
from untrue.tools import writing
from untrue.tools.writing import write_table


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_name_that_is_not_utf8_is_written(tmp_path: Path, ending: str) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9." + ending.encode())
    assert write_table(pa.table({"a": [1]}), path) == path
    assert path.stat().st_size > 0
    assert len(list(tmp_path.iterdir())) == 1


AWKWARD = ["1.50", "007", "a,b", 'say "no"', "two\nlines", "cr\rhere", "", None, " spaced ", "é"]


def test_only_what_needs_quotes_is_in_quotes(tmp_path: Path) -> None:
    table = pa.table({"n": range(10), "a,b": AWKWARD, "f": [0.1, None, 1e-20, *range(7)]})
    text = write_table(table, tmp_path / "t.csv").read_bytes().decode()
    assert text.startswith('n,"a,b",f\n0,1.50,0.1\n1,007,\n2,"a,b",1e-20\n3,"say ""no""",0\n')
    back = pa.csv.read_csv(
        tmp_path / "t.csv",
        parse_options=pa.csv.ParseOptions(newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(
            column_types={"a,b": pa.string()},
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        ),
    )
    assert back["a,b"].to_pylist() == AWKWARD
    assert back["f"].to_pylist() == table["f"].to_pylist()


def test_many_rows_are_written_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "CELLS", 100)
    table = pa.table({"n": pa.chunked_array([range(70), [], range(70, 501)], pa.int64())})
    lines = write_table(table, tmp_path / "t.csv").read_text().splitlines()
    assert lines == ["n", *map(str, range(501))]


def test_a_table_without_rows_has_its_header(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array([], pa.string()), "b": pa.array([], pa.float64())})
    assert write_table(table, tmp_path / "t.csv").read_text() == "a,b\n"


@pytest.mark.parametrize("cell", [[1, 2], b"\xff", {"a": 1}])
def test_what_has_no_form_as_csv_is_named(cell: object, tmp_path: Path) -> None:
    table = pa.table({"x": [1], "odd": [cell]})
    with pytest.raises(ArgumentError, match=r"Column 'odd' holds .*; name a \.parquet file"):
        write_table(table, tmp_path / "t.csv")
    assert not list(tmp_path.iterdir())
    write_table(table, tmp_path / "t.parquet")
