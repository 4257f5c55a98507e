"""A penalty is its content: equal, hashed, printed and copied by it, and never changed."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from untrue import Penalty
from untrue.penalty import RulesPenalty, TreePenalty


def test_equal_content_is_equal_and_hashes_alike(make: Any) -> None:
    p, again = make(), make()
    assert p == again
    assert hash(p) == hash(again)
    assert p.fingerprint == again.fingerprint
    assert len(p.fingerprint) == 64
    assert len({p, again}) == 1
    assert p != p.fingerprint
    if p.n_classes > 1:
        assert p != p.select(p.classes[::-1]), "the order of the classes is content"
        assert p != Penalty.from_matrix(p.matrix() + (1 - np.eye(p.n_classes)), p.classes)


def test_penalties_of_different_content_differ(penalties: Any, classes: Any) -> None:
    made = {name: make() for name, make in penalties.items()}
    assert len({p.fingerprint for p in made.values()}) == len(made)
    dense = Penalty.from_matrix(made["tree"].matrix(), classes)
    assert dense != made["tree"], "equal means equal content of the same form"


def test_zero_has_no_sign() -> None:
    minus = Penalty.from_matrix([[-0.0, 1.0], [-0.0, 0.0]])
    assert minus == Penalty.from_matrix([[0.0, 1.0], [0.0, -0.0]])
    assert Penalty.from_rules(2, {(0, 1): -0.0}, -0.0) == Penalty.from_rules(2, {(0, 1): 0.0}, 0.0)


def test_fingerprints_and_hashes_hold_across_processes() -> None:
    script = (
        "import untrue\n"
        "p = untrue.Penalty\n"
        "for q in (p.from_ordinal(['b', 'a', 'c']), p.from_rules(['x', 'y'], {('y', 'x'): 3}),\n"
        "          p.from_groups({'g': ['x', 'y'], 'h': ['z']})):\n"
        "    print(q.fingerprint, hash(q))\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    [output] = outputs
    here = [
        Penalty.from_ordinal(["b", "a", "c"]),
        Penalty.from_rules(["x", "y"], {("y", "x"): 3}),
        Penalty.from_groups({"g": ["x", "y"], "h": ["z"]}),
    ]
    assert output.splitlines() == [f"{p.fingerprint} {hash(p)}" for p in here]


def test_it_pickles_and_copies(make: Any) -> None:
    p = make()
    for twin in (pickle.loads(pickle.dumps(p)), copy.copy(p), copy.deepcopy(p)):
        assert twin == p
        assert type(twin) is type(p)
        assert (twin.matrix() == p.matrix()).all()
        immutable(twin)


def test_it_cannot_be_changed(make: Any) -> None:
    p = make()
    before = p.fingerprint
    immutable(p)
    p.expected(np.full((1, p.n_classes), 1.0 / p.n_classes))  # fills what is computed on first use
    immutable(p)
    matrix = p.matrix()
    if matrix.flags.writeable:
        matrix[:] = 7.0  # a copy: the penalty does not notice
    assert make() == p
    assert p.matrix()[0, 0] == 0.0
    assert p.fingerprint == before


def immutable(p: Any) -> None:
    for field in [*(f.name for f in dataclasses.fields(p)), "n_classes", "anything"]:
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
            setattr(p, field, None)
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
            delattr(p, field)
    held = [p, *([p.layout] if isinstance(p, TreePenalty) else [])]
    extra = [p.starts, p.excess, p.open_default] if isinstance(p, RulesPenalty) else []
    extra += p.paths if isinstance(p, TreePenalty) else []
    arrays = [getattr(h, f.name) for h in held for f in dataclasses.fields(h)] + extra
    for array in arrays:
        assert not (isinstance(array, np.ndarray) and array.flags.writeable)


def test_the_caller_s_arrays_are_neither_changed_nor_held(
    classes: Any, tree: Any, cost_matrix: Any
) -> None:
    matrix, mask = cost_matrix.copy(), cost_matrix > 4
    heights = {1: 2.0, 2: 3.0}
    made = [
        Penalty.from_matrix(matrix),
        Penalty.from_matrix(matrix.astype(np.float32).T.copy().T),
        Penalty.from_zone(mask),
        Penalty.from_hierarchy(tree, heights),
    ]
    assert (matrix == cost_matrix).all()
    assert (mask == (cost_matrix > 4)).all()
    assert matrix.flags.writeable
    before = [p.matrix().copy() for p in made]
    matrix += 1
    mask[:] = False
    heights[1] = 99.0
    for p, kept in zip(made, before, strict=True):
        assert (p.matrix() == kept).all()
    names = list(classes)
    p = Penalty.from_matrix(cost_matrix, names)
    names[0] = "other"
    assert p.classes[0] == "ray"


@pytest.mark.parametrize(
    ("make", "shown"),
    [
        ("dense", "DensePenalty(5 classes [ray, snake, trout, ...], dense, costs 0 to 8)"),
        ("dense, one class", "DensePenalty(1 classes [0], dense)"),
        ("rules", "RulesPenalty(5 classes [ray, snake, trout, ...], default 0.5, 3 rules)"),
        (
            "rules, defaults",
            "RulesPenalty(5 classes [ray, snake, trout, ...], default 0 to 3, 3 rules)",
        ),
        (
            "tree",
            "TreePenalty(5 classes [ray, snake, trout, ...], "
            "tree of height 2, cost by height 0, 1, 2)",
        ),
        (
            "tree, groups",
            "TreePenalty(3 classes [x, y, z], tree of height 2, cost by height 0, 1, 5)",
        ),
    ],
)
def test_its_repr_is_readable(make: str, shown: str, penalties: Any) -> None:
    assert repr(penalties[make]()) == shown


def test_rows_on_a_scale_show_in_the_repr(penalties: Any) -> None:
    assert repr(penalties["tree, rows"]()).endswith("cost by height 0, 1, 2, rows scaled)")
