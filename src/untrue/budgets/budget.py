"""How often a kind of mistake may happen, and the small grammar it is written in.

    budget  =  what "<=" limit
    what    =  side "->" side          these true classes, predicted as those
            |  side "<-" side          predicted as these, and truly one of those
            |  "zone"                  the costly mistakes of the penalty
            |  "across groups"         the answer lies in another group than the truth
            |  "expected cost"         what an answer costs on average
    side    =  "*"  |  name { "," name }
    name    =  a class or a group; in "..." or '...' if it holds -> <= , or quotes
    limit   =  number "%"              of the examples of the first side: truly so with "->",
                                       predicted so with "<-"; of all, for zone and across
            |  number "errors"         in the data judged; not with "<-"
            |  number                  expected cost only

Spaces do not matter; "≤", "→" and "←" work too.
"""

from __future__ import annotations

import dataclasses
import re
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NoReturn, get_args

from untrue.checks import check_choice
from untrue.errors import ArgumentError

if TYPE_CHECKING:
    from untrue.budgets.regions import GroupsLike
    from untrue.budgets.resolved import ResolvedBudget
    from untrue.metrics.zones import Zone
    from untrue.penalty import Penalty

Kind = Literal["confusion", "precision", "zone", "across", "cost"]
Unit = Literal["%", "errors", "cost"]
KINDS: tuple[str, ...] = get_args(Kind)
UNITS: tuple[str, ...] = get_args(Unit)

ANY = "*"
_WORDS: dict[str, Kind] = {"zone": "zone", "across groups": "across", "expected cost": "cost"}
_SHOWN = {kind: words for words, kind in _WORDS.items()}
_EXAMPLES = '"tumour->benign <= 0.5%", "zone <= 20 errors", "expected cost <= 0.1"'
_SIDES: tuple[Kind, ...] = ("confusion", "precision")

_SPACE = re.compile(r"\s*")
_QUOTED = re.compile(r'"([^"]*)"|\'([^\']*)\'')
_BARE = re.compile(r"(?:(?!->|→|←|<=|≤|=<|<|=|>|,).)+", re.DOTALL)
_ARROW = re.compile(r"->|→")
_ARROW_BACK = re.compile(r"<-|←")
_AT_MOST = re.compile(r"<=|≤")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_UNIT = re.compile(r"%|percent\b|errors?\b", re.IGNORECASE)


