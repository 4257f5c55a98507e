"""Decision rules as files, and budgets in words."""

from __future__ import annotations

import functools
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from fuzz import values
from fuzz.files import KNOWN, Target, check
from untrue import Budget, DecisionRule, Penalty, control
from untrue.budgets.rule_file import checksum, to_dict


@functools.cache
def _rule() -> dict[str, Any]:
    """A rule as its file has it."""
    target = np.arange(600) % 3
    probs = 0.8 * np.eye(3)[target] + 0.2 / 3
    found = control(
        probs, target, budgets=["a->b <= 20%", "c<-* <= 30%"], classes=KNOWN, abstain=True
    )
    return to_dict(found)


def write_rule(rng: Random, place: Path) -> Path:
    path = place / "rule.json"
    content: Any = _rule()
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        content = values.changed(rng, content)
    if isinstance(content, dict) and rng.random() < 0.8:
        # As whoever changes a rule on purpose would; a number of very many digits is not written.
        with suppress(ValueError):
            content = {**content, "checksum": checksum(content)}
    text = values.json_text(content).encode("utf-8", "surrogatepass")
    path.write_bytes(values.spoilt(rng, text, 0.2))
    return path


def rule(rng: Random, place: Path) -> None:
    """A decision rule; what is read answers, and comes back the same."""
    found = DecisionRule.load(write_rule(rng, place))
    k = len(found.classes)
    probs = np.random.default_rng(rng.randrange(2**32)).dirichlet(np.ones(k), 20)
    given = found.codes(probs)
    check(bool(((given >= -1) & (given < k)).all()), "an answer that is no class")
    again = DecisionRule.load(found.save(place / "again.json"))
    np.testing.assert_array_equal(again.codes(probs), given)
    found(probs)
    str(found.guarantee)
    repr(found)


def budget(rng: Random, place: Path) -> None:  # noqa: ARG001 - it needs no file
    """A budget in words, resolved and judged."""
    left = rng.choice(
        ["a->b", "a<-b", "zone", "expected cost", "across groups", "a->*", values.name(rng)]
    )
    right = rng.choice(
        ["0.5%", "3 errors", "0.1", "20 %", values.number(rng), values.number(rng) + "%"]
    )
    text = f"{left} {rng.choice(['<=', '<=', '<', '=', ''])} {right}"
    text = values.spoilt(rng, text.encode("utf-8", "surrogatepass"), 0.2).decode("utf-8", "replace")
    stated = Budget.parse(text)
    resolved = stated.resolve(Penalty.from_rules(KNOWN, {("a", "b"): 5.0}), examples=30)
    verdict = resolved.judge(np.array([[9, 1, 0], [2, 8, 0], [0, 1, 9]]))
    check(np.isfinite(verdict.rate), "a rate that is no number")
    str(stated)


TARGETS: dict[str, tuple[Target, int]] = {"rule": (rule, 8), "budget": (budget, 4)}
