"""Penalties as files: CSV and .npy for matrices, TOML for people, JSON for every form.

CSV     header row and first column are class names; rows are the true class
TOML    classes, default, and [[rule]] tables with true, predicted, cost; or classes, edges and
        height_costs for a tree
JSON    the same keys, or classes and matrix
.npy    the matrix alone; never a pickle

Numbers are written with as many digits as make them come back exactly.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from untrue.array_files import read_npy
from untrue.atomic_files import place_bytes
from untrue.errors import HierarchyError, PenaltyError, nearest
from untrue.hierarchy import Hierarchy
from untrue.input_files import LARGEST_TEXT, read_json, read_text, read_toml, reading, with_path
from untrue.penalty import builders
from untrue.penalty.base import Penalty, check_classes
from untrue.penalty.dense import DensePenalty
from untrue.penalty.rules import RulesPenalty
from untrue.penalty.tree import TreePenalty

T = TypeVar("T")

# A matrix of more classes is not a file that anybody wants: 10,000 squared are 800 MB as .npy.
LARGEST_MATRIX = 10_000

KEYS = {
    "dense": {"classes", "matrix"},
    "rules": {"classes", "default", "rule"},
    "tree": {"classes", "edges", "height_costs", "row_scale"},
}
KNOWN_KEYS = set[str]().union(*KEYS.values())


def load(path: Path, classes: Sequence[str] | None = None) -> Penalty:
    """Read a penalty; `classes` names the classes of an .npy file, and gives others their order."""
    reader = _by_suffix(path, _READERS)
    try:
        penalty = reader(path, classes)
    except (PenaltyError, HierarchyError) as error:
        raise PenaltyError(with_path(path, error)) from None
    return penalty if classes is None else _ordered(path, penalty, check_classes(classes))


def _ordered(path: Path, penalty: Penalty, wanted: tuple[str, ...]) -> Penalty:
    absent = set(wanted).difference(penalty.classes)
    for name in wanted:
        if name in absent:
            hint = nearest(name, penalty.classes) or "."
            raise PenaltyError(f"{path}: holds no class {name!r}{hint}")
    if len(wanted) != penalty.n_classes:
        raise PenaltyError(
            f"{path}: holds {penalty.n_classes} classes, wanted {len(wanted)}. "
            "To leave some out, load without `classes`, then .select(classes)."
        )
    return penalty if wanted == penalty.classes else penalty.select(wanted)


def save(penalty: Penalty, path: Path) -> Path:
    """Write to a temporary name beside `path`, then move into place."""
    content = _by_suffix(path, _WRITERS)(penalty)
    if path.suffix.lower() != ".npy" and len(content) > LARGEST_TEXT:
        raise PenaltyError(
            f"{path}: these costs take {len(content):,} bytes of text; at most {LARGEST_TEXT:,} "
            "would be read again. Save them as .npy."
        )
    return place_bytes(path, content)


def _by_suffix(path: Path, table: Mapping[str, T]) -> T:
    suffix = path.suffix.lower()
    if suffix not in table:
        raise PenaltyError(f"{path}: a penalty file ends in {', '.join(table)}; got {suffix!r}.")
    return table[suffix]


# Reading


def _read_csv(path: Path, _: Sequence[str] | None) -> Penalty:
    text = read_text(path, PenaltyError)
    with reading(path, "CSV", PenaltyError):
        reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
        lines = [(reader.line_num, row) for row in reader if any(row)]
    if not lines:
        raise PenaltyError("the file is empty.")
    header, body = lines[0][1], lines[1:]
    if [name.strip().lower() for name in header] == ["parent", "child"]:
        raise PenaltyError(TREE_HINT)
    if len(header) < 2:
        raise PenaltyError(
            f"line {lines[0][0]}: expected class names separated by commas; got {header[0]!r}."
        )
    names = [row[0] for _, row in body]
    listed = header[1:]
    if set(names) != set(listed):
        # Blanks after a name are mostly there for looks, but the names may also end in them.
        names, listed = [name.strip() for name in names], [name.strip() for name in listed]
    classes = check_classes(listed)
    matrix = np.zeros((len(body), len(classes)))
    for i, (number, (_, *cells)) in enumerate(body):
        if len(cells) != len(classes):
            raise PenaltyError(
                f"line {number}: {len(cells)} costs for {len(classes)} classes; the header row and "
                "the first column must be class names."
            )
        try:
            matrix[i] = [float(cell) for cell in cells]
        except ValueError:
            j = next(j for j, cell in enumerate(cells) if not _is_number(cell))
            raise PenaltyError(
                f"line {number}, column {classes[j]!r}: {cells[j]!r} is not a number."
            ) from None
    columns, row_of = set(classes), dict[str, int]()
    for i, (name, (number, _)) in enumerate(zip(names, body, strict=True)):
        if name not in columns:
            hint = nearest(name, classes) or "."
            raise PenaltyError(f"line {number}: {name!r} is no class of the header{hint}")
        if name in row_of:
            raise PenaltyError(f"line {number}: a second row for class {name!r}.")
        row_of[name] = i
    for name in classes:
        if name not in row_of:
            raise PenaltyError(f"no row for class {name!r}.")
    return builders.from_matrix(matrix[[row_of[name] for name in classes]], classes)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _read_npy(path: Path, classes: Sequence[str] | None) -> Penalty:
    return builders.from_matrix(read_npy(path, PenaltyError), classes)


def _read_json(path: Path, _: Sequence[str] | None) -> Penalty:
    return _from_content(read_json(path, PenaltyError))


def _read_toml(path: Path, _: Sequence[str] | None) -> Penalty:
    return _from_content(read_toml(path, PenaltyError))


TREE_HINT = (
    "this looks like a tree or groups of classes, without costs. Make costs of it: `untrue penalty "
    "new --hierarchy FILE --out costs.toml` (in Python, Penalty.from_hierarchy or from_groups)."
)


def _from_content(content: Any) -> Penalty:
    if not isinstance(content, dict):
        raise PenaltyError("expected named values such as classes, default and rules.")
    if content and all(
        key not in KNOWN_KEYS and isinstance(value, list | dict) for key, value in content.items()
    ):
        raise PenaltyError(TREE_HINT)
    form = "dense" if "matrix" in content else "tree" if "edges" in content else "rules"
    for key in content:
        if key not in KEYS[form]:
            hint = nearest(key, KEYS[form]) or f"; expected {', '.join(sorted(KEYS[form]))}."
            raise PenaltyError(f"unknown key {key!r}{hint}")
    if form == "tree":
        edges, classes = content["edges"], content.get("classes")
        if not isinstance(edges, list) or not isinstance(classes, list | None):
            raise PenaltyError("`edges` must be a list of [parent, child], `classes` a list.")
        tree = Hierarchy.from_edges(edges, classes=classes)
        costs = _numbers(content.get("height_costs", range(tree.max_height + 1)), "height_costs")
        scale = _numbers(content.get("row_scale", [1.0] * tree.n_classes), "row_scale")
        if len(scale) != tree.n_classes:
            raise PenaltyError(f"`row_scale` has {len(scale)} entries, not {tree.n_classes}.")
        return TreePenalty(tree, costs, scale)
    if "classes" not in content or not isinstance(content["classes"], list):
        raise PenaltyError("`classes` must be a list of class names.")
    if form == "dense":
        return builders.from_matrix(_matrix(content["matrix"]), content["classes"])
    return _from_rules(content)


def _from_rules(content: Mapping[str, Any]) -> Penalty:
    rules: dict[tuple[str | int, str | int], float] = {}
    listed = content.get("rule", [])
    if not isinstance(listed, list):
        raise PenaltyError("rules are written as [[rule]], with two brackets.")
    for number, rule in enumerate(listed, start=1):
        wanted = {"true", "predicted", "cost"}
        if not isinstance(rule, dict) or set(rule) != wanted:
            given = ", ".join(rule) if isinstance(rule, dict) else repr(rule)
            raise PenaltyError(f"rule {number}: expected true, predicted and cost; got {given}.")
        for key in ("true", "predicted"):
            if not isinstance(rule[key], str):
                raise PenaltyError(f"rule {number}: {key} must be a class name; got {rule[key]!r}.")
        pair = (rule["true"], rule["predicted"])
        if pair in rules:
            raise PenaltyError(f"rule {number}: a second rule for {pair[0]!r} -> {pair[1]!r}.")
        rules[pair] = rule["cost"]
    return builders.from_rules(content["classes"], rules, content.get("default", 1.0))


def _numbers(values: Any, what: str) -> list[float]:
    if not isinstance(values, list | range):
        raise PenaltyError(f"`{what}` must be a list of numbers.")
    return [builders.number(value, f"`{what}`") for value in values]


def _matrix(rows: Any) -> list[list[float]]:
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise PenaltyError("`matrix` must be a list of rows.")
    matrix = [_numbers(row, f"matrix, row {i}") for i, row in enumerate(rows)]
    for i, row in enumerate(matrix):
        if len(row) != len(matrix):
            raise PenaltyError(f"row {i} has {len(row)} costs; the matrix has {len(matrix)} rows.")
    return matrix


# Writing


def _write_csv(penalty: Penalty) -> bytes:
    matrix = _whole_matrix(penalty)
    text = io.StringIO()
    # Quotes keep what else a reader would drop: blanks before a name, line ends inside it.
    plain = all(name == name.strip() and name.isprintable() for name in penalty.classes)
    writer = csv.writer(
        text, lineterminator="\n", quoting=csv.QUOTE_MINIMAL if plain else csv.QUOTE_NONNUMERIC
    )
    writer.writerow(["true \\ predicted", *penalty.classes])
    for name, row in zip(penalty.classes, matrix.tolist(), strict=True):
        writer.writerow([name, *row])
    return text.getvalue().encode()


def _write_npy(penalty: Penalty) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, _whole_matrix(penalty), allow_pickle=False)
    return buffer.getvalue()


def _write_json(penalty: Penalty) -> bytes:
    return (json.dumps(_content(penalty), ensure_ascii=False, indent=1) + "\n").encode()


def _write_toml(penalty: Penalty) -> bytes:
    if isinstance(penalty, DensePenalty):
        penalty = _as_rules(penalty)
    lines = []
    for key, value in _content(penalty).items():
        if key == "rule":
            for rule in value:
                lines += [
                    "",
                    "[[rule]]",
                    *(f"{name} = {_toml(cost)}" for name, cost in rule.items()),
                ]
        elif isinstance(value, list) and len(value) > 8:
            lines += [f"{key} = [", *(f"    {_toml(item)}," for item in value), "]"]
        else:
            lines.append(f"{key} = {_toml(value)}")
    return ("\n".join(lines) + "\n").encode()


def _content(penalty: Penalty) -> dict[str, Any]:
    classes = list(penalty.classes)
    if isinstance(penalty, RulesPenalty):
        default = penalty.default.tolist()
        names = penalty.classes
        return {
            "classes": classes,
            "default": default[0]
            if len(set(default)) == 1
            else dict(zip(classes, default, strict=True)),
            "rule": [
                {"true": names[i], "predicted": names[j], "cost": cost}
                for i, j, cost in zip(
                    penalty.true.tolist(),
                    penalty.predicted.tolist(),
                    penalty.costs.tolist(),
                    strict=True,
                )
            ],
        }
    if isinstance(penalty, TreePenalty):
        content: dict[str, Any] = {
            "classes": classes,
            "height_costs": penalty.height_costs.tolist(),
            "edges": [list(edge) for edge in penalty.tree.edges()],
        }
        if (penalty.row_scale != 1).any():
            content["row_scale"] = penalty.row_scale.tolist()
        return content
    return {"classes": classes, "matrix": penalty.matrix().tolist()}


def _as_rules(penalty: DensePenalty) -> RulesPenalty:
    """The commonest cost as default, the rest as rules."""
    off = ~np.eye(penalty.n_classes, dtype=bool)
    costs, counts = np.unique(penalty.costs[off], return_counts=True)
    default = float(costs[counts.argmax()]) if len(costs) else 0.0
    true, predicted = np.nonzero(off & (penalty.costs != default))
    defaults = np.full(penalty.n_classes, default)
    return RulesPenalty(penalty.classes, defaults, true, predicted, penalty.costs[true, predicted])


def _whole_matrix(penalty: Penalty) -> Any:
    if penalty.n_classes > LARGEST_MATRIX:
        raise PenaltyError(
            f"{penalty.n_classes:,} classes make a matrix too large for a file; save as .json."
        )
    return penalty.matrix()


def _toml(value: Any) -> str:
    if isinstance(value, str):
        # JSON's strings are TOML's, but for one control character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_toml(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return repr(float(value))


_READERS: dict[str, Callable[[Path, Sequence[str] | None], Penalty]] = {
    ".csv": _read_csv,
    ".json": _read_json,
    ".toml": _read_toml,
    ".npy": _read_npy,
}
_WRITERS: dict[str, Callable[[Penalty], bytes]] = {
    ".csv": _write_csv,
    ".json": _write_json,
    ".toml": _write_toml,
    ".npy": _write_npy,
}
