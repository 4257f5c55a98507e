"""CSV and Parquet files read by column, with the place of whatever is wrong."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from untrue.errors import ArgumentError, DataError
from untrue.tools.reading.features import learned_features
from untrue.tools.reading.tables import codes, matrix, open_table, plain_values, read_table


def both(tmp_path: Path, **columns: list[object]) -> list[Path]:
    """The same table as CSV, zipped CSV and Parquet."""
    text = ",".join(columns) + "\n"
    for row in zip(*columns.values(), strict=True):
        text += ",".join("" if cell is None else str(cell) for cell in row) + "\n"
    (tmp_path / "t.csv").write_text(text)
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write(text)
    pa.parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    return [tmp_path / name for name in ("t.csv", "t.csv.gz", "t.parquet")]


def test_labels_and_numbers_are_the_same_from_every_format(tmp_path: Path) -> None:
    for path in both(tmp_path, who=["b", "a", "b"], n=[1, 2, 1], p=[0.5, 0.25, 0.125]):
        file = open_table(path)
        table = read_table(file, {"who": "label", "n": "label", "p": "number"})
        for name, wanted in (("who", ["b", "a", "b"]), ("n", ["1", "2", "1"])):
            found, names = codes(table, name, file)
            assert [names[code] for code in found] == wanted
        np.testing.assert_array_equal(matrix(table, ["p"], file), [[0.5], [0.25], [0.125]])


def test_pandas_categories_and_booleans_are_labels(tmp_path: Path) -> None:
    table = pa.table({"c": pa.array(["x", "y"]).dictionary_encode(), "b": [True, False]})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    file = open_table(tmp_path / "t.parquet")
    read = read_table(file, {"c": "label", "b": "label"})
    assert codes(read, "c", file)[1] == ["x", "y"]
    assert codes(read, "b", file)[1] == ["True", "False"]


def test_a_missing_label_is_reported_by_its_row_in_every_format(tmp_path: Path) -> None:
    for path in both(tmp_path, who=["b", None, "b"], n=[1, 2, 1]):
        file = open_table(path)
        with pytest.raises(DataError, match=r"data row 2, column 'who', is empty"):
            codes(read_table(file, {"who": "label"}), "who", file)


def test_na_is_a_label_but_no_number(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("country,n\nNA,1\nDE,NA\n")
    file = open_table(tmp_path / "t.csv")
    table = read_table(file, {"country": "label"})
    assert codes(table, "country", file)[1] == ["NA", "DE"]
    assert read_table(file, {"n": "real"})["n"].to_pylist() == [1.0, None]


def test_text_among_numbers_of_a_parquet_file_is_reported(tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table({"p": [None, "0.5", "x"]}), tmp_path / "t.parquet")
    message = r"column 'p' holds string values, such as '0\.5'; expected numbers\. Save it as"
    with pytest.raises(DataError, match=message):
        read_table(open_table(tmp_path / "t.parquet"), {"p": "number"})


def test_infinite_and_missing_numbers_are_reported(tmp_path: Path) -> None:
    for path in both(tmp_path, p=[0.5, None, 1.0], q=[0.5, 1.0, float("inf")]):
        file = open_table(path)
        table = read_table(file, {"p": "number", "q": "number"})
        with pytest.raises(DataError, match="data row 2, column 'p', is missing"):
            matrix(table, ["p"], file)
        with pytest.raises(DataError, match="data row 3, column 'q', is inf"):
            matrix(table, ["q"], file)


def test_a_file_from_a_spreadsheet_is_read(tmp_path: Path) -> None:
    """A byte order mark, Windows line ends, spaces in the header, quotes, an empty last line."""
    (tmp_path / "t.csv").write_bytes('﻿who , n\r\n"a, b",1\r\n"say ""c""",2\r\n\r\n'.encode())
    file = open_table(tmp_path / "t.csv")
    assert file.names == ("who", "n")
    found, names = codes(read_table(file, {"who": "label"}), "who", file)
    assert [names[code] for code in found] == ["a, b", 'say "c"']


