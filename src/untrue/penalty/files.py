"""Penalties from files: CSV and .npy for matrices, TOML for people, JSON for every form.

CSV     header row and first column are class names; rows are the true class
TOML    classes, default, and [[rule]] tables with true, predicted, cost; or classes and matrix, a
        list of rows; or classes, edges and height_costs for a hierarchy. The cost of a rule may be
        a formula of columns, "0.2 * amount + 5"
JSON    the same keys
.npy    the matrix alone; never a pickle
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from untrue.array_files import read_npy
from untrue.errors import HierarchyError, PenaltyError, nearest
from untrue.hierarchy import Hierarchy
from untrue.input_files import read_json, read_text, read_toml, reading, with_path
from untrue.penalty import builders
from untrue.penalty.base import Penalty, check_classes
from untrue.penalty.formula_penalty import FormulaPenalty
from untrue.penalty.tree import TreePenalty

T = TypeVar("T")

KEYS = {
    "dense": {"classes", "matrix"},
    "rules": {"classes", "default", "rule"},
    "tree": {"classes", "edges", "height_costs", "row_scale"},
}
KNOWN_KEYS = set[str]().union(*KEYS.values())


def load(path: Path, classes: Sequence[str] | None = None) -> Penalty:
    """Read a penalty; `classes` names the classes of an .npy file, and gives others their order."""
    penalty = load_any(path, classes)
    if isinstance(penalty, FormulaPenalty):
        pair, formula = next(iter(penalty.formulas.items()))
        raise PenaltyError(
            f"{path}: the cost of {pair[0]!r} -> {pair[1]!r} is {formula!r}, by columns of the "
            "data; here costs must be numbers. `untrue fit`, `tune`, `predict` and `audit` take "
            "such a file; in Python, untrue.penalty.FormulaPenalty.load(path).per_example(table)."
        )
    return penalty if classes is None else _ordered(path, penalty, check_classes(classes))


def load_any(path: Path, classes: Sequence[str] | None = None) -> Penalty | FormulaPenalty:
    """Read a penalty, whether its costs are numbers or formulas."""
    reader = by_suffix(path, _READERS)
    try:
        return reader(path, classes)
    except (PenaltyError, HierarchyError) as error:
        raise PenaltyError(with_path(path, error)) from None


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


def by_suffix(path: Path, table: Mapping[str, T]) -> T:
    suffix = path.suffix.lower()
    if suffix not in table:
        raise PenaltyError(f"{path}: a file of costs ends in {', '.join(table)}; got {suffix!r}.")
    return table[suffix]


def _read_csv(path: Path) -> Penalty:
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
        # Blanks after a name are mostly for alignment, but the names may also end in them.
        names, listed = [name.strip() for name in names], [name.strip() for name in listed]
    classes = check_classes(listed)
    matrix = np.zeros((len(body), len(classes)))
    for i, (number, (_, *cells)) in enumerate(body):
        if len(cells) != len(classes):
            raise PenaltyError(
                f"line {number}: {len(cells)} costs for {len(classes)} classes; the header row and "
                "the first column must be class names."
            )
        for j, cell in enumerate(cells):
            try:
                matrix[i, j] = float(cell)
            except ValueError:
                raise PenaltyError(
                    f"line {number}, column {classes[j]!r}: {cell!r} is not a number; a file of "
                    "costs has one for each pair of classes."
                ) from None
    columns, row_of = set(classes), dict[str, int]()
    for i, (name, (number, _)) in enumerate(zip(names, body, strict=True)):
        if name not in columns:
            hint = nearest(name, classes) or "."
            raise PenaltyError(f"line {number}: {name!r} is not a class of the header{hint}")
        if name in row_of:
            raise PenaltyError(f"line {number}: a second row for class {name!r}.")
        row_of[name] = i
    for name in classes:
        if name not in row_of:
            raise PenaltyError(f"no row for class {name!r}.")
    return builders.from_matrix(matrix[[row_of[name] for name in classes]], classes)


TREE_HINT = (
    "this looks like a hierarchy or groups of classes, without costs. Make costs of it: `untrue "
    "penalty new --hierarchy FILE --out costs.toml` (in Python, Penalty.from_hierarchy or "
    "from_groups)."
)


def check_keys(content: Mapping[str, Any], known: Collection[str]) -> None:
    """No key but these."""
    for key in content:
        if key not in known:
            hint = nearest(key, known) or f"; expected {', '.join(sorted(known))}."
            raise PenaltyError(f"unknown key {key!r}{hint}")


def penalty_from_content(content: Any) -> Penalty | FormulaPenalty:
    if not isinstance(content, dict):
        raise PenaltyError("expected named values such as classes, default and rules.")
    if content and all(
        key not in KNOWN_KEYS and isinstance(value, list | dict) for key, value in content.items()
    ):
        raise PenaltyError(TREE_HINT)
    form = "dense" if "matrix" in content else "tree" if "edges" in content else "rules"
    check_keys(content, KEYS[form])
    if form == "tree":
        edges, classes = content["edges"], content.get("classes")
        if not isinstance(edges, list) or not isinstance(classes, list | None):
            raise PenaltyError("`edges` must be a list of [parent, child], `classes` a list.")
        hierarchy = Hierarchy.from_edges(edges, classes=classes)
        costs = _numbers(
            content.get("height_costs", range(hierarchy.max_height + 1)), "height_costs"
        )
        scale = _numbers(content.get("row_scale", [1.0] * hierarchy.n_classes), "row_scale")
        if len(scale) != hierarchy.n_classes:
            raise PenaltyError(f"`row_scale` has {len(scale)} entries, not {hierarchy.n_classes}.")
        return TreePenalty(hierarchy, costs, scale)
    if "classes" not in content or not isinstance(content["classes"], list):
        raise PenaltyError("`classes` must be a list of class names.")
    if form == "dense":
        return builders.from_matrix(_matrix(content["matrix"]), content["classes"])
    return _from_rules(content)


def _from_rules(content: Mapping[str, Any]) -> Penalty | FormulaPenalty:
    rules: dict[tuple[str | int, str | int], Any] = {}
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
    formulas = {pair: cost for pair, cost in rules.items() if isinstance(cost, str)}
    numbers = {pair: cost for pair, cost in rules.items() if pair not in formulas}
    base = builders.from_rules(content["classes"], numbers, content.get("default", 1.0))
    return FormulaPenalty(base, formulas) if formulas else base


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


_READERS: dict[str, Callable[[Path, Sequence[str] | None], Penalty | FormulaPenalty]] = {
    ".csv": lambda path, _: _read_csv(path),
    ".json": lambda path, _: penalty_from_content(read_json(path, PenaltyError)),
    ".toml": lambda path, _: penalty_from_content(read_toml(path, PenaltyError)),
    ".npy": lambda path, classes: builders.from_matrix(read_npy(path, PenaltyError), classes),
}
