"""Costs as formulas of columns: "0.2 * amount + 5". A small grammar, read and never run as code.

formula  =  term { ("+" | "-") term }
term     =  factor { ("*" | "/") factor }
factor   =  ["-"] ( number | column | "(" formula ")" )
column   =  a name of letters, digits, _ and . that begins with no digit; any other name in
            quotes of either kind, or in `backticks`
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from untrue.array_types import FloatArray
from untrue.errors import PenaltyError, nearest
from untrue.penalty.arrays import number_column, table_columns

# A formula is a line that a person writes.
LONGEST = 1000
DEEPEST = 50

_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_NAME = re.compile(r"[^\W\d][\w.]*")
_QUOTED = re.compile(r"\"([^\"]+)\"|'([^']+)'|`([^`]+)`")

# A number, a column's name, or an operation on two of these: nothing else can be in a formula.
Tree = float | str | tuple[str, Any, Any]


@dataclass(frozen=True, slots=True)
class CostFormula:
    """A cost that depends on columns of the data.

    >>> formula = CostFormula.parse("0.2 * amount + 5")
    >>> formula.columns
    ('amount',)
    >>> formula.values({"amount": [10.0, 100.0]})
    array([ 7., 25.])
    """

    text: str
    tree: Tree
    columns: tuple[str, ...]

    @staticmethod
    def parse(text: str) -> CostFormula:
        reader = _Reader(text)
        tree = reader.formula(0)
        if reader.rest():
            reader.fail("expected + - * / or the end")
        return CostFormula(text, tree, tuple(dict.fromkeys(reader.columns)))

    def values(self, columns: Mapping[str, Any] | Any) -> FloatArray:
        """The formula's value for each row of `columns`: a dict of arrays, or a table."""
        known = {name: self._column(name, columns) for name in self.columns}
        lengths = {len(column): name for name, column in known.items()}
        if len(lengths) > 1:
            (n, first), (m, second) = list(lengths.items())[:2]
            raise PenaltyError(
                f"Cost {self.text!r}: its columns must have equally many values; {first!r} has "
                f"{n:,}, {second!r} {m:,}."
            )
        with np.errstate(all="ignore"):  # what is not finite is named by its row later
            return np.asarray(_evaluate(self.tree, known), dtype=np.float64)

    def _column(self, name: str, columns: Any) -> FloatArray:
        labels = table_columns(columns)
        if labels is None and not isinstance(columns, Mapping):
            raise PenaltyError(
                f"Cost {self.text!r} is by columns: give a dict of arrays or a table; got "
                f"{type(columns).__name__}."
            )
        names = [str(key) for key in (columns if labels is None else labels)]
        if name not in names:
            hint = nearest(name, names) or f"; there are {', '.join(names[:8]) or 'none'}."
            raise PenaltyError(f"Cost {self.text!r} names no column of the data: {name!r}{hint}")
        return number_column(columns[name], f"Column {name!r}, in the cost {self.text!r},")


def _evaluate(tree: Tree, columns: Mapping[str, FloatArray]) -> Any:
    if isinstance(tree, tuple):
        operator, left, right = tree
        a, b = _evaluate(left, columns), _evaluate(right, columns)
        if operator == "+":
            return a + b
        if operator == "-":
            return a - b
        return a * b if operator == "*" else np.divide(a, b)
    return columns[tree] if isinstance(tree, str) else tree


class _Reader:
    """Reads a formula from left to right."""

    def __init__(self, text: Any) -> None:
        if not isinstance(text, str) or not text.strip():
            raise PenaltyError(
                f'A cost is a number, or a formula like "0.2 * amount + 5"; got {text!r}.'
            )
        if len(text) > LONGEST:
            raise PenaltyError(
                f"A cost formula has at most {LONGEST} characters; this one has {len(text)}."
            )
        self.text, self.at = text, 0
        self.columns: list[str] = []

    def formula(self, depth: int) -> Tree:
        left = self.term(depth)
        while operator := self.take("+-"):
            left = (operator, left, self.term(depth))
        return left

    def term(self, depth: int) -> Tree:
        left = self.factor(depth)
        while operator := self.take("*/"):
            left = (operator, left, self.factor(depth))
        return left

    def factor(self, depth: int) -> Tree:
        if depth > DEEPEST:
            self.fail(f"more than {DEEPEST} parentheses or signs inside each other")
        if self.take("-"):
            return ("*", -1.0, self.factor(depth + 1))
        if self.take("("):
            inner = self.formula(depth + 1)
            if not self.take(")"):
                self.fail('expected ")"')
            return inner
        rest = self.rest()
        if found := _NUMBER.match(rest):
            self.at += found.end()
            return float(found[0])
        if found := _QUOTED.match(rest) or _NAME.match(rest):
            self.at += found.end()
            name = next((part for part in found.groups() if part is not None), found[0])
            self.columns.append(name)
            return str(name)
        return self.fail("expected a number, a column or a parenthesis")

    def take(self, characters: str) -> str:
        rest = self.rest()
        if rest and rest[0] in characters:
            self.at += 1
            return rest[0]
        return ""

    def rest(self) -> str:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.text[self.at :]

    def fail(self, why: str) -> NoReturn:
        place = f"at character {self.at + 1}, {self.rest()!r}" if self.rest() else "at its end"
        raise PenaltyError(f"Cost {self.text!r}, {place}: {why}.")