def test_other_delimiters(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("a\tb\n1\t2\n")
    assert open_table(tmp_path / "t.tsv").names == ("a", "b")
    zipped = open_table(gz(tmp_path / "t.tsv.gz", b"a\tb\n1\t2\n"))
    np.testing.assert_array_equal(matrix(read_table(zipped, {"b": "number"}), ["b"], zipped), [[2]])
    (tmp_path / "t.csv").write_text("a|b\n1|2\n")
    with pytest.raises(DataError, match=r"separated by a bar\. Say so with --delimiter '\|'"):
        open_table(tmp_path / "t.csv")
    file = open_table(tmp_path / "t.csv", delimiter="|")
    assert read_table(file, {"b": "real"})["b"].to_pylist() == [2.0]


def test_one_column_is_a_table_too(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n2\n")
    assert open_table(tmp_path / "t.csv").names == ("a",)


def test_a_row_far_down_is_counted_right(tmp_path: Path) -> None:
    rows = ["0.5,x"] * 200_000
    rows[150_000] = "half,x"
    (tmp_path / "t.csv").write_text("p,q\n" + "\n".join(rows) + "\n")
    with pytest.raises(DataError, match="data row 150001, column 'p': 'half' is not a number"):
        read_table(open_table(tmp_path / "t.csv"), {"p": "number"})


def test_cells_may_hold_line_ends_wherever_they_stand(tmp_path: Path) -> None:
    text = "who,note\n" + 'a,"two\nlines, and more"\n' * 100_000
    (tmp_path / "t.csv").write_text(text)
    table = read_table(open_table(tmp_path / "t.csv"), {"who": "label", "note": "text"})
    assert table.num_rows == 100_000
    assert set(table["note"].to_pylist()) == {"two\nlines, and more"}


def test_column_names_may_hold_line_ends_too(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('who,"prob_two\nlines"\na,0.5\nb,half\n')
    file = open_table(tmp_path / "t.csv")
    assert file.names == ("who", "prob_two\nlines")
    assert read_table(file, {"who": "label"})["who"].to_pylist() == ["a", "b"]
    with pytest.raises(DataError, match=r"data row 2, column 'prob_two.*': 'half' is not a number"):
        read_table(file, {"prob_two\nlines": "number"})


def test_a_tab_may_be_written_as_people_write_it(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\tb\n1\t2\n")
    assert open_table(tmp_path / "t.csv", delimiter="\\t").names == ("a", "b")
    with pytest.raises(
        ArgumentError,
        match=r"`delimiter` must be a single ASCII character other than a quote; got ';;'",
    ):
        open_table(tmp_path / "t.csv", delimiter=";;")


def gz(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content))
    return path


def test_a_damaged_gz_is_one_sentence(tmp_path: Path) -> None:
    rows = "\n".join(f"{i},{i * 7 % 13},{i * 31 % 97}" for i in range(3000))
    whole = gz(tmp_path / "t.csv.gz", f"a,b,c\n{rows}\n".encode()).read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    for content in (whole[: len(whole) // 2], bytes(flipped), whole[:5], b"", b"plain text"):
        (tmp_path / "t.csv.gz").write_bytes(content)
        with pytest.raises(DataError, match=r"t\.csv\.gz"):
            read_table(open_table(tmp_path / "t.csv.gz"), {"a": "real", "b": "label"})


def test_a_gz_without_line_ends_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = gz(tmp_path / "t.csv.gz", b"a,b," * 2**23)
    with pytest.raises(DataError, match="the header has more than 16,777,216 characters"):
        open_table(path)


def test_a_gz_that_grows_out_of_proportion_is_refused(tmp_path: Path) -> None:
    path = gz(tmp_path / "t.csv.gz", b"a,b\n" + b"1,2\n" * 70_000_000)
    with pytest.raises(DataError, match=r"unpacks from [\d,]+ bytes to more than 200 times"):
        read_table(open_table(path), {"a": "real"})


def test_forty_thousand_columns_take_seconds(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(40_000)]
    row = ",".join("1" for _ in names)
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + f"{row}\n" * 3)
    started = time.process_time()
    file = open_table(tmp_path / "wide.csv")
    found, _ = learned_features(file, "c7", ignore=names[8:4000])
    assert found.numbers.shape == (3, 40_000 - 1 - 3992)
    assert time.process_time() - started < 20


def test_parquet_with_odd_columns_is_read_or_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    bad = pa.array([b"caf\xe9", b"tea"]).cast(pa.binary())
    columns = {
        "large": pa.array([2**60 + 1, 5]),
        "nested": pa.array([["a"], ["b"]]),
        "bytes": bad,
        "claimed": pa.Array.from_buffers(pa.string(), 2, bad.buffers()),
        "x": pa.array([1.0, 2.0]),
    }
    pa.parquet.write_table(pa.table(columns), path)
    file = open_table(path)
    assert read_table(file, {"large": "real"})["large"].to_pylist() == [float(2**60), 5.0]
    for name in ("nested", "bytes", "claimed"):
        with pytest.raises(DataError, match=rf"Parquet with labels in column '{name}' \("):
            read_table(file, {name: "label"})
    with pytest.raises(DataError, match="Parquet with numbers or text in column 'claimed'"):
        read_table(file, {"claimed": "any"})
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DataError, match=r"t\.parquet is not readable as Parquet \("):
        open_table(path)


def test_parquet_made_to_fill_the_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table({"x": np.zeros(40_000_000, np.int8)}), path)
    with pytest.raises(DataError, match=r"unpacks from [\d,]+ bytes to more than 200 times"):
        read_table(open_table(path), {"x": "real"})


@pytest.mark.parametrize("name", ["caf\udce9.csv", "caf\udce9.csv.gz", "caf\udce9.parquet"])
def test_a_file_whose_name_is_not_utf8_is_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name.endswith("parquet"):
        with path.open("wb") as stream:
            pa.parquet.write_table(pa.table({"x": [1.0, 2.0]}), stream)
    else:
        path.write_bytes(gzip.compress(b"x\n1\n2\n") if name.endswith("gz") else b"x\n1\n2\n")
    assert read_table(open_table(path), {"x": "real"})["x"].to_pylist() == [1.0, 2.0]


@pytest.mark.parametrize("delimiter", ["", '"', "\n", "é", "\x00", "ab"])
def test_a_delimiter_that_separates_nothing_is_refused(delimiter: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ArgumentError, match="`delimiter` must be a single ASCII character"):
        open_table(tmp_path / "t.csv", delimiter=delimiter)


def test_numbers_of_arrow_are_those_of_its_own_conversion() -> None:
    whole = pa.array([None, 1.5, None, -2.0, 3.0, 4.0, None, 8.0, 9.0, None, 11.0])
    for array in (whole, whole[3:], whole[4:6], whole[1:2], whole[:0], pa.array([1.0])[1:]):
        found, missing = plain_values(array, np.float64)
        none = np.zeros(len(array), dtype=bool) if missing is None else missing
        expected = array.to_numpy(zero_copy_only=False)
        np.testing.assert_array_equal(np.where(none, np.nan, found), expected)
        assert (missing is None) == (array.null_count == 0)
