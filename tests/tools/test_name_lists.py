"""Lists of names in options: commas between them, quotes where a name holds one."""

from __future__ import annotations

import shlex

import pytest

from untrue.errors import ArgumentError
from untrue.tools.name_lists import in_shell, split_columns, split_names


def test_names_with_commas_are_quoted_as_in_a_csv_file() -> None:
    assert split_names("a, b,c") == ["a", "b", "c"]
    assert split_names('a, "b, or c","say ""d"""') == ["a", "b, or c", 'say "d"']
    assert split_names('"two\nlines",5"') == ["two\nlines", '5"']
    with pytest.raises(ArgumentError, match=r"single commas, .*\(\"a, b\",c\); got 'a,,b'"):
        split_names("a,,b")


@pytest.mark.parametrize("name", ["id", "my age", "weight, kg", 'say "d"', " b", "l'eau", "", "ä"])
def test_what_a_message_advises_names_the_column_that_it_is_about(name: str) -> None:
    assert split_columns(shlex.split(f"--ignore {in_shell(name)}")[1:]) == [name]


def test_columns_may_hold_commas_and_have_an_empty_name() -> None:
    assert split_columns(None) == []
    assert split_columns([""]) == [""]
    assert split_columns([' a, "weight, kg"']) == ["a", "weight, kg"]
    assert split_columns(["a,b", "c"]) == ["a", "b", "c"]
    with pytest.raises(ArgumentError, match="Column names are separated by single commas"):
        split_columns(["a,,b"])
