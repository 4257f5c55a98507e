"""Files that people write by hand: read as they are meant, or refused with the reason and place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from untrue import Hierarchy, Penalty


@pytest.mark.parametrize(
    "text",
    [
        ",cat,dog\ncat,0,1\ndog,2,0\n",
        "\ufeff,cat,dog\r\ncat,0,1\r\ndog,2,0",
        "true, cat, dog\ncat,  0,  1\ndog,  2,  0\n",
        "      , cat , dog\ncat   , 0   , 1\ndog   , 2   , 0\n",
        '"","cat","dog"\n"cat","0","1"\n"dog","2","0"\n',
        "\n,cat,dog\n\ncat,0,1e0\n\ndog,2.0,-0.0\n\n",
        ",cat,dog\ndog,2,0\ncat,0,1\n",
    ],
    ids=["plain", "BOM, CRLF", "blanks", "aligned", "quoted", "blank lines", "rows in other order"],
)
def test_csv_as_people_write_it(text: str, tmp_path: Path, written: Any) -> None:
    p = Penalty.load(written(tmp_path, ".csv", text))
    if text.startswith(",cat,dog\ndog"):
        assert p.matrix().tolist() == [[0, 1], [2, 0]], "rows go by name"
    assert p == Penalty.from_matrix([[0, 1], [2, 0]], ["cat", "dog"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("cat\n", "line 1: expected class names separated by commas; got 'cat'"),
        (";cat;dog\ncat;0;1\ndog;2;0\n", "line 1: expected class names separated by commas"),
        (",cat,cat\ncat,0,1\ncat,1,0\n", "Duplicate class name 'cat'"),
        (",cat,\ncat,0,1\n", "Class names must not be empty"),
        (
            ",cat,dog\ncat,0,1\ndog,1\n",
            "line 3: 1 costs for 2 classes; the header row",
        ),
        (",cat,dog\ncat,0,1\ndog,1,0,0\n", "line 3: 3 costs for 2 classes"),
        (",cat,dog\n\ncat,0,x\ndog,1,0\n", "line 3, column 'dog': 'x' is not a number"),
        (",cat,dog\ncat,0,\ndog,1,0\n", "line 2, column 'dog': '' is not a number"),
        (",cat,dog\ncat,0,-1\ndog,1,0\n", r"predicting 'dog' for 'cat' .* is -1\.0: .* negative"),
        (",cat,dog\ncat,0,nan\ndog,1,0\n", "predicting 'dog' for 'cat' .* is nan: .* finite"),
        (",cat,dog\ncat,0,1e999\ndog,1,0\n", "predicting 'dog' for 'cat' .* is inf: .* finite"),
        (",cat,dog\ncat,3,1\ndog,1,0\n", r"predicting 'cat' for 'cat' .* is 3\.0: the diagonal"),
        (
            ",cat,dog\ncat,0,1\nbog,1,0\n",
            "line 3: 'bog' is not a class .*; did you mean 'dog'",
        ),
        (",cat,dog\ncat,0,1\n", "no row for class 'dog'"),
        (",cat,dog\ncat,0,1\n\ncat,0,1\n", "line 4: a second row for class 'cat'"),
    ],
)
def test_csv_errors_name_the_line_or_the_cell(
    text: str, message: str, tmp_path: Path, written: Any, refused: Any
) -> None:
    refused(written(tmp_path, ".csv", text), message)


HAND = """
# what a mistake costs
classes = ["tumour", "benign", "normal"]
default = 1

