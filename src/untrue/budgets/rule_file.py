"""Decision rules as JSON: numbers and names, sealed by a checksum and read with checks."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from untrue.atomic_files import place_text
from untrue.budgets.budget import Budget
from untrue.budgets.calibration_set import Answers
from untrue.budgets.guarantee import Guarantee, TestedRule
from untrue.budgets.rule import DecisionRule, Meaning
from untrue.budgets.rule_evidence import check_evidence
from untrue.budgets.scaling import check_multipliers
from untrue.budgets.verdict import Verdict
from untrue.checks import check_count
from untrue.errors import (
    ArgumentError,
    DataError,
    MissingFileError,
    UntrueError,
    listed,
    nearest,
)
from untrue.hierarchy import Hierarchy
from untrue.input_files import read_json, with_path
from untrue.metrics.inputs import class_indices
from untrue.penalty import Penalty
from untrue.penalty.file_writers import penalty_content
from untrue.penalty.files import penalty_from_content

FORMAT, VERSION = "untrue decision rule", 1
KEYS = (
    "format",
    "version",
    "penalty",
    "budgets",
    "meaning",
    "multipliers",
    "temperature",
    "abstain_cost",
    "answers",
    "guarantee",
    "checksum",
)
# Counts above this are no counts of examples, and not whole as floats.
MOST = 2**53


def save(rule: DecisionRule, path: Path) -> Path:
    """Write a rule; what is there already is replaced once the whole is written."""
    if path.suffix.lower() != ".json":
        raise ArgumentError(f"`path` must end in .json, the format of a rule; got {path}.")
    text = json.dumps(to_dict(rule), ensure_ascii=False, indent=1, allow_nan=False)
    return place_text(path, f"{text}\n")


def load(path: Path) -> DecisionRule:
    """Read a rule that `save` wrote."""
    try:
        content = read_json(path)
    except (MissingFileError, DataError) as error:
        file = path.with_suffix(".json").name
        raise type(error)(
            f"{error} A decision rule is what `untrue control --out {file}` writes, or `rule.save`."
        ) from None
    try:
        return from_dict(content)
    except (UntrueError, TypeError, ValueError, OverflowError, RecursionError) as error:
        wrapped = error if isinstance(error, UntrueError) else DataError(f"{error}")
        raise DataError(
            f"{with_path(path, wrapped)} It is not a rule that was saved whole."
        ) from None


def to_dict(rule: DecisionRule) -> dict[str, Any]:
    """A rule as plain values, sealed."""
    found = plain_values(rule)
    return {**found, "checksum": checksum(found)}


def plain_values(rule: DecisionRule) -> dict[str, Any]:
    """A rule as plain values."""
    meaning = rule.meaning
    groups: Any = None
    if isinstance(meaning.groups, Hierarchy):
        groups = {"edges": [list(edge) for edge in meaning.groups.edges()]}
    elif isinstance(meaning.groups, Mapping):
        k, names = len(rule.classes), rule.classes
        groups = {
            "groups": {
                str(group): [names[i] for i in class_indices(members, k, "groups", names)]
                for group, members in meaning.groups.items()
            }
        }
    return {
        "format": FORMAT,
        "version": VERSION,
        "penalty": penalty_content(rule.penalty),
        "budgets": [str(budget) for budget in rule.budgets],
        "meaning": {
            "groups": groups,
            "zone": None if meaning.zone is None else penalty_content(meaning.zone),
            "zone_above": meaning.zone_above,
            "examples": meaning.examples,
        },
        "multipliers": list(rule.multipliers),
        "temperature": rule.temperature,
        "abstain_cost": rule.abstain_cost,
        "answers": rule.answers,
        "guarantee": _guarantee_dict(rule.guarantee),
    }


def checksum(content: Mapping[str, Any]) -> str:
    """SHA-256 of all but the checksum: of the content, not the bytes, so white space may change."""
    own = {key: value for key, value in content.items() if key != "checksum"}
    text = json.dumps(own, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def from_dict(content: Any) -> DecisionRule:
    """A rule from plain values, checked."""
    given = _object(content, KEYS, "the file")
    if given["format"] != FORMAT or given["version"] != VERSION:
        raise DataError(
            f"it is no {FORMAT} of version {VERSION}: format {given['format']!r}, version "
            f"{given['version']!r}."
        )
    if given["checksum"] != checksum(given):
        raise DataError(
            "it was changed after it was saved: its checksum does not match, so that its guarantee "
            "may be about another rule. Make the rule again with `untrue.control`."
        )
    penalty = penalty_from_content(given["penalty"])
    if not isinstance(penalty, Penalty):
        raise DataError("`penalty` must hold numbers, not formulas.")
    budgets = tuple(Budget.parse(text) for text in _list(given["budgets"], "budgets"))
    multipliers = check_multipliers(
        [_number(m, "multipliers", least=1.0) for m in _list(given["multipliers"], "multipliers")],
        len(budgets),
    )
    abstain = given["abstain_cost"]
    answers = given["answers"]
    if answers not in get_args(Answers):
        raise DataError(f"`answers` must be one of {listed(get_args(Answers))}; got {answers!r}.")
    if answers == "numbers" and not all(n.lstrip("-").isdecimal() for n in penalty.classes):
        raise DataError("`answers` are numbers, but not all classes are.")
    temperature = _number(given["temperature"], "temperature", least=0.0)
    if not temperature:
        raise DataError("`temperature` must be positive; got 0.")
    rule = DecisionRule(
        penalty=penalty,
        budgets=budgets,
        meaning=_meaning(given["meaning"], penalty),
        multipliers=tuple(multipliers.tolist()),
        temperature=temperature,
        abstain_cost=None if abstain is None else _number(abstain, "abstain_cost", least=0.0),
        answers=answers,
        guarantee=_guarantee(given["guarantee"], budgets),
    )
    check_evidence(rule)
    return rule


def _meaning(content: Any, penalty: Penalty) -> Meaning:
    given = _object(content, ("groups", "zone", "zone_above", "examples"), "meaning")
    groups: Any = None
    if given["groups"] is not None:
        stated = given["groups"]
        if isinstance(stated, dict) and set(stated) == {"edges"}:
            edges = [tuple(_list(edge, "edges")) for edge in _list(stated["edges"], "edges")]
            groups = Hierarchy.from_edges(edges, classes=penalty.classes)
        else:
            groups = _object(stated, ("groups",), "groups")["groups"]
            if not isinstance(groups, dict):
                raise DataError("`groups` must hold the classes of each group.")
    zone = None if given["zone"] is None else penalty_from_content(given["zone"])
    if zone is not None and not isinstance(zone, Penalty):
        raise DataError("`zone` must hold numbers, not formulas.")
    above = given["zone_above"]
    examples = given["examples"]
    return Meaning(
        groups,
        zone,
        None if above is None else _number(above, "zone_above", least=0.0),
        None if examples is None else _whole(examples, "examples"),
    )


def _guarantee_dict(found: Guarantee) -> dict[str, Any]:
    return {
        **_fields(found, "verdicts", "tested", "plain"),
        "verdicts": [_fields(verdict, "budget") for verdict in found.verdicts],
        "tested": [_fields(rule) for rule in found.tested],
        "plain": _fields(found.plain),
    }


def _fields(record: Any, *without: str) -> dict[str, Any]:
    """The fields of a record by name; JSON has no nan: None stands for it."""
    found = {f.name: getattr(record, f.name) for f in dataclasses.fields(record)}
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in found.items()
        if name not in without
    }


def _guarantee(content: Any, budgets: tuple[Budget, ...]) -> Guarantee:
    names = tuple(key.name for key in dataclasses.fields(Guarantee))
    given = _object(content, names, "guarantee")
    stated = _list(given["verdicts"], "verdicts")
    if len(stated) != len(budgets):
        raise DataError(f"`verdicts` must be {len(budgets)}, one per budget; got {len(stated)}.")
    verdict_names = tuple(f.name for f in dataclasses.fields(Verdict) if f.name != "budget")
    verdicts = []
    for budget, each in zip(budgets, stated, strict=True):
        own = _object(each, verdict_names, "verdicts")
        verdicts.append(
            Verdict(
                budget,
                _whole(own["errors"], "errors"),
                _whole(own["of"], "of"),
                _or_nan(own["rate"], "rate"),
                _or_nan(own["lower"], "lower"),
                _or_nan(own["upper"], "upper"),
                _number(own["limit"], "limit"),
                _flag(own["kept"], "kept"),
                _number(own["confidence"], "confidence"),
            )
        )
    tested = tuple(_tested(each, len(budgets)) for each in _list(given["tested"], "tested"))
    chosen = _whole(given["chosen"], "chosen")
    if chosen >= len(tested):
        raise DataError(f"`chosen` must be one of {len(tested)} tested rules; got {chosen}.")
    return Guarantee(
        holds=_flag(given["holds"], "holds"),
        confidence=_number(given["confidence"], "confidence"),
        verdicts=tuple(verdicts),
        examples=_whole(given["examples"], "examples"),
        path_examples=_whole(given["path_examples"], "path_examples"),
        test_examples=_whole(given["test_examples"], "test_examples"),
        seed=_whole(given["seed"], "seed"),
        tested=tested,
        chosen=chosen,
        plain=_tested(given["plain"], len(budgets)),
    )


def _tested(content: Any, n: int) -> TestedRule:
    given = _object(content, tuple(f.name for f in dataclasses.fields(TestedRule)), "tested")

    def each(name: str, read: Any) -> tuple[Any, ...]:
        values = _list(given[name], name)
        if len(values) != n:
            raise DataError(f"`{name}` of a tested rule must be {n}, one per budget.")
        return tuple(read(value, name) for value in values)

    path = given["path"]
    return TestedRule(
        path=path if path == -1 else _whole(path, "path"),
        multipliers=each("multipliers", _number),
        errors=each("errors", _whole),
        of=each("of", _whole),
        rates=each("rates", _number),
        p_value=_or_nan(given["p_value"], "p_value"),
        passed=_flag(given["passed"], "passed"),
        accuracy=_number(given["accuracy"], "accuracy"),
        cost=_number(given["cost"], "cost"),
        abstained=_number(given["abstained"], "abstained"),
    )


def _object(content: Any, keys: tuple[str, ...], what: str) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise DataError(f"{what} must hold named values ({', '.join(keys)}).")
    for key in content:
        if key not in keys:
            raise DataError(f"{what}: unknown key {key!r}{nearest(str(key), keys) or '.'}")
    for key in keys:
        if key not in content:
            raise DataError(f"{what}: `{key}` is missing.")
    return content


def _list(content: Any, name: str) -> list[Any]:
    if not isinstance(content, list):
        raise DataError(f"`{name}` must be a list; got {type(content).__name__}.")
    return content


def _number(value: Any, name: str, *, least: float = -math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise DataError(f"`{name}` must be a number; got {value!r}.")
    if value < least:
        raise DataError(f"`{name}` must be at least {least:g}; got {value:g}.")
    return float(value)


def _or_nan(value: Any, name: str) -> float:
    return math.nan if value is None else _number(value, name)


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise DataError(f"`{name}` must be a whole number, 0 or more; got {value!r}.")
    check_count(name, value, least=0, most=MOST)
    return value


def _flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise DataError(f"`{name}` must be true or false; got {value!r}.")
    return value
