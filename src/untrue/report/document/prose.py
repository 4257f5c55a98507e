"""Sentences as HTML whose commands, budgets and percentages stay together on a phone."""

from __future__ import annotations

import re
from html import escape

# Longer code may break: it would not fit a phone.
SHORT = 36
CODE = re.compile(
    r"`(?P<quoted>[^`]+)`"
    r"|(?<![\w-])--[a-z][a-z-]*"
    r"|[^\s(]+(?:->|<-)[^\s,;:)]+(?: <= [\d.]+ ?%)?"
)


def prose(text: str) -> str:
    """Escaped text: code in `<code>`, and a no-break space between a number and its %.

    >>> prose("95 % of all: --loss")
    '95\\xa0% of all: <code class="short">--loss</code>'
    """
    parts, end = [], 0
    for found in CODE.finditer(text):
        code = found["quoted"] or found[0]
        kind = ' class="short"' if len(code) <= SHORT else ""
        parts += [_plain(text[end : found.start()]), f"<code{kind}>{_plain(code)}</code>"]
        end = found.end()
    return "".join([*parts, _plain(text[end:])])


def _plain(text: str) -> str:
    return re.sub(r"(?<=\d) %", "\u00a0%", escape(text))
