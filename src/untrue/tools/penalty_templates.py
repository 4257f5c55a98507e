"""A penalty to start from: a commented TOML to fill in, or a matrix from a confusion matrix."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from untrue.array_types import FloatArray, IntArray
from untrue.checks import check_choice
from untrue.errors import ArgumentError
from untrue.hierarchy import Hierarchy
from untrue.metrics import Confusion, costliest_confusions, expected_cost
from untrue.penalty import Penalty
from untrue.penalty.base import check_classes
from untrue.penalty.file_writers import in_toml

By = Literal["distance", "frequency"]
Rule = tuple[str, str, float]
# A name in a rule: in quotes, as in a budget, or without any and without an arrow.
_NAME = r"""(?:"([^"]+)"|'([^']+)'|((?:(?!->).)+?))"""

_FLAT = """\
# What each mistake costs. Fill in, then look at it with: untrue penalty check THIS_FILE
# A right answer costs nothing; every cost is a number of 0 or more.

classes = {classes}

# Every mistake without a rule of its own costs this much.
default = 1.0

# One [[rule]] for each mistake that costs more (or less) than the default. Each reads: when the
# truth is `true` and the model says `predicted`, that costs `cost`. The other direction is a rule
# of its own. Take the # away to use one.
#
# [[rule]]
# true = {first}
# predicted = {second}
# cost = 20.0
#
# [[rule]]
# true = {second}
# predicted = {first}
# cost = 2.0
"""

_TREE = """\
# What each mistake costs, by a hierarchy of classes. Fill in, then look at it with:
# untrue penalty check THIS_FILE

classes = {classes}

# The cost by the height of the lowest common ancestor of the true and the predicted class:
# the first is a right answer and stays 0; the last is a mistake across the whole hierarchy.
{heights}
height_costs = {costs}

# The hierarchy, as [parent, child].
edges = [
{edges}
]
"""


_ORDINAL = """\
# What each mistake costs, for classes in order: the further apart, the more. Change what you know
# better, then look at it with: untrue penalty check THIS_FILE

classes = {classes}

# Taking a class for its neighbour costs this much, and so does every mistake without a rule.
default = 1.0

# Further apart: the number of steps to the power of {power:g}.
rule = [
{rules}
]
"""


def template(
    classes: Sequence[str] | None,
    hierarchy: Hierarchy | None = None,
    *,
    ordinal: bool = False,
    power: float | None = None,
) -> str:
    """A commented TOML penalty: rules for `classes`, or costs by height for `hierarchy`.

    ordinal: the classes stand in order, and a mistake costs its number of steps to the `power`
        (1 if None)
    """
    if ordinal:
        return _ordinal(classes, hierarchy, 1.0 if power is None else power)
    if power is not None:
        raise ArgumentError("`power` (--power) belongs to classes in order: add --ordinal.")
    if hierarchy is not None:
        edges = "\n".join(
            f"    [{in_toml(up)}, {in_toml(name)}]," for up, name in hierarchy.edges()
        )
        return _TREE.format(
            classes=_listed(hierarchy.classes),
            heights="\n".join(_height_comments(hierarchy)),
            costs=[float(h) for h in range(hierarchy.max_height + 1)],
            edges=edges,
        )
    if classes is None:
        raise ArgumentError("Name the classes (--classes a,b,c) or give a file (--hierarchy).")
    names = _several(classes)
    return _FLAT.format(classes=_listed(names), first=in_toml(names[0]), second=in_toml(names[1]))


def _several(classes: Sequence[str]) -> tuple[str, ...]:
    names = check_classes(classes)
    if len(names) < 2:
        raise ArgumentError(f"A penalty to fill in needs at least two classes; got {len(names)}.")
    return names


def _ordinal(classes: Sequence[str] | None, hierarchy: Hierarchy | None, power: float) -> str:
    if hierarchy is not None or classes is None:
        raise ArgumentError("--ordinal goes with --classes, in their order, and with no hierarchy.")
    names = _several(classes)
    matrix = Penalty.from_ordinal(names, power).matrix()
    rules = "\n".join(
        f"    {{ true = {in_toml(names[i])}, predicted = {in_toml(names[j])}, cost = {cost!r} }},"
        for i in range(len(names))
        for j in range(len(names))
        if abs(i - j) > 1 and (cost := float(matrix[i, j])) >= 0
    )
    return _ORDINAL.format(classes=_listed(names), power=power, rules=rules)


def _height_comments(hierarchy: Hierarchy) -> Iterable[str]:
    """One line for each height, with a pair of classes that meets there."""
    k = min(hierarchy.n_classes, 300)
    everyone = np.arange(k)
    heights = hierarchy.height(everyone[:, None], everyone[None, :])
    for h in range(1, hierarchy.max_height + 1):
        pairs = np.argwhere(heights == h)
        if len(pairs):
            a, b = (hierarchy.classes[n] for n in pairs[0].tolist())
            yield f"#   height {h}: such as {_one_line(a)} taken for {_one_line(b)}"
        else:
            yield f"#   height {h}"


