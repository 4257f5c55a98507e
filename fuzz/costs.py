"""Readers of costs by columns and of actions: formulas, their files, and what they make of data."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from fuzz import files, values
from fuzz.files import Target, check
from untrue import Actions, Penalty, decide
from untrue.penalty import FormulaPenalty
from untrue.penalty.files import load_any
from untrue.penalty.formulas import CostFormula

COLUMNS = ["amount", "x", "a b", "straße"]
PIECES = [
    *(
        "amount",
        "x",
        "`a b`",
        '"a b"',
        "'a b'",
        "straße",
        "1",
        "0.2",
        ".5",
        "1e3",
        "1e308",
        "1e999",
    ),
    *("+", "-", "*", "/", "(", ")", " ", "**", "//", "nowhere", "__import__('os')", "\x00", "\n"),
]


def text(rng: Random) -> str:
    """A formula, or nearly one."""
    if rng.random() < 0.1:
        depth = rng.choice([3, 49, 51, 400])
        return rng.choice(["(", "-", "(-"]) * depth + "x" + ")" * rng.choice([depth, depth - 1])
    if rng.random() < 0.7:
        known = ["x", "amount", "`a b`", "2", "(0.5)"]
        terms = [rng.choice(known) for _ in range(rng.randint(1, 6))]
        return "".join(f" {rng.choice('+*/++*-')} {term}" for term in terms).lstrip("+-*/ ")
    return "".join(rng.choice(PIECES) for _ in range(rng.choice([1, 3, 6, 20, 400])))


def column(rng: Random, n: int) -> Any:
    """Values of a column: mostly numbers."""
    kind = rng.random()
    if kind < 0.9:
        return [rng.uniform(0, 100) for _ in range(n)]
    if kind < 0.95:
        return [rng.choice([0.0, -1.0, 1e300, float("inf"), float("nan"), 5.0]) for _ in range(n)]
    if kind < 0.97:
        return [rng.choice([None, True, 3, "7"]) for _ in range(n)]
    return np.ones((n, 2)) if kind < 0.985 else [2**70] * n


def formula(rng: Random, place: Path) -> None:
    """A formula in a penalty; what is accepted is a cost in every row, and is read back alike."""
    own = files.KNOWN if rng.random() < 0.8 else values.names(rng, 2, 4)
    cells: dict[tuple[str | int, str | int], str] = {
        (rng.choice(own[:1] * 3 + own), rng.choice([*own[1:], "*"])): text(rng)
        for _ in range(rng.choice([1, 1, 2, 3]))
    }
    stated = FormulaPenalty(Penalty.from_rules(own, {}), cells)
    n = rng.randint(0, 5)
    table = {name: column(rng, n) for name in COLUMNS if rng.random() < 0.9}
    each = stated.per_example(table)
    costs = each.rows(np.zeros(n, dtype=np.int64))
    check(bool(np.isfinite(costs).all() and (costs >= 0).all()), "costs that are no costs")
    ending = rng.choice(["toml", "json"])
    again = FormulaPenalty.load(stated.save(place / f"costs.{ending}"))
    np.testing.assert_array_equal(again.per_example(table).values, each.values)
    if n:
        decide(np.full((n, len(own)), 1 / len(own)), each)
    for part in stated.formulas.values():
        CostFormula.parse(part)


def formula_file(rng: Random, place: Path) -> None:
    """A file of costs with formulas in it."""
    own = files.KNOWN if rng.random() < 0.8 else values.names(rng, 2, 4)
    content: dict[str, Any] = {
        "classes": own,
        "default": 1.0,
        "rule": [
            {
                "true": own[0] if rng.random() < 0.8 else rng.choice(own),
                "predicted": rng.choice([*own[1:], "*"]),
                "cost": rng.choice([text(rng), text(rng), "amount", "2 * x + 1", 3.0, None, "1"]),
            }
            for _ in range(rng.choice([1, 1, 2, 4]))
        ],
    }
    if rng.random() < 0.3:
        content = values.changed(rng, content)
    ending = rng.choice(["json", "toml"])
    made = values.json_text(content) if ending == "json" else files.toml(content)
    path = place / f"costs.{ending}"
    path.write_bytes(values.spoilt(rng, made.encode("utf-8", "surrogatepass"), 0.25))
    found = load_any(path)
    if isinstance(found, FormulaPenalty):
        found.per_example({name: [1.0, 2.0] for name in found.columns})


def actions(rng: Random, place: Path) -> None:
    """A file of actions: a table, named actions, or nodes of a hierarchy."""
    own = values.names(rng, 1, 4)
    form = rng.choice(["matrix", "action", "edges"])
    content: dict[str, Any] = {"classes": own}
    if form == "matrix":
        content["actions"] = [*own, "scan"]
        content["matrix"] = [[rng.uniform(0, 9) for _ in range(len(own) + 1)] for _ in own]
    elif form == "action":
        content["action"] = [
            {"name": name, "cost": rng.uniform(0, 9), "costs": {rng.choice(own): 2.0}}
            for name in rng.sample([*own, "scan", "wait"], rng.randint(1, len(own) + 2))
        ]
    else:
        content["edges"] = files.edges(rng, own)
        content["cost"] = rng.choice(["distance", "information", "other", 3])
        if rng.random() < 0.3:
            content["nodes"] = rng.sample([*own, "x", "y", "root"], 2)
    if rng.random() < 0.4:
        content = values.changed(rng, content)
    ending = rng.choice(["json", "toml"])
    made = values.json_text(content) if ending == "json" else _toml(content)
    path = place / f"actions.{ending}"
    path.write_bytes(values.spoilt(rng, made.encode("utf-8", "surrogatepass"), 0.25))
    found = Actions.load(path)
    answers = decide(np.full((2, found.n_classes), 1 / found.n_classes), found)
    check(bool((answers < found.n_actions).all()), "an answer that is no action")
    again = Actions.load(found.save(place / f"again.{rng.choice(['toml', 'json'])}"))
    np.testing.assert_allclose(again.matrix(), found.matrix())


def _toml(content: Any) -> str:
    """Named actions stand as tables, as rules do."""
    if isinstance(content, dict) and "action" in content:
        renamed = {"rule" if key == "action" else key: part for key, part in content.items()}
        return files.toml(renamed).replace("[[rule]]", "[[action]]")
    return files.toml(content)


TARGETS: dict[str, tuple[Target, int]] = {
    "cost formulas": (formula, 6),
    "files of cost formulas": (formula_file, 4),
    "files of actions": (actions, 4),
}
