"""Actions from and to files.

TOML, and JSON with the same keys:

    classes, [[action]] tables     name, cost (under every class), costs = {class: cost} (of some)
    classes, actions, matrix       a table of costs, true class first
    edges, cost, classes, nodes    nodes of a hierarchy; all but edges may be left out
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from untrue.atomic_files import place_bytes
from untrue.errors import HierarchyError, PenaltyError, nearest
from untrue.hierarchy import Hierarchy
from untrue.input_files import read_json, read_toml, with_path
from untrue.penalty.actions import Actions, TableActions
from untrue.penalty.base import check_classes
from untrue.penalty.builders import number
from untrue.penalty.file_writers import as_json, toml_file
from untrue.penalty.files import by_suffix, check_keys
from untrue.penalty.node_actions import NodeActions

KEYS = {
    "table": {"classes", "actions", "matrix"},
    "nodes": {"edges", "cost", "classes", "nodes"},
    "actions": {"classes", "action"},
}
_READERS = {".toml": read_toml, ".json": read_json}


def load(path: Path) -> Actions:
    try:
        return _from_content(by_suffix(path, _READERS)(path, PenaltyError))
    except (PenaltyError, HierarchyError) as error:
        raise PenaltyError(with_path(path, error)) from None


def save(actions: Actions, path: Path) -> Path:
    writers = {".toml": toml_file, ".json": as_json}
    return place_bytes(path, by_suffix(path, writers)(_content(actions)))


def _from_content(content: Any) -> Actions:
    if not isinstance(content, dict):
        raise PenaltyError("expected named values such as classes and [[action]].")
    form = "table" if "matrix" in content else "nodes" if "edges" in content else "actions"
    check_keys(content, KEYS[form])
    if form == "nodes":
        for key in ("edges", "classes", "nodes"):
            if not isinstance(content.get(key), list | None):
                raise PenaltyError(f"`{key}` must be a list.")
        cost = content.get("cost", "distance")
        if not isinstance(cost, str):
            raise PenaltyError(f"`cost` must be 'distance' or 'information'; got {cost!r}.")
        hierarchy = Hierarchy.from_edges(content["edges"], classes=content.get("classes"))
        return NodeActions(hierarchy, cost, content.get("nodes"))  # type: ignore[arg-type]
    if not isinstance(content.get("classes"), list):
        raise PenaltyError("`classes` must be a list of class names.")
    classes = check_classes(content["classes"])
    if form == "table":
        for key in ("actions", "matrix"):
            if not isinstance(content.get(key), list):
                raise PenaltyError(f"`{key}` must be a list.")
        rows = [_row(row, i) for i, row in enumerate(content["matrix"])]
        return TableActions(classes, content["actions"], rows)
    listed = content.get("action", [])
    if not isinstance(listed, list) or not listed:
        raise PenaltyError("actions are written as [[action]], with two brackets; none is there.")
    names, columns = [], []
    for place, action in enumerate(listed, start=1):
        name, column = _action(action, place, classes)
        names.append(name)
        columns.append(column)
    return TableActions(classes, names, np.array(columns).T)


def _row(row: Any, i: int) -> list[float]:
    if not isinstance(row, list):
        raise PenaltyError("`matrix` must be a list of rows.")
    return [number(cost, f"matrix, row {i}") for cost in row]


def _action(action: Any, place: int, classes: tuple[str, ...]) -> tuple[str, list[float]]:
    if not isinstance(action, dict) or not {"name"} < set(action) <= {"name", "cost", "costs"}:
        given = ", ".join(action) if isinstance(action, dict) else repr(action)
        raise PenaltyError(f"action {place}: expected name, and cost or costs; got {given}.")
    name, costs = action["name"], action.get("costs", {})
    if not isinstance(name, str) or not isinstance(costs, dict):
        raise PenaltyError(f"action {place}: name must be a text, costs {{class: cost}}.")
    for label in costs:
        if label not in classes:
            hint = nearest(label, classes) or "."
            raise PenaltyError(f"action {name!r} names an unknown class {label!r}{hint}")
    if "cost" not in action and len(costs) < len(classes):
        missing = next(label for label in classes if label not in costs)
        raise PenaltyError(f"action {name!r} has no cost for {missing!r}; `cost` is for the rest.")
    column = [costs.get(label, action.get("cost")) for label in classes]
    return name, [number(cost, f"the action {name!r}") for cost in column]


def _content(actions: Actions) -> dict[str, Any]:
    if isinstance(actions, NodeActions):
        if not isinstance(actions.cost_rule, str):
            raise PenaltyError(
                "Costs by a function cannot be written to a file; those by 'distance' or "
                "'information' can."
            )
        return {
            "cost": actions.cost_rule,
            "classes": list(actions.classes),
            "nodes": list(actions.actions),
            "edges": [list(edge) for edge in actions.hierarchy.edges()],
        }
    return {
        "classes": list(actions.classes),
        "actions": list(actions.actions),
        "matrix": actions.matrix().tolist(),
    }