@dataclasses.dataclass(frozen=True, slots=True)
class Budget:
    """A limit on a kind of mistake.

    kind       "confusion" (true->predicted), "precision" (predicted<-true), "zone", "across"
               (groups) or "cost"
    true       names of classes and groups, or "*"; empty unless the kind has sides
    predicted  the same, of the answers
    amount     the limit, in `unit`
    unit       "%": percent of the examples of the true side ("precision": of those predicted so;
               zone and across: of all). "errors": a count, in the data judged. "cost": of an
               answer, on average

    >>> budget = Budget.parse("tumour -> benign <= 0.5%")
    >>> budget.true, budget.predicted, budget.amount, budget.unit
    (('tumour',), ('benign',), 0.5, '%')
    >>> str(budget)
    'tumour->benign <= 0.5%'
    >>> Budget.parse("good<-bad <= 5%").predicted  # of those predicted good, at most 5 % bad
    ('good',)
    """

    kind: Kind
    amount: float
    unit: Unit
    true: tuple[str, ...] = ()
    predicted: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, KINDS)
        check_choice("unit", self.unit, UNITS)
        if isinstance(self.amount, bool) or not isinstance(self.amount, Real):
            raise ArgumentError(f"`amount` must be a number; got {self.amount!r}.")
        object.__setattr__(self, "amount", float(self.amount))
        for side, names in (("true", self.true), ("predicted", self.predicted)):
            if isinstance(names, str):
                raise ArgumentError(
                    f"`{side}` must be a tuple of names; got the string {names!r}. "
                    f"Write ({names!r},), or Budget.parse."
                )
            given = isinstance(names, tuple | list)
            if not given or not all(isinstance(name, str) for name in names):
                raise ArgumentError(f"`{side}` must be a tuple of names; got {names!r}.")
            object.__setattr__(self, side, tuple(names))
        for name in (*self.true, *self.predicted):
            if not _is_bare(name) and '"' in name and "'" in name:
                raise ArgumentError(
                    f"A budget cannot be written with the name {name!r}, which has both kinds of "
                    "quotes; rename the class or the group."
                )
        shown = f"Budget {str(self)!r}"
        if not 0 <= self.amount < float("inf"):
            raise ArgumentError(f"{shown}: the limit must be 0 or more; got {self.amount:g}.")
        if self.unit == "%" and self.amount > 100:
            raise ArgumentError(f"{shown}: a share is at most 100%; got {self.amount:g}%.")
        if self.unit == "errors" and self.amount != int(self.amount):
            raise ArgumentError(
                f"{shown}: errors are counted in whole numbers; got {self.amount:g}. "
                f"A share is written {self.amount:g}%."
            )
        if (self.kind == "cost") != (self.unit == "cost"):
            unit = "a cost, a plain number" if self.kind == "cost" else 'a share or "errors"'
            raise ArgumentError(f"{shown}: its limit must be {unit}; got {self.unit!r}.")
        both, either = self.true and self.predicted, self.true or self.predicted
        if not (both if self.kind in _SIDES else not either):
            raise ArgumentError(f"{shown}: a confusion, and nothing else, has two sides.")
        if self.kind == "precision" and self.unit == "errors":
            turned = dataclasses.replace(self, kind="confusion")
            raise ArgumentError(
                f'{shown}: "<-" is a share of those predicted so, in %. '
                f"As a number of errors it is {str(turned)!r}."
            )

    @staticmethod
    def parse(text: str) -> Budget:
        """Read a budget. The grammar is in this module's docstring and in docs/budgets.md."""
        return _Reader(text).budget()

    @staticmethod
    def of(stated: Budget | str) -> Budget:
        """A budget as it is, or parsed."""
        return stated if isinstance(stated, Budget) else Budget.parse(stated)

    def resolve(
        self,
        penalty: Penalty,
        *,
        groups: GroupsLike | None = None,
        zone: Zone | None = None,
        zone_above: float | None = None,
        examples: int | None = None,
    ) -> ResolvedBudget:
        """The cells of a confusion matrix over the penalty's classes that this is about.

        groups      {group: its classes}, or a `Hierarchy` any of whose nodes may be named; without
                    it the hierarchy of the penalty, if it has one
        zone        the cells that "zone" means, as `metrics.zone_errors` takes them
        zone_above  or: mistakes that cost more than this; without either, more than the cheapest
                    that costs anything (all of these if they cost the same)
        examples    how many examples a count of errors is about: that of the part of the data for
                    which it was stated. Other parts are judged by the same rate. Without it a count
                    is about whatever confusion matrix is judged.
        """
        from untrue.budgets.resolved import resolve

        return resolve(
            self, penalty, groups=groups, zone=zone, zone_above=zone_above, examples=examples
        )

    def __str__(self) -> str:
        if self.kind == "confusion":
            what = f"{_side(self.true)}->{_side(self.predicted)}"
        elif self.kind == "precision":
            what = f"{_side(self.predicted)}<-{_side(self.true)}"
        else:
            what = _SHOWN[self.kind]
        short = f"{self.amount:g}"
        amount = short if float(short) == self.amount else repr(self.amount)
        unit = {"%": "%", "errors": " error" if self.amount == 1 else " errors", "cost": ""}
        return f"{what} <= {amount}{unit[self.unit]}"


def _side(names: tuple[str, ...]) -> str:
    return ANY if names == (ANY,) else ", ".join(map(_quoted, names))


def _is_bare(name: str) -> bool:
    """Whether a name is read back as it stands, without quotes."""
    whole = _BARE.fullmatch(name) is not None and name == name.strip()
    return whole and name[0] not in "\"'" and name != ANY


def _quoted(name: str) -> str:
    if _is_bare(name):
        return name
    return f"'{name}'" if '"' in name else f'"{name}"'


