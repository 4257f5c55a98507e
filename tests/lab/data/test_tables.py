"""The two tables with official costs: read, checked, and refused when damaged."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from untrue.errors import ArgumentError, DataError
from untrue.lab.data import load
from untrue.lab.data.tables import KDD_COLUMNS, load_table

ROW = ["0", "tcp", "http", "SF", *["1"] * (len(KDD_COLUMNS) - 4)]
LOAN = "A11 6 A34 A43 1169 A65 A75 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192 A201"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, kinds in (
        ("kddcup.data_10_percent.gz", ("normal", "smurf", "satan")),
        ("corrected.gz", ("mailbomb", "normal")),
    ):
        lines = [",".join([*ROW, f"{kind}."]) for kind in kinds]
        (tmp_path / "kdd99").mkdir(exist_ok=True)
        (tmp_path / "kdd99" / name).write_bytes(gzip.compress("\n".join(lines).encode()))
    (tmp_path / "german").mkdir()
    (tmp_path / "german" / "german.data").write_text(f"{LOAN} 1 \n{LOAN} 2\n")
    return tmp_path


def test_attacks_become_categories_and_costs_are_the_official_ones(folder: Path) -> None:
    data = load_table("kdd99", folder)
    assert data.penalty.classes == ("normal", "probe", "dos", "u2r", "r2l")
    assert data.labels.tolist() == [0, 2, 1]
    assert data.kinds == ("normal", "smurf", "satan")
    assert data.test_labels is not None
    assert data.test_labels.tolist() == [2, 0]
    assert data.penalty.cost("r2l", "normal") == 4
    assert data.penalty.cost("normal", "r2l") == 2
    assert data.train.numbers.shape == (3, 38)
    assert data.train.text[0].tolist() == ["tcp", "http", "SF"]


def test_german_credit_has_good_and_bad_risks(folder: Path) -> None:
    data = load_table("german", folder)
    assert data.labels.tolist() == [0, 1]
    assert data.test is None
    assert (data.penalty.cost("bad", "good"), data.penalty.cost("good", "bad")) == (5, 1)
    assert data.train.text.shape == (2, 13)
    np.testing.assert_array_equal(data.train.numbers[0], [6, 1169, 4, 4, 67, 2, 1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{LOAN}\n", r"german\.data is corrupt: line 1 has 20 columns, not 21"),
        (f"{LOAN} 1\n{LOAN} 3\n", "line 2 has an unknown label '3'"),
        (f"{LOAN.replace(' 6 ', ' six ')} 1\n", "line 1 has text among numbers"),
        ("", "has no rows"),
    ],
)
def test_damage_is_named(folder: Path, text: str, message: str) -> None:
    (folder / "german" / "german.data").write_text(text)
    with pytest.raises(DataError, match=message):
        load_table("german", folder)


def test_a_cut_archive_is_named(folder: Path) -> None:
    path = folder / "kdd99" / "corrected.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"corrected\.gz is not readable"):
        load_table("kdd99", folder)


def test_a_table_is_no_data_set_of_images_and_images_are_no_table(folder: Path) -> None:
    with pytest.raises(ArgumentError, match="'kdd99' is a table"):
        load("kdd99", folder)
    with pytest.raises(DataError, match="'mnist' is not a table"):
        load_table("mnist", folder)


def test_a_damaged_archive_is_one_sentence(folder: Path) -> None:
    file = folder / "kdd99" / "corrected.gz"
    content = bytearray(file.read_bytes())
    content[12:16] = b"\xff\xff\xff\xff"
    file.write_bytes(content)
    with pytest.raises(DataError, match=r"corrected\.gz is not readable"):
        load_table("kdd99", folder)
