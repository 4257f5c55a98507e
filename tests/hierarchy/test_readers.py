"""Trees come in the shapes in which people hold them: files, tables, nestings, groups, paths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from untrue import Hierarchy
from untrue.errors import ArgumentError, HierarchyError, MissingFileError

EDGES = [("animal", "reptile"), ("animal", "fish"), ("reptile", "snake"), ("fish", "ray")]
TREE = Hierarchy(EDGES)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


def written(folder: Path, text: str, name: str = "tree.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


# Edges and CSV


@pytest.mark.parametrize(
    "edges",
    [
        EDGES[::-1],
        [*EDGES, EDGES[0]],
        [list(edge) for edge in EDGES],
        iter(EDGES),
        np.array(EDGES),
        pd.DataFrame(EDGES, columns=["parent", "child"]),
        pd.DataFrame(EDGES, columns=["Parent", "Child"])[["Child", "Parent"]],
        pa.table(dict(zip(("parent", "child"), zip(*EDGES, strict=True), strict=True))),
        pa.table(dict(zip(("Child", "Parent"), [*zip(*EDGES, strict=True)][::-1], strict=True))),
    ],
    ids=[
        "any order",
        "an edge twice",
        "lists",
        "iterator",
        "array",
        "table",
        "turned table",
        "arrow table",
        "turned arrow table",
    ],
)
def test_edges_in_any_shape_make_the_same_tree(edges: Any) -> None:
    tree = Hierarchy.from_edges(edges, classes=["snake", "ray"])
    assert tree == TREE
    assert all(type(name) is str for name in tree.names)


PLAIN = "".join(f"{parent},{child}\n" for parent, child in EDGES)


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        "parent,child\n" + PLAIN,
        "\ufeffParent, Child\n" + PLAIN,
        "\n\nparent,child\n\n" + PLAIN.replace("\n", "\n\n"),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace(",", " , "),
        PLAIN.replace("animal", '"animal"'),
        PLAIN.rstrip("\n"),
        "child,parent\n" + "".join(f"{child},{parent}\n" for parent, child in EDGES),
    ],
    ids=[
        "bare",
        "header",
        "BOM",
        "blank lines",
        "CRLF",
        "blanks",
        "quotes",
        "no last newline",
        "turned",
    ],
)
def test_csv_as_people_write_it(text: str, tmp_path: Path) -> None:
    assert Hierarchy.from_csv(written(tmp_path, text)) == TREE
    assert Hierarchy.from_csv(str(tmp_path / "tree.csv"), classes=["animal"]).classes == ("animal",)


def test_csv_names_may_hold_commas_quotes_and_line_ends(tmp_path: Path) -> None:
    path = written(tmp_path, '"a, b","say ""x"""\n"a, b","two\nlines"\n')
    assert Hierarchy.from_csv(path).leaves == ('say "x"', "two\nlines")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs at least one class; got none"),
        ("parent,child\n", "needs at least one class; got none"),
        ("a\n", "line 1: expected two names separated by a comma, parent,child; got 'a'"),
        ("a;b\n", "line 1: .* separated by a comma.*; got 'a;b'"),
        ("a,b\na,b,c\n", "line 2: .*; got 'a,b,c'"),
        ("a,b\n\na,\n", "line 3: .*; got 'a,'"),
        ('"a\nb",c\nd\n', "line 3: .*; got 'd'"),
        ("a,b\nb,a\n", "no cycles; found"),
        ("a,c\nb,c\n", "'c' has two parents, 'a' and 'b'"),
        ("a,c\nb,d\n", "one root; found 2"),
    ],
)
def test_csv_errors_name_the_file_and_the_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match=rf"tree\.csv: .*{message}"):
        Hierarchy.from_csv(written(tmp_path, text))


