"""Our docstrings as Markdown: names in columns become definitions, examples become code."""

from __future__ import annotations

import re
from typing import Any

import griffe

COLUMN = re.compile(r"(\S.*?) {2,}(\S.*)")


class Columns(griffe.Extension):
    """Turns the text of every docstring into Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """The text with its paragraphs of columns and of examples marked up."""
    return "\n\n".join(_marked(part) for part in re.split(r"\n\s*\n", text))


def _marked(paragraph: str) -> str:
    lines = paragraph.splitlines()
    if lines[0].startswith(">>>"):
        return f"```pycon\n{paragraph}\n```"
    starts = [line for line in lines if not line.startswith("    ")]
    if not lines[0].startswith(" ") and all(COLUMN.fullmatch(line) for line in starts):
        return _definitions(lines)
    return paragraph


def _definitions(lines: list[str]) -> str:
    entries: list[tuple[str, list[str]]] = []
    for line in lines:
        match = None if line.startswith("    ") else COLUMN.fullmatch(line)
        if match:
            entries.append((match[1], [match[2]]))
        else:
            entries[-1][1].append(line.strip())
    return "\n\n".join(f"{_code(name)}\n:   {' '.join(text)}" for name, text in entries)


def _code(names: str) -> str:
    """`a, b` as code, name by name; what is code or a text already stays."""
    if "`" in names:
        return names
    return ", ".join(f"`{name}`" for name in names.split(", "))
