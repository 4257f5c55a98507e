"""Penalties as files: exact both ways, by hand readable, never a pickle, never half written."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from untrue import Penalty
from untrue.errors import MissingFileError, PenaltyError

NAMES = ["cat", "dog", "owl"]
DENSE = Penalty.from_matrix([[0, 0.1, 1e-300], [1 / 3, 0, 1e30], [5, 6, 0]], NAMES)
RULES = Penalty.from_rules(NAMES, {("owl", "cat"): 20.0, ("cat", "dog"): 0.1}, default=1 / 3)
TREE = Penalty.from_groups({"furry": ["cat", "dog"], "feathered": ["owl"]}, 0.1, 1 / 3)
FORMS = {"dense": DENSE, "rules": RULES, "tree": TREE, "scaled": TREE.normalized("rows")}
SUFFIXES = [".csv", ".json", ".toml", ".npy"]

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
costs = st.floats(0.0, 1e30, allow_subnormal=True)
reusing = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


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
    keeps_form = {".json": True, ".toml": True, ".csv": dense, ".npy": dense}
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
    assert Penalty.load(p.save(tmp_path / f"costs{suffix}")) == p


def test_names_of_all_kinds_in_trees_come_back(tmp_path: Path) -> None:
    odd = ["a,b", 'say "x"', "two\nlines", " blanks ", "tab\t", "\x7f\x01", "日本", "#", "=", "\r"]
    p = Penalty.from_groups({"first = [": odd[:5], '"second"': odd[5:]})
    for suffix in SUFFIXES:
        again = Penalty.load(p.save(tmp_path / f"costs{suffix}"), classes=odd)
        assert again.classes == tuple(odd)
        assert (again.matrix() == p.matrix()).all()


def test_a_capital_suffix_and_a_plain_string_will_do(tmp_path: Path) -> None:
    assert Penalty.load(str(RULES.save(str(tmp_path / "COSTS.JSON")))) == RULES


# What people read


def test_the_csv_is_a_table_with_names(tmp_path: Path) -> None:
    p = Penalty.from_matrix([[0, 0.1], [2, 0]], ["cat", "big dog"])
    text = p.save(tmp_path / "costs.csv").read_text()
    assert text == "true \\ predicted,cat,big dog\ncat,0.0,0.1\nbig dog,2.0,0.0\n"


def test_the_toml_is_made_of_rules(tmp_path: Path) -> None:
    text = RULES.save(tmp_path / "costs.toml").read_text()
    assert text == (
        'classes = ["cat", "dog", "owl"]\n'
        "default = 0.3333333333333333\n"
        '\n[[rule]]\ntrue = "cat"\npredicted = "dog"\ncost = 0.1\n'
        '\n[[rule]]\ntrue = "owl"\npredicted = "cat"\ncost = 20.0\n'
    )


def test_a_matrix_stands_in_the_toml_row_by_row(tmp_path: Path) -> None:
    p = Penalty.from_matrix([[0, 2, 2], [2, 0, 7], [2, 1, 0]], NAMES)
    assert p.save(tmp_path / "costs.toml").read_text() == (
        'classes = ["cat", "dog", "owl"]\n'
        "matrix = [\n    [0.0, 2.0, 2.0],\n    [2.0, 0.0, 7.0],\n    [2.0, 1.0, 0.0],\n]\n"
    )


def test_a_long_list_of_classes_stands_one_a_line(tmp_path: Path) -> None:
    p = Penalty.from_rules(9, {})
    assert '    "8",\n]\ndefault = 1.0\n' in p.save(tmp_path / "costs.toml").read_text()


# .npy, and what is no penalty file at all


def test_an_npy_takes_its_names_from_the_caller(tmp_path: Path, refused: Any) -> None:
    path = DENSE.save(tmp_path / "costs.npy")
    assert Penalty.load(path).classes == ("0", "1", "2")
    assert Penalty.load(path, classes=NAMES) == DENSE
    assert (np.load(path, allow_pickle=False) == DENSE.matrix()).all()
    refused(path, r"shape \(3, 3\), but 2 classes are named", classes=NAMES[:2])


def test_json_that_is_none_is_refused(tmp_path: Path, written: Any, refused: Any) -> None:
    refused(written(tmp_path, ".json", ""), r"not readable as JSON \(Expecting value")
    refused(written(tmp_path, ".json", "[" * 100_000), "not readable as JSON")
    bom = written(tmp_path, ".json", "\ufeff" + RULES.save(tmp_path / "r.json").read_text())
    assert Penalty.load(bom) == RULES


class Bomb:
    """Runs code when unpickled."""

    def __reduce__(self) -> Any:
        return exec, ("raise SystemExit('code was run')",)


def test_pickles_are_never_read(tmp_path: Path, refused: Any) -> None:
    path = tmp_path / "costs.npy"
    np.save(path, np.array([[Bomb()]], dtype=object), allow_pickle=True)
    refused(path, r"not readable as a plain .npy array \(objects and pickles are refused\)")
    import pickle

    path.write_bytes(pickle.dumps(Bomb()))
    refused(path, "not readable as a plain .npy array")


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY\x01\x00", b"hello", b"\x93NUMPY" * 9])
def test_broken_npy_files_are_refused(content: bytes, tmp_path: Path, refused: Any) -> None:
    path = tmp_path / "costs.npy"
    path.write_bytes(content)
    refused(path, "not readable as a plain .npy array")


def test_npy_files_of_other_things_are_refused(tmp_path: Path, refused: Any) -> None:
    path = tmp_path / "costs.npy"
    for array, message in (
        (np.zeros((2, 3)), r"must be square; got shape \(2, 3\)"),
        (np.zeros((2, 2), dtype=complex), "must hold real numbers; got complex128"),
        (np.array([["a"]]), "must hold real numbers"),
        (np.array([[0.0, -1.0], [1.0, 0.0]]), "predicting '1' for '0'"),
    ):
        np.save(path, array)
        refused(path, message)
    with path.open("wb") as file:
        np.savez(file, a=np.zeros(2))
    refused(path, "not readable as a plain .npy array")


def test_only_four_suffixes_are_known(tmp_path: Path) -> None:
    for name in ("costs.pkl", "costs", "costs.yaml"):
        with pytest.raises(PenaltyError, match=r"ends in \.csv, \.json, \.toml, \.npy; got"):
            Penalty.load(tmp_path / name)
        with pytest.raises(PenaltyError, match=r"ends in \.csv, \.json, \.toml, \.npy; got"):
            RULES.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".csv", ".json", ".toml"])
def test_files_that_are_no_text_are_refused(suffix: str, tmp_path: Path, refused: Any) -> None:
    path = tmp_path / f"costs{suffix}"
    path.write_bytes(b"\xff\xfe\x00")
    refused(path, "not UTF-8 text; save the file in that encoding")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_that_is_not_there_is_named(suffix: str, tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"There is no file .*costs"):
        Penalty.load(tmp_path / f"costs{suffix}")
    with pytest.raises(MissingFileError, match=r"There is no file .*costs"):
        Penalty.load(tmp_path / "conftest.py" / f"costs{suffix}")
    with pytest.raises(MissingFileError, match=r"There is no folder .*nowhere to write costs"):
        DENSE.save(tmp_path / "nowhere" / f"costs{suffix}")


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["cat", "dog", "owls"], "holds no class 'owls'; did you mean 'owl'"),
        (["cat", "dog"], r"holds 3 classes, wanted 2\. .* \.select\(classes\)"),
    ],
)
def test_classes_are_compared_with_the_file(
    classes: Any, message: str, tmp_path: Path, refused: Any
) -> None:
    for suffix in (".csv", ".json", ".toml"):
        refused(RULES.save(tmp_path / f"costs{suffix}"), message, classes=classes)


def test_a_file_takes_the_order_of_the_classes_wanted(tmp_path: Path) -> None:
    for suffix in (".csv", ".json", ".toml"):
        found = Penalty.load(RULES.save(tmp_path / f"costs{suffix}"), classes=["owl", "dog", "cat"])
        assert found.classes == ("owl", "dog", "cat")
        assert found.cost("cat", "owl") == RULES.cost("cat", "owl")
        np.testing.assert_array_equal(found.matrix(), RULES.matrix()[::-1, ::-1])


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
