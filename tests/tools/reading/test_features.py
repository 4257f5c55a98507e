"""Which columns are learned from, and what is left out or refused."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from untrue.errors import DataError, UntrueWarning
from untrue.tools.name_lists import split_columns
from untrue.tools.reading.features import (
    Features,
    Schema,
    learned_features,
    read_features,
)
from untrue.tools.reading.opening import open_source
from untrue.tools.reading.tables import TableFile, codes, open_table


def find_schema(file: TableFile, target: str, **options: list[str]) -> Schema:
    return learned_features(file, target, **options)[0].schema


def values(file: TableFile, schema: Schema) -> Features:
    return read_features(file, schema)[0]


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_numbers_and_categories_are_distinguished(tmp_path: Path) -> None:
    rows = "".join(
        f"{i},{i / 2},{'ab'[i % 2]},{'true' if i % 3 else 'false'},y\n" for i in range(9)
    )
    file = open_table(write(tmp_path / "t.csv", "n,x,letter,flag,target\n" + rows))
    schema = find_schema(file, "target")
    assert schema == Schema(("n", "x"), ("letter", "flag"))
    assert find_schema(file, "target", categorical=["n"], ignore=["x"]) == Schema(
        (), ("n", "letter", "flag")
    )
    found = values(file, Schema(("x",), ("n", "flag")))
    assert found.numbers[3, 0] == 1.5
    assert found.text[3].tolist() == ["3", "false"]


def test_missing_values_of_many_spellings_are_missing(tmp_path: Path) -> None:
    file = open_table(write(tmp_path / "t.csv", "x,c,y\n1,a,0\nNA,,0\n?,null,0\n,b,1\n"))
    assert find_schema(file, "y") == Schema(("x",), ("c",))
    found = values(file, Schema(("x",), ("c",)))
    np.testing.assert_array_equal(found.numbers[:, 0], [1, np.nan, np.nan, np.nan])
    assert found.text[:, 0].tolist() == ["a", None, None, "b"]


def test_what_cannot_be_learned_from_is_left_out_with_a_warning(tmp_path: Path) -> None:
    n = 60
    table = pa.table(
        {
            "key": [f"patient {i}" for i in range(n)],
            "when": [datetime.date(2020, 1, 1)] * n,
            "empty": pa.nulls(n),
            "x": [i // 2 for i in range(n)],
            "y": ["a", "b"] * (n // 2),
        }
    )
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    with pytest.warns(UntrueWarning) as caught:
        schema = find_schema(open_table(tmp_path / "t.parquet"), "y")
    assert schema == Schema(("x",), ())
    assert [str(each.message) for each in caught] == [
        "column 'key' is left out: nearly every row has a value of its own, as a name or a key has",
        "column 'when' is left out: it holds dates, neither numbers nor categories",
        "column 'empty' is left out: it has no values",
    ]


def test_a_column_that_only_numbers_the_rows_is_learned_from_with_a_warning(tmp_path: Path) -> None:
    rows = "".join(f"{10**17 + i},{i % 5},{'ab'[i % 2]}\n" for i in range(60))
    file = open_table(write(tmp_path / "t.csv", f"id,x,y\n{rows}"))
    with pytest.warns(UntrueWarning, match="'id' holds another whole number.*--ignore"):
        assert find_schema(file, "y") == Schema(("id", "x"), ())
    assert find_schema(file, "y", ignore=["id"]) == Schema(("x",), ())


def test_text_in_a_column_of_numbers_is_reported_by_its_row(tmp_path: Path) -> None:
    rows = [f"{i},a" for i in range(20)]
    rows[7] = "unknown,a"
    file = open_table(write(tmp_path / "t.csv", "age,y\n" + "\n".join(rows) + "\n"))
    with pytest.raises(DataError, match=r"data row 8, column 'age', is 'unknown' in a column of"):
        find_schema(file, "y")
    assert find_schema(file, "y", categorical=["age"]).categories == ("age",)
    with pytest.raises(DataError, match="data row 8, column 'age': 'unknown' is not a number"):
        values(file, Schema(("age",), ()))


def test_new_data_with_a_decimal_comma_are_told_the_way_out(tmp_path: Path) -> None:
    file = open_table(write(tmp_path / "t.csv", "age;y\n35,5;a\n"), delimiter=";")
    wanted = r"data row 1, column 'age': '35,5' is not a number\. Write numbers with a point"
    with pytest.raises(DataError, match=wanted):
        values(file, Schema(("age",), ()))


def test_columns_that_a_model_needs_are_asked_for_by_name(tmp_path: Path) -> None:
    file = open_table(write(tmp_path / "t.csv", "Age,city\n1,a\n"))
    with pytest.raises(
        DataError, match=r"lacks 2 columns that the model learned from: age, dose\. Not used .* Age"
    ):
        values(file, Schema(("age", "dose"), ("city",)))


def test_infinite_numbers_are_refused(tmp_path: Path) -> None:
    file = open_table(write(tmp_path / "t.csv", "x,y\n1,a\ninf,b\n"))
    with pytest.raises(DataError, match="data row 2, column 'x', is infinite"):
        values(file, Schema(("x",), ()))


def test_a_target_alone_is_nothing_to_learn_from(tmp_path: Path) -> None:
    file = open_table(write(tmp_path / "t.csv", "y\na\n"))
    with pytest.raises(DataError, match="no column to learn from beside 'y'"):
        find_schema(file, "y")


def test_the_column_without_a_name_of_a_saved_index_can_be_left_out(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i % 7},{'ab'[i % 2]}\n" for i in range(200))
    file = open_table(write(tmp_path / "t.csv", f",x,y\n{rows}"))
    with pytest.warns(UntrueWarning, match="leave it out: --ignore ''"):
        find_schema(file, "y")
    assert find_schema(file, "y", ignore=split_columns([""])).numbers == ("x",)


@pytest.mark.parametrize("cell", ["1_000", "٣"])
def test_a_number_that_only_python_knows_is_a_slip(cell: str, tmp_path: Path) -> None:
    rows = "\n".join(f"{i}.5,a" for i in range(20))
    (tmp_path / "t.csv").write_text(f"x,kind\n{rows}\n{cell},b\n", encoding="utf-8")
    with pytest.raises(DataError, match=f"data row 21, column 'x', is '{cell}' in a column of num"):
        find_schema(open_table(tmp_path / "t.csv"), "kind")


def test_numbers_in_a_form_that_no_reader_takes_are_names(tmp_path: Path) -> None:
    rows = "\n".join(['" 1",a', '"2 ",b'] * 10)
    (tmp_path / "t.csv").write_text(f"x,kind\n{rows}\n")
    schema = find_schema(open_table(tmp_path / "t.csv"), "kind")
    assert schema.names == ("x",)


# Past the first rows, by which the types of columns are guessed.
FAR = 120_000


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [
        ("3", "4", [3.0, 4.0]),
        ("3", "4.5", [3.0, 4.5]),
        ("3", "NA", [3.0, np.nan]),
        ("NA", "4", [np.nan, 4.0]),
        ("0.1", "1e300", [0.1, 1e300]),
        ("3", str(2**63), [3.0, 2.0**63]),
        (str(2**53 + 1), "1", [2.0**53, 1.0]),
    ],
)
def test_numbers_that_change_late_are_numbers(
    first: str, last: str, found: list[float], tmp_path: Path
) -> None:
    rows = f"{first},a\n" * FAR + f"{last},b\n"
    file = open_table(write(tmp_path / "t.csv", f"x,y\n{rows}"))
    if found[1] == 1e300:
        with pytest.raises(DataError, match=f"data row {FAR + 1}, column 'x', is 1e.300;"):
            learned_features(file, "y")
        return
    read, labels = learned_features(file, "y")
    assert read.schema == Schema(("x",), ())
    np.testing.assert_array_equal(read.numbers[[0, FAR], 0], found)
    assert codes(labels, "y", file)[1] == ["a", "b"]


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [
        ("red", "7", ["red", "7"]),
        ("red", "NA", ["red", None]),
        ("?", "red", [None, "red"]),
        ("true", "True", ["true", "True"]),
        ("true", "red", ["true", "red"]),
        ("2020-01-01", "red", ["2020-01-01", "red"]),
    ],
)
def test_names_that_change_late_are_as_they_are_spelled(
    first: str, last: str, found: list[str | None], tmp_path: Path
) -> None:
    rows = f"{first},a\n" * FAR + f"{last},b\n"
    read, _ = learned_features(open_table(write(tmp_path / "t.csv", f"x,y\n{rows}")), "y")
    assert read.schema == Schema((), ("x",))
    assert read.text[[0, FAR], 0].tolist() == found


def test_text_after_many_numbers_is_a_slip_with_its_row(tmp_path: Path) -> None:
    rows = "3,a\n" * FAR + "three,b\n"
    file = open_table(write(tmp_path / "t.csv", f"x,y\n{rows}"))
    with pytest.raises(DataError, match=f"data row {FAR + 1}, column 'x', is 'three' in a column"):
        learned_features(file, "y")


def test_labels_are_missing_only_where_they_are_empty(tmp_path: Path) -> None:
    file = open_table(write(tmp_path / "t.csv", "x,c,country\n1,NA,NA\n2,None,None\n3,a,FR\n"))
    read, labels = learned_features(file, "country")
    assert read.text[:, 0].tolist() == [None, None, "a"]
    assert codes(labels, "country", file)[1] == ["NA", "None", "FR"]


def test_a_column_may_be_both_learned_from_and_the_truth(tmp_path: Path) -> None:
    file = open_table(write(tmp_path / "t.csv", "x,y\n1,3\n2,4\n"))
    read, labels = read_features(file, Schema(("x", "y"), ()), "y")
    np.testing.assert_array_equal(read.numbers, [[1, 3], [2, 4]])
    assert codes(labels, "y", file)[1] == ["3", "4"]


def test_a_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = open_table(write(tmp_path / "t.csv", "x,c,y\n" + "1,a,no\n2.5,b,yes\n" * 40))
    read, real = [], pa.csv.read_csv
    monkeypatch.setattr(pa.csv, "read_csv", lambda *a, **b: read.append(a) or real(*a, **b))
    learned_features(file, "y")
    assert len(read) == 1


@pytest.mark.parametrize(
    ("amounts", "way"),
    [
        (("1,000", "2,007", "1,234,567.5"), "without it"),
        (("1,000", "2,07", "3,5"), "with a point"),
    ],
)
def test_a_comma_between_thousands_is_left_out_and_no_point_put_there(
    amounts: tuple[str, ...], way: str, tmp_path: Path
) -> None:
    path = tmp_path / "money.csv"
    rows = "".join(f'"{amount}",{label}\n' for amount in amounts for label in "ab")
    path.write_text(f"amount,y\n{rows}")
    with pytest.raises(DataError, match=rf"such as '1,000'; write them {way}\. If they are cat"):
        open_source(path, target="y")


def test_numbers_with_a_comma_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "credit.csv"
    path.write_text("amount;risk\n639,0;good\n12,5;bad\n100,25;good\n")
    with pytest.raises(DataError, match=r"'amount': numbers are written with a comma, .*'639,0'"):
        learned_features(open_table(path, delimiter=";"), "risk")
    found, _ = learned_features(open_table(path, delimiter=";"), "risk", categorical=["amount"])
    assert found.schema.categories == ("amount",)


def test_text_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "credit.csv"
    path.write_bytes("purpose,risk\ncaf\u00e9,good\nbar,bad\n".encode("latin-1"))
    with pytest.raises(DataError, match="the text is not UTF-8"):
        learned_features(open_table(path), "risk")