class _Reader:
    """Reads a budget from left to right."""

    def __init__(self, text: Any) -> None:
        if not isinstance(text, str):
            raise ArgumentError(f"A budget is a text like {_EXAMPLES}; got {text!r}.")
        self.text, self.at = text, 0

    def budget(self) -> Budget:
        self._skip()
        if not self._rest():
            self._fail(f"it is empty. Write {_EXAMPLES}")
        first, words = self._side("the kind of mistake")
        kind: Kind = "confusion"
        predicted: tuple[str, ...] = ()
        if self._take(_ARROW):
            predicted, _ = self._side("the predicted class")
        elif self._take(_ARROW_BACK):
            kind, predicted = "precision", first
            first, _ = self._side("the true class")
        elif words is not None and words in _WORDS:
            kind, first = _WORDS[words], ()
        elif self._peek(_AT_MOST):
            self._fail(
                'expected "->": a budget is about a confusion (true->predicted, or '
                'predicted<-true), "zone", "across groups" or "expected cost"'
            )
        if not self._take(_AT_MOST):
            if self._peek(_ARROW) or self._peek(_ARROW_BACK):
                self._fail('expected "<=": a name that holds an arrow must stand in quotes')
            ways = "<= and a limit" if not self._rest() else '"<="'
            self._fail(f"expected {ways}, as in {_EXAMPLES}")
        amount, unit = self._limit(kind)
        return Budget(kind, amount, unit, first, predicted)

    def _side(self, what: str) -> tuple[tuple[str, ...], str | None]:
        """Names, and the words in lower case if they may be a key word."""
        names = []
        bare = True
        while True:
            name, quoted = self._name(what)
            names.append(name)
            bare = bare and not quoted
            if quoted and name == ANY:
                self._fail(
                    f'a class called "{ANY}" cannot be distinguished from "any class"; rename it'
                )
            if not self._take(re.compile(",")):
                break
        if len(names) > 1 and ANY in names:
            self._fail(f'"{ANY}" already stands for every class; leave the other names out')
        words = " ".join(names[0].lower().split()) if bare and len(names) == 1 else None
        return tuple(names), words

    def _name(self, what: str) -> tuple[str, bool]:
        self._skip()
        if self.text[self.at : self.at + 1] in ("'", '"'):
            found = _QUOTED.match(self.text, self.at)
            if found is None:
                self._fail("the quotation mark is not closed")
            name, quoted = found[1] if found[1] is not None else found[2], True
        else:
            found = _BARE.match(self.text, self.at)
            name, quoted = (found[0].strip() if found else ""), False
        if found is None or not name:
            self._fail(f"expected {what}: the name of a class or group, or {ANY}")
        self.at = found.end()
        self._skip()
        return name, quoted

    def _limit(self, kind: Kind) -> tuple[float, Unit]:
        start = self.at
        found = self._take(_NUMBER)
        if not found:
            self._fail("expected a number: the limit, as in <= 0.5% or <= 20 errors")
        unit_found = self._take(_UNIT)
        if self._rest():
            comma = ", with a point: 0.5%" if self._rest().startswith(",") else ""
            self._fail(f'expected nothing but "%" or "errors" after the number{comma}')
        number = float(found)
        unit: Unit = "cost"
        if unit_found:
            unit = "errors" if unit_found.lower().startswith("error") else "%"
        if kind == "cost" and unit != "cost":
            self.at = start
            self._fail("an expected cost is a plain number, in the units of the penalty")
        if kind != "cost" and unit == "cost":
            self.at = start
            ways = f'"{found}%" is a share, "{found} errors" a count'
            if 0 < number < 1:
                ways = f'"{100 * number:.10g}%" is {found} of all, "{found}%" a hundredth of that'
            self._fail(f"give a unit: {ways}")
        return number, unit

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        self._skip()
        return found[0]

    def _peek(self, pattern: re.Pattern[str]) -> bool:
        return pattern.match(self.text, self.at) is not None

    def _skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _rest(self) -> str:
        return self.text[self.at :]

    def _fail(self, why: str) -> NoReturn:
        place = f"at character {self.at + 1}, {self._rest()!r}" if self._rest() else "at its end"
        raise ArgumentError(f"Budget {self.text!r}, {place}: {why}.")