def parse_rule(text: str) -> Rule:
    """`"tumour->benign=20"` as ("tumour", "benign", 20.0); names may stand in quotes.

    >>> parse_rule("tumour -> 'benign' = 20")
    ('tumour', 'benign', 20.0)
    """
    match = re.fullmatch(rf"\s*{_NAME}\s*->\s*{_NAME}\s*=\s*([^=]+?)\s*", text)
    try:
        if match is None:
            raise ValueError
        true, predicted, cost = filter(None, match.groups())
        return true, predicted, float(cost)
    except ValueError:
        raise ArgumentError(
            "A rule reads `TRUE->PREDICTED=COST`, such as `tumour->benign=20`, and a name that "
            f"holds an arrow stands in quotes; got {text!r}."
        ) from None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A starting penalty, and what the errors that were counted cost under it.

    costliest   the confusions that take most of the cost now; `unseen` are the rules whose mistake
              never happened in the counts
    """

    penalty: Penalty
    expected_cost: float
    total_cost: float
    costliest: tuple[Confusion, ...]
    unseen: tuple[Rule, ...]


def suggest(
    classes: Sequence[str],
    counts: IntArray,
    rules: Iterable[Rule] = (),
    *,
    by: By | str = "distance",
    greatest: float = 5.0,
) -> Suggestion:
    """A starting matrix from a confusion matrix (k, k), between 1 and `greatest`, and rules.

    With the confusion rate of two classes, both ways together and smoothed by half a count,
    r = (n_ij + n_ji + 1/2) / (n_i + n_j + 1), every mistake costs

    - by "distance":  1 + (greatest - 1) (log r_max - log r) / (log r_max - log r_min): classes
      that are seldom confused lie far apart, and taking one for the other is the worse mistake;
    - by "frequency": 1 + (greatest - 1) (rate_ij / greatest rate), rate_ij = n_ij / n_i: what
      happens most is charged most, so that training works against it.

    Costs are rounded to two digits; `rules` then set single cells, and lead.
    """
    if not greatest >= 1:
        raise ArgumentError(f"`greatest` must be at least 1, the least cost; got {greatest}.")
    check_choice("by", by, ("distance", "frequency"))
    share = _remoteness(counts) if by == "distance" else _frequency(counts)
    matrix = np.round(1.0 + (greatest - 1.0) * share, 2)
    np.fill_diagonal(matrix, 0.0)
    positions = {name: i for i, name in enumerate(classes)}
    unseen, stated = [], set[tuple[str, str]]()
    for true, predicted, cost in rules:
        if (true, predicted) in stated:
            raise ArgumentError(
                f"`rules` (--rule) have two costs for {true!r} -> {predicted!r}; keep one of them."
            )
        stated.add((true, predicted))
        # Checked by the rules' own builder, for its messages.
        Penalty.from_rules(classes, {(true, predicted): cost})
        i, j = positions[true], positions[predicted]
        matrix[i, j] = cost
        if counts[i, j] == 0:
            unseen.append((true, predicted, cost))
    penalty = Penalty.from_matrix(matrix, list(classes))
    mean = expected_cost(counts, penalty)
    return Suggestion(
        penalty=penalty,
        expected_cost=mean,
        total_cost=mean * int(counts.sum()) if counts.sum() else 0.0,
        costliest=costliest_confusions(counts, penalty, 5),
        unseen=tuple(unseen),
    )


def _remoteness(counts: IntArray) -> FloatArray:
    """Between 0 (the most confused pair) and 1 (the least), symmetric."""
    of_class = counts.sum(axis=1)
    rate = (counts + counts.T + 0.5) / (of_class[:, None] + of_class[None, :] + 1.0)
    far = -np.log(rate)
    off = ~np.eye(len(counts), dtype=bool)
    low, high = far[off].min(), far[off].max()
    return np.asarray((far - low) / (high - low) if high > low else np.zeros_like(far))


def _frequency(counts: IntArray) -> FloatArray:
    rate = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    np.fill_diagonal(rate, 0.0)
    return np.asarray(rate / rate.max() if rate.max() > 0 else rate)


def _one_line(name: str) -> str:
    """A name inside a comment, which ends with its line."""
    return name if name.isprintable() else json.dumps(name)


def _listed(names: Sequence[str]) -> str:
    if len(names) <= 8:
        return f"[{', '.join(map(in_toml, names))}]"
    return "[\n" + "".join(f"    {in_toml(name)},\n" for name in names) + "]"
