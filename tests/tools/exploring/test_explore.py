"""What is kept of a file of predictions for the page, and how it is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from untrue import Penalty
from untrue.errors import ArgumentError, DataError
from untrue.tools.exploring.drawing import drawn, kept_of_each
from untrue.tools.exploring.explore import MOST_CLASSES, explore
from untrue.tools.exploring.quantised import quantised, restored
from untrue.tools.reading.probability_file import ReadOptions


@pytest.mark.parametrize("n_classes", [2, 10, 200])
def test_a_byte_is_nearest_where_probabilities_are_small(n_classes: int) -> None:
    probs = np.random.default_rng(0).dirichlet(np.full(n_classes, 0.3), 500)
    back = restored(quantised(probs))
    assert back.sum(axis=1) == pytest.approx(1)
    # Half a step of the square root is 1/510: twice that times the root, and the row's own sum.
    assert np.abs(back - probs).max() < 0.01
    small = probs < 1e-3
    assert np.abs(back - probs)[small].max() < 1.5e-4


def test_rare_classes_are_kept_whole_and_common_ones_alike() -> None:
    assert kept_of_each(np.array([5, 1000, 30, 400]), 100).tolist() == [5, 33, 30, 32]
    assert kept_of_each(np.array([5, 1000]), 2000).tolist() == [5, 1000]
    assert kept_of_each(np.array([0, 7, 9]), 8).tolist() == [0, 4, 4]
    true = np.repeat([0, 1, 2], [5, 1000, 300])
    rows = drawn(true, 3, 205, seed=1)
    assert np.bincount(true[rows]).tolist() == [5, 100, 100]
    assert np.array_equal(rows, np.unique(rows))
    assert np.array_equal(rows, drawn(true, 3, 205, seed=1))
    assert not np.array_equal(rows, drawn(true, 3, 205, seed=2))


def test_shares_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("truth,prob_a,prob_b\n" + "a,0.9,0.1\n" * 90 + "b,0.2,0.8\n" * 10)
    found = explore(path, examples=30)
    assert np.bincount(found.true).tolist() == [20, 10]
    assert found.weights.tolist() == [4.5, 1.0]
    assert found.counts.tolist() == [90, 10]


def test_classes_stand_as_the_costs_have_them_groups_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("truth,prob_a,prob_b,prob_c\na,.7,.2,.1\nb,.1,.8,.1\nc,.2,.1,.7\n")
    costs = Penalty.from_rules(["c", "b", "a"], {("c", "a"): 7.0})
    found = explore(path, penalty=costs)
    assert found.classes == ("c", "b", "a")
    assert np.array_equal(found.costs, costs.matrix())
    assert found.true.tolist() == [2, 1, 0]
    assert restored(found.codes).argmax(axis=1).tolist() == [2, 1, 0]
    (tmp_path / "tree.json").write_text('{"one": ["a", "c"], "two": ["b"]}')
    grouped = explore(path, penalty=costs, hierarchy=tmp_path / "tree.json")
    assert grouped.classes == ("c", "a", "b")
    assert [(g.name, g.members) for g in grouped.groups] == [("one", (0, 1)), ("two", (2,))]
    assert grouped.costs[0, 1] == 7.0
    tree = Penalty.from_groups({"one": ["a", "c"], "two": ["b"]}, 1.0, 5.0)
    assert [g.name for g in explore(path, penalty=tree).groups] == ["one", "two"]


@pytest.mark.parametrize(("column", "of"), [("prob_ill", "ill"), ("score", "well")])
def test_one_column_of_probabilities_is_enough_for_two_classes(
    column: str, of: str, tmp_path: Path
) -> None:
    path = tmp_path / "p.csv"
    path.write_text(f"truth,{column}\nill,0.9\nwell,0.2\n")
    found = explore(path, options=ReadOptions(probs=column))
    assert found.classes == ("ill", "well")
    probs = restored(found.codes)[:, found.classes.index(of)]
    assert probs == pytest.approx([0.9, 0.2], abs=0.01)
    assert bool(found.notes) == (column == "score")


def test_columns_called_as_the_classes_are_found_by_the_costs(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("label,a,b\na,.7,.3\nb,.1,.9\n")
    assert explore(path, penalty=Penalty.from_ordinal(["a", "b"])).classes == ("a", "b")
    assert explore(path, options=ReadOptions(probs="a,b")).classes == ("a", "b")


def test_mistakes_are_named(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("truth,prob_a\na,0.9\nb,1.5\n")
    with pytest.raises(DataError, match=r"data row 2, column '1 - prob_a', is -0.5"):
        explore(path)
    path.write_text("truth,prob_a\na,0.9\nb,0.5\nc,0.1\n")
    with pytest.raises(DataError, match=r"one column is enough for two classes only"):
        explore(path)
    path.write_text("truth,prob_a,prob_b\na,0.9,0.9\n")
    with pytest.raises(DataError, match=r"sum to 1.8, not to 1"):
        explore(path)
    path.write_text("truth,prob_a,prob_b\nc,0.1,0.9\n")
    with pytest.raises(DataError, match=r"holds an unknown label 'c'"):
        explore(path)
    path.write_text("truth,prob_a,prob_b\na,0.1,0.9\n")
    with pytest.raises(ArgumentError, match=r"`examples` must be at least .* classes, 2"):
        explore(path, examples=1)
    many = [f"c{i}" for i in range(MOST_CLASSES + 1)]
    path.write_text(
        f"truth,{','.join(f'prob_{name}' for name in many)}\nc0,1{',0' * MOST_CLASSES}\n"
    )
    with pytest.raises(DataError, match=r"has 201 classes; a page to edit costs in takes at most"):
        explore(path)
