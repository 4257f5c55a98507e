"""Boosted trees from a file, checked and rewritten before a library's own reader sees them.

The readers of LightGBM and XGBoost trust their files: a child that lies outside its tree, or a size
that is not true, ends the process or lets it run without end. Here every tree is read as plain
numbers and held to what a tree is: each node's children come after it and inside the tree, each
split is on a column that there is, and every number is finite. What the libraries get is made of
these alone.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

# The first node has no parent; XGBoost writes this for it.
NO_PARENT = 2**31 - 1
# Codes of categories are small: a bit is kept for each up to the greatest.
MOST_CATEGORIES = 2**20
LARGEST = 3e38
CATEGORICAL = 1


def lightgbm_text(content: bytes, *, width: int, n_classes: int) -> str:
    """A model for LightGBM with these trees; a ValueError where they are none."""
    given, *trees = lightgbm_blocks(content.decode("ascii"))
    if given.get("num_class") != str(n_classes) or given.get("max_feature_idx") != str(width - 1):
        raise ValueError("trees for another number of classes or columns")
    _check_rounds(len(trees), n_classes)
    lines = [
        "tree",
        "version=v4",
        f"num_class={n_classes}",
        f"num_tree_per_iteration={n_classes}",
        "label_index=0",
        f"max_feature_idx={width - 1}",
        f"feature_names={' '.join(f'Column_{j}' for j in range(width))}",
        f"feature_infos={' '.join(['none'] * width)}",
        "",
    ]
    for number, fields in enumerate(trees):
        lines += [f"Tree={number}", *_lightgbm_tree(fields, width), "", ""]
    return "\n".join([*lines, "end of trees", ""])


def lightgbm_blocks(text: str) -> list[dict[str, str]]:
    """The fields of a model's head, then those of each of its trees."""
    blocks = text.partition("\nend of trees")[0].split("\nTree=")
    return [
        dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in blocks
    ]