[[rule]]
true = "tumour"
predicted = "benign"
cost = 20
"""


@pytest.mark.parametrize(
    ("text", "p"),
    [
        (
            HAND,
            Penalty.from_rules(["tumour", "benign", "normal"], {("tumour", "benign"): 20.0}),
        ),
        ("\ufeff" + HAND.replace("default = 1\n", ""), None),
        ('classes = ["a", "b"]\ndefault = { a = 2 }', Penalty.from_rules(["a", "b"], {}, {"a": 2})),
        (
            'edges = [["r", "a"], ["r", "b"]]',
            Penalty.from_hierarchy(Hierarchy([("r", "a"), ("r", "b")])),
        ),
        (
            'edges = [["r", "a"], ["r", "b"]]\nclasses = ["b", "a"]\nheight_costs = [0, 7]',
            Penalty.from_hierarchy(Hierarchy([("r", "a"), ("r", "b")], ["b", "a"]), {1: 7}),
        ),
        (
            'classes = ["a", "b"]\nmatrix = [[0, 1], [2.5, 0]]',
            Penalty.from_matrix([[0, 1], [2.5, 0]], ["a", "b"]),
        ),
    ],
)
def test_toml_as_people_write_it(
    text: str, p: Penalty | None, tmp_path: Path, written: Any
) -> None:
    expected = p or Penalty.from_rules(["tumour", "benign", "normal"], {("tumour", "benign"): 20.0})
    assert Penalty.load(written(tmp_path, ".toml", text)) == expected


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[rule]]", "[[rule]", "not readable as TOML .*line 6"),
        ("[[rule]]", "[rule]", r"rules are written as \[\[rule\]\], with two brackets"),
        ("[[rule]]", "[[rules]]", "unknown key 'rules'; did you mean 'rule'"),
        ("default", "defualt", "unknown key 'defualt'; did you mean 'default'"),
        ("default", "xyz", "unknown key 'xyz'; expected classes, default, rule"),
        ('classes = ["tumour", "benign", "normal"]', "", "`classes` must be a list of class names"),
        ('["tumour", "benign", "normal"]', "3", "`classes` must be a list of class names"),
        ('"normal"', '"benign"', "Duplicate class name 'benign'"),
        ('"normal"', "7", r"Class names must be strings; got 7 \(int\)"),
        ('true = "tumour"', 'true = "tumor"', "Unknown class 'tumor'; did you mean 'tumour'"),
        ('true = "tumour"', "true = 0", "rule 1: true must be a class name; got 0"),
        ('true = "tumour"', "", "rule 1: expected true, predicted and cost; got predicted, cost"),
        (
            "cost = 20",
            "cost = 20\nnote = 1",
            "rule 1: expected true, .*; got .*note",
        ),
        ("cost = 20", 'cost = "20"', r"'benign'\), '20', names no column. Write a number"),
        ("cost = 20", "cost = true", "Expected a number for .*; got True"),
        ("cost = 20", "cost = -2", r"predicting 'benign' for 'tumour' is -2\.0"),
        ("cost = 20", "cost = nan", "predicting 'benign' for 'tumour' is nan"),
        ('predicted = "benign"', 'predicted = "tumour"', "A rule leads from 'tumour' to itself"),
        ("default = 1", "default = [1]", r"Expected a number for `default`; got \[1\]"),
        ("default = 1", "default = {tumor = 1}", "Unknown class 'tumor'; did you mean 'tumour'"),
        (
            "cost = 20",
            "cost = 20\n" + HAND.split("1\n\n")[1],
            "rule 2: a second rule for 'tumour'",
        ),
    ],
)
def test_toml_errors_name_what_is_wrong(
    old: str, new: str, message: str, tmp_path: Path, written: Any, refused: Any
) -> None:
    assert old in HAND
    refused(written(tmp_path, ".toml", HAND.replace(old, new, 1)), message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1, 2], "expected named values such as classes, default and rules"),
        ({"classes": ["a"], "matrix": 3}, "`matrix` must be a list of rows"),
        ({"classes": ["a"], "matrix": [3]}, "`matrix` must be a list of rows"),
        ({"classes": ["a", "b"], "matrix": [[0, 1], [1]]}, "row 1 has 1 costs; .* has 2 rows"),
        (
            {"classes": ["a", "b"], "matrix": [[0, "1"], [1, 0]]},
            "number for `matrix, row 0`",
        ),
        ({"classes": ["a", "b"], "matrix": [[0, 10**400], [1, 0]]}, "`matrix, row 0` is too large"),
        ({"classes": ["a", "b"], "matrix": [[0]]}, r"shape \(1, 1\), but 2 classes are named"),
        ({"classes": ["a", "b"], "matrix": [[0, -1], [1, 0]]}, "predicting 'b' for 'a' .* is -1"),
        ({"classes": ["a", "b"], "matrix": [[0, float("nan")], [1, 0]]}, "is nan: .* finite"),
        ({"classes": [], "matrix": []}, "this one is empty"),
        ({"edges": [["r", "a"]], "classes": "a"}, "`edges` must be a list of .*, `classes` a list"),
        ({"edges": {"r": "a"}}, "`edges` must be a list"),
        ({"edges": [["r", "a"], ["a", "r"]]}, "A tree has no cycles"),
        ({"edges": [["r", "a"]], "classes": ["b"]}, "Unknown class 'b'"),
        (
            {"edges": [["r", "a"]], "height_costs": [0]},
            "Heights 0 to 1 need a cost each; got 1 cost",
        ),
        ({"edges": [["r", "a"]], "height_costs": 3}, "`height_costs` must be a list of numbers"),
        ({"edges": [["r", "a"]], "height_costs": [0, "1"]}, "number for `height_costs`; got '1'"),
        ({"edges": [["r", "a"]], "row_scale": [1, 1]}, "`row_scale` has 2 entries, not 1"),
        ({"edges": [["r", "a"]], "row_scale": [0]}, "`row_scale` must be positive and finite"),
        ({"edges": [["r", "a"]], "default": 1}, "unknown key 'default'; expected classes, edges"),
        ({"classes": ["a"], "rule": [3]}, "rule 1: expected true, predicted and cost; got 3"),
    ],
)
def test_json_errors_name_what_is_wrong(
    content: Any, message: str, tmp_path: Path, written: Any, refused: Any
) -> None:
    refused(written(tmp_path, ".json", json.dumps(content)), message)
