"""JSON of any depth. The standard library's parser recurses and stops at about a thousand levels,
and where a name is given twice in one object it drops the first silently; this one does neither."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from untrue.errors import HierarchyError

_PIECE = re.compile(r'[ \t\r\n]*([{}\[\]:,]|"(?:[^"\\]|\\.)*"|[^\s{}\[\]:,"]+)')


def parse(text: str) -> Any:
    """The content of a JSON text.

    >>> parse('{"fish": ["trout", "ray"]}')
    {'fish': ['trout', 'ray']}
    """
    whole: list[Any] = []
    open_ones: list[Any] = [whole]  # containers being filled, the innermost last
    keys: list[str] = []  # in each open object, the key whose value comes next
    wanted = "value"
    position = 0
    end = len(text.rstrip(" \t\r\n"))
    while position < end:
        match = _PIECE.match(text, position)
        if match is None:
            _complain(text, position, wanted)
        piece, position = match[1], match.end()
        if piece in "}]":
            closes = isinstance(open_ones[-1], dict if piece == "}" else list)
            if not closes or len(open_ones) == 1 or not wanted.endswith("end"):
                _complain(text, match.start(1), wanted)
            open_ones.pop()
            wanted = "comma or end"
        elif piece == "," and wanted == "comma or end" and len(open_ones) > 1:
            wanted = "key" if isinstance(open_ones[-1], dict) else "value"
        elif piece == ":" and wanted == "colon":
            wanted = "value"
        elif wanted.startswith("key") and piece[0] == '"':
            keys.append(_scalar(piece, text, match.start(1)))
            if keys[-1] in open_ones[-1]:
                raise HierarchyError(f"{piece} is given twice in one object.")
            wanted = "colon"
        elif wanted.startswith("value") and piece not in ":,":
            opens: dict[str, Any] = {"{": {}, "[": []}
            value = opens[piece] if piece in opens else _scalar(piece, text, match.start(1))
            if isinstance(open_ones[-1], dict):
                open_ones[-1][keys.pop()] = value
            else:
                open_ones[-1].append(value)
            wanted = "comma or end"
            if piece in opens:
                open_ones.append(value)
                wanted = "key or end" if piece == "{" else "value or end"
        else:
            _complain(text, match.start(1), wanted)
    if len(open_ones) > 1 or not whole:
        _complain(text, end, wanted)
    return whole[0]


def _scalar(piece: str, text: str, position: int) -> Any:
    try:
        return json.loads(piece)
    except json.JSONDecodeError:
        _complain(text, position, "a name in quotes")


def _complain(text: str, position: int, wanted: str) -> NoReturn:
    line = text.count("\n", 0, position) + 1
    shown = text[position : position + 20].strip() or "the end of the file"
    raise HierarchyError(f"not readable as JSON: line {line}: expected {wanted}; got {shown!r}.")
