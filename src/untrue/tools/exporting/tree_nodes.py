"""Boosted trees as one ONNX node, `TreeEnsemble`, in double precision.

The trees are read as plain numbers from what LightGBM and XGBoost write. Inputs are float32 values,
so that a limit in double precision may be compared as it is.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from untrue.tools.exporting.graph import ML, Graph, onnx
from untrue.tools.fitting.booster import BoosterPredictor
from untrue.tools.fitting.checked_trees import CATEGORICAL, lightgbm_blocks

AT_MOST, LESS, MEMBER = 0, 1, 6
# Bits of LightGBM's splits: missing goes left; values that count as missing (2: NaN).
DEFAULT_LEFT, NAN_IS_MISSING = 2, 2


@dataclass(frozen=True, slots=True)
class TreeSplit:
    """A node. yes and no: positions of nodes, or -1 - position of a leaf."""

    mode: int
    column: int
    limit: float
    members: tuple[int, ...]
    yes: int
    no: int
    missing_is_yes: bool


@dataclass(frozen=True, slots=True)
class Tree:
    splits: tuple[TreeSplit, ...]
    leaves: tuple[float, ...]


@dataclass(slots=True)
class _Columns:
    """The attributes of the node, tree after tree."""

    roots: list[int] = field(default_factory=list)
    splits: list[TreeSplit] = field(default_factory=list)
    ends: list[tuple[int, int, int, int]] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)

    def add(self, tree: Tree, target: int) -> None:
        first, leaf = len(self.splits), len(self.weights)
        self.roots.append(first)
        self.targets += [target] * len(tree.leaves)
        self.weights += tree.leaves
        # A tree without splits asks a question whose answers are the same.
        for split in tree.splits or (TreeSplit(AT_MOST, 0, 0.0, (), -1, -1, False),):
            self.splits.append(split)
            sides = ((leaf - 1 - e, 1) if e < 0 else (first + e, 0) for e in (split.yes, split.no))
            (yes, yes_leaf), (no, no_leaf) = sides
            self.ends.append((yes, yes_leaf, no, no_leaf))


def add_trees(graph: Graph, predictor: BoosterPredictor, value: str) -> str:
    """Scores (N, k) in float64, of inputs (N, width) in float64."""
    read = _lightgbm if predictor.library == "lightgbm" else _xgboost
    k, columns = predictor.n_classes, _Columns()
    kept = itertools.islice(read(predictor.content()), predictor.rounds * k)
    for number, tree in enumerate(kept):
        columns.add(tree, number % k)
    tensor = onnx("numpy_helper").from_array
    members = [m for s in columns.splits if s.mode == MEMBER for m in (*s.members, np.nan)]
    given: dict[str, Any] = {}
    if members:
        given["membership_values"] = tensor(np.array(members, np.float64), "members")
    yes, yes_leaf, no, no_leaf = (list(each) for each in zip(*columns.ends, strict=True))
    scores = graph.add(
        "TreeEnsemble",
        value,
        domain=ML,
        n_targets=k,
        aggregate_function=1,
        post_transform=0,
        tree_roots=columns.roots,
        nodes_modes=tensor(np.array([s.mode for s in columns.splits], np.uint8), "modes"),
        nodes_featureids=[s.column for s in columns.splits],
        nodes_splits=tensor(np.array([s.limit for s in columns.splits], np.float64), "limits"),
        nodes_missing_value_tracks_true=[int(s.missing_is_yes) for s in columns.splits],
        nodes_truenodeids=yes,
        nodes_trueleafs=yes_leaf,
        nodes_falsenodeids=no,
        nodes_falseleafs=no_leaf,
        leaf_targetids=columns.targets,
        leaf_weights=tensor(np.array(columns.weights, np.float64), "leaves"),
        **given,
    )
    return graph.add("Add", scores, graph.put(predictor.start, np.float64))


def _lightgbm(content: bytes) -> Iterator[Tree]:
    for fields in lightgbm_blocks(content.decode())[1:]:
        yield _lightgbm_tree({name: text.split() for name, text in fields.items()})


def _lightgbm_tree(fields: Mapping[str, list[str]]) -> Tree:
    def whole(name: str) -> list[int]:
        return [int(each) for each in fields.get(name, ())]

    bounds, bits = whole("cat_boundaries"), whole("cat_threshold")
    splits = []
    for kind, column, limit, yes, no in zip(
        whole("decision_type"),
        whole("split_feature"),
        [float(each) for each in fields.get("threshold", ())],
        whole("left_child"),
        whole("right_child"),
        strict=True,
    ):
        if kind & CATEGORICAL:
            words = bits[bounds[int(limit)] : bounds[int(limit) + 1]]
            members = tuple(
                32 * w + b for w, word in enumerate(words) for b in range(32) if word >> b & 1
            )
            splits.append(TreeSplit(MEMBER, column, 0.0, members, yes, no, missing_is_yes=False))
        else:
            # Where no value was missing in training, LightGBM reads a missing one as 0.
            gap_is_yes = bool(kind & DEFAULT_LEFT) if kind >> 2 == NAN_IS_MISSING else limit >= 0
            splits.append(TreeSplit(AT_MOST, column, limit, (), yes, no, gap_is_yes))
    return Tree(tuple(splits), tuple(float(each) for each in fields["leaf_value"]))


def _xgboost(content: bytes) -> Iterator[Tree]:
    for tree in json.loads(content)["learner"]["gradient_booster"]["model"]["trees"]:
        yield _xgboost_tree(tree)


def _xgboost_tree(tree: Mapping[str, Any]) -> Tree:
    """Nodes and leaves are mixed in one list there; a leaf's value is its condition."""
    inner = [node for node, child in enumerate(tree["left_children"]) if child != -1]
    leaves = [node for node, child in enumerate(tree["left_children"]) if child == -1]
    place = {node: i for i, node in enumerate(inner)} | {n: -1 - i for i, n in enumerate(leaves)}
    groups = zip(
        tree["categories_nodes"],
        tree["categories_segments"],
        tree["categories_sizes"],
        strict=True,
    )
    members = {node: tree["categories"][start : start + size] for node, start, size in groups}
    splits = []
    for node in inner:
        left, right = place[tree["left_children"][node]], place[tree["right_children"][node]]
        gap_is_left, column = bool(tree["default_left"][node]), tree["split_indices"][node]
        if node in members:  # those go right
            chosen = tuple(members[node])
            splits.append(TreeSplit(MEMBER, column, 0.0, chosen, right, left, not gap_is_left))
        else:
            limit = float(np.float32(tree["split_conditions"][node]))
            splits.append(TreeSplit(LESS, column, limit, (), left, right, gap_is_left))
    values = [float(np.float32(tree["split_conditions"][node])) for node in leaves]
    return Tree(tuple(splits), tuple(values))