def _lightgbm_tree(fields: Mapping[str, str], width: int) -> list[str]:
    def whole(name: str, count: int) -> list[int]:
        return _listed(fields.get(name, "").split(), int, count, name)

    def real(name: str, count: int) -> list[float]:
        return _listed(fields.get(name, "").split(), _finite, count, name)

    leaves = len(fields.get("leaf_value", "").split())
    if not leaves or whole("num_leaves", 1) != [leaves] or fields.get("is_linear", "0") != "0":
        raise ValueError(f"a tree of {fields.get('num_leaves')} leaves with {leaves} values")
    shrinkage = real("shrinkage", 1)
    n = leaves - 1
    split, kinds = whole("split_feature", n), whole("decision_type", n)
    sides = {name: whole(name, n) for name in ("left_child", "right_child")}
    # May be infinite: so LightGBM separates missing values from all others.
    thresholds = _listed(fields.get("threshold", "").split(), _number, n, "threshold")
    cats = whole("num_cat", 1)[0]
    if cats < 0 or cats > n:
        raise ValueError(f"{cats} splits by categories")
    # A child of 0 or more is a node; below that, -1 is the first leaf.
    children = list(zip(*sides.values(), strict=True))
    reached = [child for pair in children for child in pair]
    for node, pair in enumerate(children):
        if not all(node < child < n or -leaves <= child < 0 for child in pair):
            raise ValueError(f"node {node} has the children {pair}")
    if len(set(reached)) < len(reached) or any(not 0 <= j < width for j in split):
        raise ValueError("not a valid tree")
    made: dict[str, list[Any]] = {
        "num_leaves": [leaves],
        "num_cat": [cats],
        "split_feature": split,
        "threshold": thresholds,
        "decision_type": kinds,
        **sides,
        "leaf_value": real("leaf_value", leaves),
        "shrinkage": shrinkage,
    }
    if cats:
        bounds = whole("cat_boundaries", cats + 1)
        sizes = [b - a for a, b in itertools.pairwise(bounds)]
        if bounds[0] != 0 or not all(0 < size <= MOST_CATEGORIES // 32 for size in sizes):
            raise ValueError(f"categories from {bounds}")
        bits = whole("cat_threshold", bounds[-1])
        if not all(0 <= each < 2**32 for each in bits):
            raise ValueError("categories that are no bits")
        made |= {"cat_boundaries": bounds, "cat_threshold": bits}
    for kind, threshold in zip(kinds, thresholds, strict=True):
        by_category = 0 <= threshold < cats and threshold == int(threshold)
        if not 0 <= kind < 16 or (kind & CATEGORICAL and not by_category):
            raise ValueError(f"a split of kind {kind}")
    return [f"{name}={' '.join(map(repr, numbers))}" for name, numbers in made.items()]


def xgboost_json(content: bytes, *, width: int, n_classes: int) -> bytes:
    """A model for XGBoost with these trees; a ValueError where they are none."""
    learner = json.loads(content)["learner"]
    shape, model = learner["learner_model_param"], learner["gradient_booster"]["model"]
    if (shape["num_class"], shape["num_feature"]) != (str(n_classes), str(width)):
        raise ValueError("trees for another number of classes or columns")
    trees = [_xgboost_tree(i, tree, width) for i, tree in enumerate(model["trees"])]
    rounds = _check_rounds(len(trees), n_classes)
    classes = list(range(n_classes)) * rounds
    if model["tree_info"] != classes or learner["gradient_booster"]["name"] != "gbtree":
        raise ValueError("trees in another order than the classes'")
    kinds = learner["feature_types"]
    if len(kinds) != width or not set(kinds) <= {"float", "c"}:
        raise ValueError("columns of unknown types")
    made = {
        "learner": {
            "attributes": {},
            "feature_names": [],
            "feature_types": kinds,
            "gradient_booster": {
                "model": {
                    "cats": {"enc": [], "feature_segments": [], "sorted_idx": []},
                    "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
                    "iteration_indptr": list(range(0, len(trees) + 1, n_classes)),
                    "tree_info": classes,
                    "trees": trees,
                },
                "name": "gbtree",
            },
            "learner_model_param": {
                "base_score": f"[{','.join(['0E0'] * n_classes)}]",
                "boost_from_average": "0",
                "num_class": str(n_classes),
                "num_feature": str(width),
                "num_target": "1",
            },
            "objective": {
                "name": "multi:softprob",
                "softmax_multiclass_param": {"num_class": str(n_classes)},
            },
        },
        "version": [3, 0, 0],
    }
    return json.dumps(made, allow_nan=False).encode()


def _xgboost_tree(number: int, tree: Mapping[str, Any], width: int) -> dict[str, Any]:
    n = len(tree["left_children"])

    def whole(name: str) -> list[int]:
        return _listed(tree[name], int, n, name)

    def real(name: str) -> list[float]:
        found = _listed(tree[name], _finite, n, name)
        if any(abs(each) > LARGEST for each in found):
            raise ValueError(f"{name!r} is too large for single precision")
        return found

    left, right = whole("left_children"), whole("right_children")
    parents = [NO_PARENT] * n
    for node, pair in enumerate(zip(left, right, strict=True)):
        if pair == (-1, -1):
            continue
        if not all(node < child < n and parents[child] == NO_PARENT for child in pair):
            raise ValueError(f"node {node} has the children {pair}")
        for child in pair:
            parents[child] = node
    if not n or NO_PARENT in parents[1:]:
        raise ValueError("not a valid tree")
    split, kinds, default = whole("split_indices"), whole("split_type"), whole("default_left")
    if not all(0 <= j < width for j in split) or not {*kinds, *default} <= {0, 1}:
        raise ValueError("splits of unknown columns or kinds")
    return {
        "base_weights": real("base_weights"),
        **_categories(tree, [node for node, kind in enumerate(kinds) if kind == CATEGORICAL]),
        "default_left": default,
        "id": number,
        "left_children": left,
        "loss_changes": real("loss_changes"),
        "parents": parents,
        "right_children": right,
        "split_conditions": real("split_conditions"),
        "split_indices": split,
        "split_type": kinds,
        "sum_hessian": real("sum_hessian"),
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(width),
            "num_nodes": str(n),
            "size_leaf_vector": "1",
        },
    }


def _categories(tree: Mapping[str, Any], nodes: list[int]) -> dict[str, list[int]]:
    """The categories of the splits at `nodes`, one piece after another."""
    sizes = _listed(tree["categories_sizes"], int, len(nodes), "categories_sizes")
    if _listed(tree["categories_nodes"], int, len(nodes), "categories_nodes") != nodes:
        raise ValueError("categories of nodes that split by none")
    if not all(size > 0 for size in sizes):
        raise ValueError("a split by no category")
    every = _listed(tree["categories"], int, sum(sizes), "categories")
    if not all(0 <= each < MOST_CATEGORIES for each in every):
        raise ValueError("categories out of range")
    starts = [0, *itertools.accumulate(sizes)][: len(sizes)]
    return {
        "categories": every,
        "categories_nodes": nodes,
        "categories_segments": starts,
        "categories_sizes": sizes,
    }


def _check_rounds(trees: int, n_classes: int) -> int:
    if not trees or trees % n_classes:
        raise ValueError(f"{trees} trees for {n_classes} classes")
    return trees // n_classes


def _listed(values: Any, kind: Callable[[Any], Any], count: int, name: str) -> list[Any]:
    """This many numbers, each read by `kind`."""
    if not isinstance(values, list) or len(values) != count:
        raise ValueError(f"{name!r} must have {count} entries")
    if kind is int and not all(type(each) in (int, str) for each in values):
        raise ValueError(f"{name!r} must hold whole numbers")
    return [kind(each) for each in values]


def _number(value: Any) -> float:
    number = float(value)
    if isinstance(value, bool) or math.isnan(number):
        raise ValueError(f"{value!r} among the numbers of a tree")
    return number


def _finite(value: Any) -> float:
    number = _number(value)
    if math.isinf(number):
        raise ValueError(f"{value!r} among the numbers of a tree")
    return number
