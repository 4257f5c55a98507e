"""Sentences as HTML whose commands and budgets stay together on a phone."""

from __future__ import annotations

import re

from markupsafe import escape

# Longer code may break: it would not fit a phone.
SHORT = 36
CODE = re.compile(
    r"`(?P<quoted>[^`]+)`"
    r"|(?<![\w-])--[a-z][a-z-]*"
    r"|[^\s(]+(?:->|<-)[^\s,;:)]+(?: <= [\d.]+ ?%)?"
)


def prose(text: str) -> str:
    """Escaped text with its code in `<code>`.

    >>> prose("95 % of all: --loss")
    '95 % of all: <code class="short">--loss</code>'
    """
    parts, end = [], 0
    for found in CODE.finditer(text):
        code = found["quoted"] or found[0]
        kind = ' class="short"' if len(code) <= SHORT else ""
        parts += [str(escape(text[end : found.start()])), f"<code{kind}>{escape(code)}</code>"]
        end = found.end()
    return "".join([*parts, str(escape(text[end:]))])
