"""Arguments of another type than asked for end in a sentence, not in an error of NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from untrue import Actions, Hierarchy, Penalty
from untrue.errors import UntrueError

NAMES = ["cat", "dog", "owl"]
COSTS = Penalty.equal(NAMES)
TREE = Hierarchy.from_groups({"pet": ["cat", "dog"], "bird": ["owl"]})
EACH = COSTS.per_example({("cat", "dog"): [1.0, 2.0]})
NODES = Actions.from_hierarchy(TREE)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Penalty.from_matrix(COSTS), "is a table; got RulesPenalty, which .* as it is"),
        (lambda: Penalty.from_matrix(EACH), "is a table; got ExamplePenalty, which .* as it is"),
        (lambda: Penalty.from_matrix(NODES), "is a table; got NodeActions, which .* as it is"),
        (
            lambda: COSTS.cost([0, 1, 1], [0, 1]),
            r"`true` and `predicted` must have one shape.*; got \(3,\) and \(2,\)",
        ),
        (lambda: TREE.height([0, 1, 1], [0, 1]), "`a` and `b` must have one shape"),
        (lambda: NODES.cost([0, 1, 1], [0, 1]), "`true` and `action` must have one shape"),
        (lambda: Penalty.from_matrix({1, 2}), "must hold real numbers; row 0 holds {1, 2}"),
        (
            lambda: COSTS.expected({"cat": 1.0}),
            "`probs` must hold real numbers; row 0 holds {'cat'",
        ),
        (
            lambda: Penalty.from_hierarchy(TREE, np.arange(3)),
            r"`cost` must be 'height', a funct.*ar",
        ),
        (lambda: Penalty.from_zone(None, NAMES), "A zone is .* pairs or a mask.*; got NoneType"),
        (
            lambda: Penalty.from_zone(COSTS, NAMES),
            "A zone is .* pairs or a mask.*; got RulesPenalty",
        ),
        (lambda: Penalty.from_zone(np.int8(3), NAMES), "A zone is .* pairs or a mask; got np.int8"),
        (lambda: Penalty.equal(10**30), "`classes` must be at most 10,000,000; got 1000"),
        (lambda: Penalty.from_ordinal(10**400), "`classes` must be at most 10,000,000; got one of"),
        (lambda: COSTS.cost([[0], [0, 1]], 0), "names or integer indices; got lists of several le"),
        (
            lambda: TREE.height([["cat"], ["cat", "dog"]], 0),
            "indices; got lists of several lengths",
        ),
        (
            lambda: COSTS.per_example({("cat", "dog"): [[1.0], [1.0, 2.0]]}),
            r"The costs of \('cat', 'dog'\) must be numbers, one per example; got object",
        ),
        (
            lambda: COSTS.per_example({("cat", "dog"): "amount"}, 3),
            "Cost 'amount' is by columns: give a dict of arrays or a table; got int",
        ),
        (lambda: NODES.cost(0, 1.5), "Actions are names or integer indices; got float64"),
        (lambda: NODES.cost([[0], [0, 1]], 0), "Classes are names or integer indices; got lists"),
        (lambda: EACH.penalty(2), "`rows` must be positions of the 2 examples.*out of bounds"),
        (lambda: EACH.penalty("cat"), "`rows` must be positions of the 2 examples"),  # type: ignore[arg-type]
        (lambda: EACH.mean(weight=[1.0]), "`weight` must have a number for each of the 2 exam.*1"),
        (lambda: EACH.mean(weight="x"), "`weight` must be numbers, one per example"),  # type: ignore[arg-type]
        (lambda: COSTS.save(None), "`path` must be the name of a file; got None"),  # type: ignore[arg-type]
        (lambda: NODES.save(3), "`path` must be the name of a file; got 3"),  # type: ignore[arg-type]
    ],
)
def test_other_types_are_refused_with_a_sentence(make: Any, message: str) -> None:
    with pytest.raises(UntrueError, match=message):
        make()