def test_csv_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tree.csv"
    path.write_bytes(b"a,b\n\xff\xfe,c\n")
    with pytest.raises(HierarchyError, match=r"tree\.csv: byte 4 is not UTF-8 text"):
        Hierarchy.from_csv(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for read in (Hierarchy.from_csv, Hierarchy.from_json):
        with pytest.raises(MissingFileError, match=r"There is no file .*none"):
            read(tmp_path / "none")
        with pytest.raises(ArgumentError, match="`path` must be the name of a file; got 3"):
            read(3)  # type: ignore[arg-type]


def test_unknown_classes_of_a_file_are_named_with_it(tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match=r"tree\.csv: Unknown class 'snaik'.*mean 'snake'"):
        Hierarchy.from_csv(written(tmp_path, PLAIN), classes=["snaik"])


# Nested mappings and JSON


@pytest.mark.parametrize(
    "nested",
    [
        {"animal": {"reptile": ["snake"], "fish": ["ray"]}},
        {"animal": {"reptile": "snake", "fish": {"ray": None}}},
        {"animal": {"reptile": ("snake",), "fish": {"ray": {}}}},
        {"animal": {"reptile": {"snake": []}, "fish": np.array(["ray"])}},
    ],
)
def test_nestings_may_end_in_lists_names_or_nothing(nested: Any) -> None:
    assert Hierarchy.from_dict(nested) == TREE


def test_several_keys_at_the_top_get_a_root() -> None:
    tree = Hierarchy.from_dict({"reptile": ["snake"], "fish": ["ray"]})
    assert (tree.root, tree.leaves, tree.max_height) == ("root", ("snake", "ray"), 2)
    assert Hierarchy.from_dict({"root": ["snake"], "fish": ["ray"]}).root == "root_"
    assert Hierarchy.from_dict({"snake": None}).leaves == ("snake",)


def test_leaves_stand_in_the_order_in_which_the_nesting_names_them() -> None:
    tree = Hierarchy.from_dict({"top": {"b": {"y": {}, "z": ["q"]}, "x": {}, "a": ["w"]}})
    assert tree.leaves == ("y", "q", "x", "w")


@pytest.mark.parametrize(
    ("nested", "message"),
    [
        ({}, "needs at least one class; got none"),
        (["a", "b"], "Expected nested mappings; got list"),
        ({"a": {"b": 3}}, "3 is below 'b'; expected names or a mapping"),
        ({"a": [["b", "c"]]}, r"names must be strings; got \['b', 'c'\] \(list\) in 'a'"),
        ({"a": {1: []}}, r"names must be strings; got 1 \(int\) in 'a'"),
        ({"a": ["b", ""]}, "names must not be empty; got '' in 'a'"),
        ({"a": ["b", "b"]}, "'b' is listed twice below 'a'"),
        ({"a": {"b": ["c"], "d": ["c"]}}, "'c' has two parents, 'b' and 'd'"),
        ({"a": {"b": ["a"]}}, "no cycles; found b -> a -> b"),
    ],
)
def test_nestings_that_are_no_trees_are_refused(nested: Any, message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        Hierarchy.from_dict(nested)


@pytest.mark.parametrize("content", [{"animal": {"reptile": ["snake"], "fish": ["ray"]}}, EDGES])
def test_json_holds_a_nesting_or_edges(content: Any, tmp_path: Path) -> None:
    for prefix in ("", "\ufeff"):
        path = written(tmp_path, prefix + json.dumps(content, indent=1), "tree.json")
        assert Hierarchy.from_json(path) == TREE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not readable as JSON: line 1: expected value; got 'the end of the file'"),
        ('{"a":\n["b"', "line 2: expected comma or end; got 'the end of the file'"),
        ('{"a": ["b"], "a": ["c"]}', '"a" is given twice in one object'),
        ('"a"', r"expected nested objects or a list of \[parent, child\] pairs"),
        ("3", "expected nested objects"),
        ("[]", "needs at least one class"),
        ('[["a", "b", "c"]]', "An edge is a .* pair"),
        ('{"a": {"b": 7}}', "7 is below 'b'"),
    ],
)
def test_json_errors_name_the_file(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match=rf"tree\.json: .*{message}"):
        Hierarchy.from_json(written(tmp_path, text, "tree.json"))


def test_json_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tree.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(HierarchyError, match=r"tree\.json: byte 7 is not UTF-8 text"):
        Hierarchy.from_json(tmp_path / "tree.json")


@pytest.mark.parametrize("shape", ["dict", "json", "csv", "path"])
def test_a_chain_of_depth_5000_can_be_read(shape: str, tmp_path: Path) -> None:
    n = 5_000
    labels = [f"n{i}" for i in range(n + 1)]
    if shape == "dict":
        nested: dict[str, Any] = {}
        for name in reversed(labels):
            nested = {name: nested}
        tree = Hierarchy.from_dict(nested)
    elif shape == "json":
        text = "".join(f'{{"{name}": ' for name in labels) + "{}" + "}" * len(labels)
        tree = Hierarchy.from_json(written(tmp_path, text, "tree.json"))
    elif shape == "csv":
        text = "".join(f"n{i},n{i + 1}\n" for i in range(n))
        tree = Hierarchy.from_csv(written(tmp_path, text))
    else:
        tree = Hierarchy.from_paths([labels])
    assert (tree.max_height, tree.leaves, tree.root) == (n, (f"n{n}",), "n0")


