"""Penalties as files: exact both ways, by hand readable, never a pickle, never half written."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from untrue import Hierarchy, Penalty
from untrue.errors import PenaltyError

NAMES = ["cat", "dog", "owl"]
DENSE = Penalty.from_matrix([[0, 0.1, 1e-300], [1 / 3, 0, 1e300], [5, 6, 0]], NAMES)
RULES = Penalty.from_rules(NAMES, {("owl", "cat"): 20.0, ("cat", "dog"): 0.1}, default=1 / 3)
TREE = Penalty.from_groups({"furry": ["cat", "dog"], "feathered": ["owl"]}, 0.1, 1 / 3)
FORMS = {"dense": DENSE, "rules": RULES, "tree": TREE, "scaled": TREE.normalized("rows")}
SUFFIXES = [".csv", ".json", ".toml", ".npy"]

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
costs = st.floats(0.0, 1e308, allow_subnormal=True)
reusing = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


def written(folder: Path, suffix: str, text: str) -> Path:
    path = folder / f"costs{suffix}"
    path.write_bytes(text.encode())
    return path


def refused(path: Path, message: str, **options: Any) -> None:
    with pytest.raises(PenaltyError, match=rf"costs\.\w+: .*{message}"):
        Penalty.load(path, **options)


# There and back


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_comes_back_exactly(form: str, suffix: str, tmp_path: Path) -> None:
    p = FORMS[form]
    path = tmp_path / f"costs{suffix}"
    assert p.save(path) == path
    again = Penalty.load(path, classes=NAMES)
    assert again.classes == p.classes
    assert (again.matrix() == p.matrix()).all()
    dense = p.form == "dense"
    keeps_form = {".json": True, ".toml": not dense, ".csv": dense, ".npy": dense}
    assert (again == p) == keeps_form[suffix]
    assert list(tmp_path.iterdir()) == [path], "nothing else is left behind"


@reusing
@given(data=st.data(), suffix=st.sampled_from(SUFFIXES))
def test_any_names_and_costs_come_back_exactly(data: Any, suffix: str, tmp_path: Path) -> None:
    classes = data.draw(st.lists(names, min_size=1, max_size=4, unique=True))
    k = len(classes)
    matrix = np.array([[data.draw(costs) if i != j else 0 for j in range(k)] for i in range(k)])
    p = Penalty.from_matrix(matrix, classes)
    again = Penalty.load(p.save(tmp_path / f"costs{suffix}"), classes=classes)
    assert again.classes == tuple(classes)
    assert (again.matrix() == matrix).all()


@reusing
@given(data=st.data(), suffix=st.sampled_from([".json", ".toml"]))
def test_random_penalties_come_back_equal(
    twins: Any, data: Any, suffix: str, tmp_path: Path
) -> None:
    p, _ = data.draw(twins)
    again = Penalty.load(p.save(tmp_path / f"costs{suffix}"))
    assert (again.matrix() == p.matrix()).all()
    if p.form != "dense" or suffix == ".json":
        assert again == p


def test_names_of_all_kinds_in_trees_come_back(tmp_path: Path) -> None:
    odd = ["a,b", 'say "x"', "two\nlines", " blanks ", "tab\t", "\x7f\x01", "日本", "#", "=", "\r"]
    p = Penalty.from_groups({"first = [": odd[:5], '"second"': odd[5:]})
    for suffix in SUFFIXES:
        again = Penalty.load(p.save(tmp_path / f"costs{suffix}"), classes=odd)
        assert again.classes == tuple(odd)
        assert (again.matrix() == p.matrix()).all()


def test_a_capital_suffix_and_a_plain_string_will_do(tmp_path: Path) -> None:
    assert Penalty.load(str(RULES.save(str(tmp_path / "COSTS.JSON")))) == RULES


# What people read and write by hand


def test_the_csv_is_a_table_with_names(tmp_path: Path) -> None:
    p = Penalty.from_matrix([[0, 0.1], [2, 0]], ["cat", "big dog"])
    text = p.save(tmp_path / "costs.csv").read_text()
    assert text == "true \\ predicted,cat,big dog\ncat,0.0,0.1\nbig dog,2.0,0.0\n"


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
def test_csv_as_people_write_it(text: str, tmp_path: Path) -> None:
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
        (",cat,dog\ncat,0,-1\ndog,1,0\n", r"saying 'dog' for 'cat' .* is -1\.0: .* negative"),
        (",cat,dog\ncat,0,nan\ndog,1,0\n", "saying 'dog' for 'cat' .* is nan: .* finite"),
        (",cat,dog\ncat,0,1e999\ndog,1,0\n", "saying 'dog' for 'cat' .* is inf: .* finite"),
        (",cat,dog\ncat,3,1\ndog,1,0\n", r"saying 'cat' for 'cat' .* is 3\.0: the diagonal"),
        (
            ",cat,dog\ncat,0,1\nbog,1,0\n",
            "line 3: 'bog' is no class .*; did you mean 'dog'",
        ),
        (",cat,dog\ncat,0,1\n", "no row for class 'dog'"),
        (",cat,dog\ncat,0,1\n\ncat,0,1\n", "line 4: a second row for class 'cat'"),
    ],
)
def test_csv_errors_name_the_line_or_the_cell(text: str, message: str, tmp_path: Path) -> None:
    refused(written(tmp_path, ".csv", text), message)


def test_the_toml_is_made_of_rules(tmp_path: Path) -> None:
    text = RULES.save(tmp_path / "costs.toml").read_text()
    assert text == (
        'classes = ["cat", "dog", "owl"]\n'
        "default = 0.3333333333333333\n"
        '\n[[rule]]\ntrue = "cat"\npredicted = "dog"\ncost = 0.1\n'
        '\n[[rule]]\ntrue = "owl"\npredicted = "cat"\ncost = 20.0\n'
    )


def test_a_matrix_becomes_rules_with_its_commonest_cost_as_default(tmp_path: Path) -> None:
    p = Penalty.from_matrix([[0, 2, 2], [2, 0, 7], [2, 1, 0]], NAMES)
    content = tomllib.loads(p.save(tmp_path / "costs.toml").read_text())
    assert content["default"] == 2.0
    assert [rule["cost"] for rule in content["rule"]] == [7.0, 1.0]


def test_a_long_list_of_classes_stands_one_a_line(tmp_path: Path) -> None:
    p = Penalty.from_rules(9, {})
    assert '    "8",\n]\ndefault = 1.0\n' in p.save(tmp_path / "costs.toml").read_text()


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
def test_toml_as_people_write_it(text: str, p: Penalty | None, tmp_path: Path) -> None:
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
        ("cost = 20", 'cost = "20"', "Expected a number for .*'tumour', 'benign'.*; got '20'"),
        ("cost = 20", "cost = true", "Expected a number for .*; got True"),
        ("cost = 20", "cost = -2", r"saying 'benign' for 'tumour' is -2\.0"),
        ("cost = 20", "cost = nan", "saying 'benign' for 'tumour' is nan"),
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
def test_toml_errors_name_what_is_wrong(old: str, new: str, message: str, tmp_path: Path) -> None:
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
        ({"classes": ["a", "b"], "matrix": [[0, -1], [1, 0]]}, "saying 'b' for 'a' .* is -1"),
        ({"classes": ["a", "b"], "matrix": [[0, float("nan")], [1, 0]]}, "is nan: .* finite"),
        ({"classes": [], "matrix": []}, "this one is empty"),
        ({"edges": [["r", "a"]], "classes": "a"}, "`edges` must be a list of .*, `classes` a list"),
        ({"edges": {"r": "a"}}, "`edges` must be a list"),
        ({"edges": [["r", "a"], ["a", "r"]]}, "A tree has no cycles"),
        ({"edges": [["r", "a"]], "classes": ["b"]}, "Unknown class 'b'"),
        ({"edges": [["r", "a"]], "height_costs": [0]}, "wanted for heights 0 to 1; got 1 of them"),
        ({"edges": [["r", "a"]], "height_costs": 3}, "`height_costs` must be a list of numbers"),
        ({"edges": [["r", "a"]], "height_costs": [0, "1"]}, "number for `height_costs`; got '1'"),
        ({"edges": [["r", "a"]], "row_scale": [1, 1]}, "`row_scale` has 2 entries, not 1"),
        ({"edges": [["r", "a"]], "row_scale": [0]}, "`row_scale` must be positive and finite"),
        ({"edges": [["r", "a"]], "default": 1}, "unknown key 'default'; expected classes, edges"),
        ({"classes": ["a"], "rule": [3]}, "rule 1: expected true, predicted and cost; got 3"),
    ],
)
def test_json_errors_name_what_is_wrong(content: Any, message: str, tmp_path: Path) -> None:
    refused(written(tmp_path, ".json", json.dumps(content)), message)


def test_json_that_is_none_is_refused(tmp_path: Path) -> None:
    refused(written(tmp_path, ".json", ""), r"not readable as JSON \(Expecting value")
    refused(written(tmp_path, ".json", "[" * 100_000), "not readable as JSON")
    bom = written(tmp_path, ".json", "\ufeff" + RULES.save(tmp_path / "r.json").read_text())
    assert Penalty.load(bom) == RULES


# .npy, and what is no penalty file at all


def test_an_npy_takes_its_names_from_the_caller(tmp_path: Path) -> None:
    path = DENSE.save(tmp_path / "costs.npy")
    assert Penalty.load(path).classes == ("0", "1", "2")
    assert Penalty.load(path, classes=NAMES) == DENSE
    assert (np.load(path, allow_pickle=False) == DENSE.matrix()).all()
    refused(path, r"shape \(3, 3\), but 2 classes are named", classes=NAMES[:2])


class Bomb:
    """Runs code when unpickled."""

    def __reduce__(self) -> Any:
        return exec, ("raise SystemExit('code was run')",)


def test_pickles_are_never_read(tmp_path: Path) -> None:
    path = tmp_path / "costs.npy"
    np.save(path, np.array([[Bomb()]], dtype=object), allow_pickle=True)
    refused(path, r"not a plain .npy array \(objects and pickles are refused\)")
    import pickle

    path.write_bytes(pickle.dumps(Bomb()))
    refused(path, "not a plain .npy array")


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY\x01\x00", b"hello", b"\x93NUMPY" * 9])
def test_broken_npy_files_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "costs.npy"
    path.write_bytes(content)
    refused(path, "not a plain .npy array")


def test_npy_files_of_other_things_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "costs.npy"
    for array, message in (
        (np.zeros((2, 3)), r"must be square; got shape \(2, 3\)"),
        (np.zeros((2, 2), dtype=complex), "must hold real numbers; got complex128"),
        (np.array([["a"]]), "must hold real numbers"),
        (np.array([[0.0, -1.0], [1.0, 0.0]]), "saying '1' for '0'"),
    ):
        np.save(path, array)
        refused(path, message)
    with path.open("wb") as file:
        np.savez(file, a=np.zeros(2))
    refused(path, "not a plain .npy array")


def test_only_four_suffixes_are_known(tmp_path: Path) -> None:
    for name in ("costs.pkl", "costs", "costs.yaml"):
        with pytest.raises(PenaltyError, match=r"ends in \.csv, \.json, \.toml, \.npy; got"):
            Penalty.load(tmp_path / name)
        with pytest.raises(PenaltyError, match=r"ends in \.csv, \.json, \.toml, \.npy; got"):
            RULES.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".csv", ".json", ".toml"])
def test_files_that_are_no_text_are_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"costs{suffix}"
    path.write_bytes(b"\xff\xfe\x00")
    refused(path, "not UTF-8 text; save the file in that encoding")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_is_not_there_is_the_system_s_error(suffix: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="costs"):
        Penalty.load(tmp_path / f"costs{suffix}")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        DENSE.save(tmp_path / "nowhere" / f"costs{suffix}")


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["cat", "dog", "owls"], "holds no class 'owls'; did you mean 'owl'"),
        (["cat", "dog"], r"holds 3 classes, wanted 2\. .* \.select\(classes\)"),
        (["owl", "dog", "cat"], r"these classes in another order\. .* \.select\(classes\)"),
    ],
)
def test_classes_are_compared_with_the_file(classes: Any, message: str, tmp_path: Path) -> None:
    for suffix in (".csv", ".json", ".toml"):
        refused(RULES.save(tmp_path / f"costs{suffix}"), message, classes=classes)


# Writing


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_write_that_fails_leaves_the_old_file(suffix: str, tmp_path: Path) -> None:
    path = DENSE.save(tmp_path / f"costs{suffix}")
    before = path.read_bytes()
    script = (
        "import resource, sys, untrue\n"
        "p = untrue.Penalty.from_ordinal(60, power=0.3)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "try:\n    p.save(sys.argv[1])\n"
        "except OSError:\n    sys.exit(7)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, str(path)]).returncode == 7
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_penalty_too_large_for_a_matrix_leaves_the_old_file(tmp_path: Path) -> None:
    large = Penalty.random_zone(100_000, 10)
    for suffix in (".csv", ".npy"):
        path = RULES.save(tmp_path / f"costs{suffix}")
        before = path.read_bytes()
        with pytest.raises(PenaltyError, match=r"100,000 classes make .* too large .*save as \.j"):
            large.save(path)
        assert path.read_bytes() == before
    assert Penalty.load(large.save(tmp_path / "costs.json")) == large


def test_a_file_is_replaced_and_readable_like_any_other(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    path = DENSE.save(tmp_path / "costs.json")
    RULES.save(path)
    assert Penalty.load(path) == RULES
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
