"""Early answers: the first exit that is sure enough, and never one that was not reached."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from tests.exit_probs import COSTS, GROUPS, WORK, drawn

from untrue import Actions, Hierarchy, Penalty, decide, exit_early
from untrue.errors import ArgumentError, DataError
from untrue.exits import ExitRule, find_exit_rule


def test_each_example_takes_the_first_exit_whose_expected_cost_is_below_the_threshold() -> None:
    probs, _ = drawn(200)
    found = exit_early(probs, COSTS, threshold=0.6)
    for n in range(200):
        costs = [(each[n] @ COSTS.matrix()).min() for each in probs]
        expected = next((i for i, cost in enumerate(costs) if cost < 0.6), 2)
        assert found.exits[n] == expected + 1
        assert found.labels[n] == decide(probs[expected][n : n + 1], COSTS)[0]
        assert found.expected_cost[n] == pytest.approx(costs[expected])
    assert set(found.exits) == {1, 2, 3}


def test_an_exit_that_was_not_reached_has_no_say() -> None:
    probs, _ = drawn(100)
    found = exit_early(probs, COSTS, threshold=0.6)
    changed = [each.copy() for each in probs]
    for exit_number in (2, 3):
        before = found.exits < exit_number
        changed[exit_number - 1][before] = [0.0, 0.0, 0.0, 1.0]
    again = exit_early(changed, COSTS, threshold=0.6)
    assert np.array_equal(again.labels, found.labels)
    assert np.array_equal(again.exits, found.exits)


def test_no_threshold_is_the_last_exit_and_an_infinite_one_the_first() -> None:
    probs, _ = drawn(50)
    last, first = (exit_early(probs, COSTS, threshold=t, work=WORK) for t in (0.0, math.inf))
    assert np.array_equal(last.labels, decide(probs[-1], COSTS))
    assert last.saved == 0.0
    assert np.array_equal(first.labels, decide(probs[0], COSTS))
    assert first.saved == pytest.approx(0.9)


def test_the_work_saved_is_that_of_the_exits_taken() -> None:
    probs, _ = drawn(300)
    found = exit_early(probs, COSTS, threshold=0.6, work=WORK)
    done = sum(WORK[number - 1] for number in found.exits)
    assert found.saved == pytest.approx(1 - done / (300 * 10.0))
    assert found.by_exit.sum() == 300
    assert exit_early(probs, COSTS, threshold=0.6).saved is None
    assert f"{found.by_exit[0]} at exit 1" in str(found)
    assert f"{100 * found.saved:.1f} % of the work saved" in str(found)


def test_thresholds_may_differ_by_exit() -> None:
    probs, _ = drawn(100)
    found = exit_early(probs, COSTS, threshold=(0.0, math.inf))
    assert set(found.exits) == {2}
    with pytest.raises(ArgumentError, match="or 2 of them, one for each exit but the last"):
        exit_early(probs, COSTS, threshold=(0.1, 0.2, 0.3))


def test_tensors_are_taken_and_one_exit_always_answers() -> None:
    probs, _ = drawn(20)
    found = exit_early([torch.from_numpy(each) for each in probs], COSTS, threshold=0.6)
    assert np.array_equal(found.labels, exit_early(probs, COSTS, threshold=0.6).labels)
    alone = exit_early(probs[-1:], COSTS, threshold=0.0, work=[5])
    assert set(alone.exits) == {1}
    empty = exit_early([each[:0] for each in probs], COSTS, threshold=0.6, work=WORK)
    assert (len(empty.labels), empty.saved) == (0, 0.0)


def test_tables_go_by_the_names_of_their_columns() -> None:
    probs, labels = drawn(400, sharp=3.0)
    tables = [pd.DataFrame(each, columns=COSTS.classes).iloc[:, ::-1] for each in probs]
    found, by_name = (exit_early(each, COSTS, threshold=0.6) for each in (probs, tables))
    assert np.array_equal(by_name.labels, found.labels)
    assert np.array_equal(by_name.exits, found.exits)
    budget = "across groups <= 20%"
    rules = [find_exit_rule(each, labels, COSTS, budget) for each in (probs, tables)]
    assert rules[0].threshold == rules[1].threshold > 0
    assert np.array_equal(rules[0].answer(tables[0], 1)[0], rules[0].answer(probs[0], 1)[0])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_probabilities_of_half_precision_are_taken_as_decide_takes_them(dtype) -> None:
    exits, labels = drawn(400, sharp=3.0)
    probs = [torch.from_numpy(each).to(dtype) for each in exits]
    assert (probs[-1].double().sum(1) - 1).abs().max() > (1e-3 if dtype == torch.bfloat16 else 0)
    found = exit_early(probs, COSTS, threshold=0.0)
    assert np.array_equal(found.labels, decide(probs[-1], COSTS).numpy())
    assert find_exit_rule(probs, labels, COSTS, "across groups <= 20%").shown


def test_answers_may_be_nodes_of_a_tree() -> None:
    """ "Some bird" from exit 1, where no kind of bird is sure enough to stop for."""
    tree = Hierarchy.from_groups(GROUPS)
    nodes = Actions.from_hierarchy(tree, lambda h, own: float(h) if own < h else 0.3 * own)
    first = [[0.02, 0.01, 0.5, 0.47], [0.97, 0.01, 0.01, 0.01], [0.3, 0.3, 0.2, 0.2]]
    last = [[0.0, 0.0, 0.05, 0.95], [0.98, 0.0, 0.01, 0.01], [0.97, 0.01, 0.01, 0.01]]
    found = exit_early([first, last], nodes, threshold=0.5)
    assert [nodes.actions[i] for i in found.labels] == ["bird", "trout", "trout"]
    assert found.exits.tolist() == [1, 1, 2]
    assert np.array_equal(found.labels[:2], decide(first, nodes)[:2])
    # By classes alone the first example cannot stop yet.
    classes = Penalty.from_hierarchy(tree)
    assert exit_early([first, last], classes, threshold=0.5).exits.tolist() == [2, 1, 2]
    with pytest.raises(
        ArgumentError, match=r"is about classes, and `Actions` need not be.*or a Pen"
    ):
        exit_early([first, last], nodes, budget="*->* <= 5%", held_out=([first, last], [3, 0, 0]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threshold": None}, "either `threshold` or `budget`"),
        ({"budget": "zone <= 5%"}, "either `threshold` or `budget`"),
        ({"threshold": None, "budget": "zone <= 5%"}, "`budget` needs `held_out`"),
        ({"threshold": -1.0}, "`threshold` must be a number, 0 or more"),
        ({"threshold": "much"}, "`threshold` must be a number, 0 or more.*got 'much'"),
        ({"threshold": math.nan}, "`threshold` must be a number, 0 or more.*got nan"),
        ({"work": (3.0, 1.0, 10.0)}, "`work` must be 3 numbers, one per exit.*they rise"),
        ({"work": (1.0, 2.0)}, r"`work` must be 3 numbers.*got \(1.0, 2.0\)"),
        ({"work": 7.0}, "`work` must be 3 numbers.*got 7.0"),
        ({"work": ["a", "b", "c"]}, "`work` must be 3 numbers.*got .'a'"),
        ({"threshold": None, "budget": "*->* <= 5%", "held_out": 3}, "a tuple of two, .*; got int"),
        (
            {"threshold": None, "budget": "*->* <= 5%", "held_out": (None, [0])},
            "`held_out` must have a list with the probabilities of each exit.*NoneType",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, object], message: str) -> None:
    probs, _ = drawn(5)
    with pytest.raises(ArgumentError, match=message):
        exit_early(probs, COSTS, **({"threshold": 0.5} | change))


def test_probabilities_that_do_not_fit_are_refused() -> None:
    probs, labels = drawn(5)
    with pytest.raises(ArgumentError, match=r"list with the probabilities of each exit.*ndarray"):
        exit_early(probs[0], COSTS, threshold=0.5)
    for rule in (ExitRule(COSTS, 0.5, 2), lambda given: find_exit_rule(given, [0], COSTS, "zone")):
        with pytest.raises(ArgumentError, match=r"probabilities of each exit.*NoneType"):
            rule(None)
    with pytest.raises(ArgumentError, match=r"probabilities of each exit.*NoneType"):
        exit_early(None, COSTS, threshold=0.5)
    with pytest.raises(ArgumentError, match="exit 1 has 5, exit 3 has 4"):
        exit_early([*probs[:2], probs[2][:4]], COSTS, threshold=0.5)
    with pytest.raises(ArgumentError, match="must have 2 exits; got 3"):
        ExitRule(COSTS, 0.5, 2)(probs)
    with pytest.raises((ArgumentError, DataError), match="sum"):
        exit_early([each * 2 for each in probs], COSTS, threshold=0.5)
    with pytest.raises(ArgumentError, match="of 3 exits; got 2"):
        exit_early(probs, COSTS, budget="zone <= 5%", held_out=(probs[:2], labels))


def test_the_page_runs_from_top_to_bottom(tmp_path: Path) -> None:
    page = (Path(__file__).parent.parent / "docs" / "exits.md").read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "across groups" in done.stdout