# Groups and paths


def test_groups_are_two_levels_under_a_root() -> None:
    tree = Hierarchy.from_groups({"reptile": ["snake", "turtle"], "fish": ["ray"]})
    assert tree.leaves == ("snake", "turtle", "ray")
    assert tree.groups(1) == {"reptile": ("snake", "turtle"), "fish": ("ray",)}
    assert (tree.height("snake", "turtle"), tree.height("snake", "ray")) == (1, 2)
    one = Hierarchy.from_groups({"all": ["a", "b"]})
    assert one.max_height == 2, "one group has a root above it too"


def test_a_group_may_share_its_name_with_a_class() -> None:
    tree = Hierarchy.from_groups({"fish": ["fish", "ray"], "root": ["fish (group)"]})
    assert tree.leaves == ("fish", "ray", "fish (group)")
    assert tree.groups(1) == {"fish (group) (group)": ("fish", "ray"), "root": ("fish (group)",)}


@given(st.dictionaries(names, st.lists(names, min_size=1, max_size=4), min_size=1, max_size=4))
def test_any_names_will_do_for_groups(groups: dict[str, list[str]]) -> None:
    members = [name for group in groups.values() for name in group]
    if len(set(members)) < len(members):
        with pytest.raises(HierarchyError, match=r"is (twice in group|in two groups)"):
            Hierarchy.from_groups(groups)
        return
    tree = Hierarchy.from_groups(groups)
    assert tree.leaves == tuple(members)
    assert list(tree.groups(1).values()) == [tuple(group) for group in groups.values()]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({}, "needs at least one class"),
        ({"a": []}, "Group 'a' has no classes"),
        ({"a": "xy"}, "group 'a' must be a list of names; got the string 'xy'"),
        ({"a": {"x", "y"}}, "group 'a' must have an order; got a set"),
        ({"a": 3}, "group 'a' must be a list of names; got 3"),
        ({"a": ["x", 1]}, r"names must be strings; got 1 \(int\) in group 'a'"),
        ({"a": ["x", "x"]}, "Class 'x' is twice in group 'a'"),
        ({"a": ["x"], "b": ["y", "x"]}, "Class 'x' is in two groups, 'a' and 'b'"),
        ([["x"], ["y"]], "`groups` must be a mapping of names to lists; got list"),
    ],
)
def test_groups_that_cannot_be_are_refused(groups: Any, message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        Hierarchy.from_groups(groups)


PATHS = [("animal", "reptile", "snake"), ("animal", "fish", "ray"), ("animal", "reptile", "snake")]


@pytest.mark.parametrize(
    "paths",
    [PATHS, np.array(PATHS), pd.DataFrame(PATHS, columns=["kingdom", "class", "species"])],
    ids=["tuples", "array", "table"],
)
def test_paths_are_label_columns_a_level(paths: Any) -> None:
    assert Hierarchy.from_paths(paths) == TREE


def test_paths_may_end_early() -> None:
    for nothing in (None, "", float("nan"), np.nan, pd.NA):
        paths = [("a", "b", "c"), ("a", "d", nothing), ("a", nothing, nothing)]
        tree = Hierarchy.from_paths(paths, classes=["c", "d", "a"])
        assert tree.leaves == ("c", "d")
        assert tree.height("a", "c") == 2
    columns = {"coarse": ["x", "x", "y"], "fine": ["p", "q", None]}
    assert Hierarchy.from_paths(pa.table(columns)).classes == ("p", "q", "y")
    table = pd.DataFrame(columns)
    assert Hierarchy.from_paths(table).leaves == ("p", "q", "y")


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ([], "needs at least one class"),
        (["ab"], "Path 0 is 'ab'; expected a list of names, coarsest first"),
        ([7], "Path 0 is 7; expected a list"),
        ([("a", "b"), ("a", None, "c")], r"Path 1 has a gap or is empty: \('a', None, 'c'\)"),
        ([("a", "b"), ()], r"Path 1 has a gap or is empty: \(\)"),
        ([("a", 1)], r"names must be strings; got 1 \(int\) in path 0"),
        ([("a", "x"), ("b", "x")], "'x' has two parents, 'a' and 'b'"),
        ([("a", "a")], "'a' is its own parent"),
    ],
)
def test_paths_that_cannot_be_are_refused(paths: Any, message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        Hierarchy.from_paths(paths)
