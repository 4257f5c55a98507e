"""Values that break programs, drawn or made; each function takes its own random numbers."""

from __future__ import annotations

import json
import string
from collections.abc import Sequence
from random import Random
from typing import Any

NUMBERS = [
    *("0", "-0", "1", "-1", "0.5", "1e-320", "1e300", "1e308", "1e309", "-1e39", "1e39", "nan"),
    *("inf", "-inf", "NaN", "Infinity", str(2**31), str(2**53 + 1), str(2**63), str(2**64)),
    *("9" * 5000, "0x10", "1_000", "1e", "--1", "٣", "½", "1,5", "", " ", "true", "null", "1e-400"),
]
NAMES = [
    *("a", "b", "c", "cat", "dog", "0", "1", "2", "truth", "predicted", "(abstained)", "prob_a"),
    *("a ", " a", "A", "", " ", "None", "nan", "NA", "true", "root", "parent", "child", "file"),
    *(
        "a,b",
        'a"b',
        "a'b",
        "a;b",
        "a\tb",
        "a\nb",
        "a\rb",
        "a\x00b",
        "a\x1b[2J",
        "\u202eabc",
        "\ufeff",
    ),
    *(
        "naïve",
        "日本",
        "🐈‍⬛",
        "e\u0301",
        "<script>alert(1)</script>",
        "{{7*7}}",
        "%s%n",
        "[red]",
        "$(id)",
    ),
    *("../../x", "/nowhere/x", "a->b", "a<-b", "a<=1", "=1+1", "-1", "--help", "\\", "a" * 300),
]
LETTERS = string.ascii_letters + string.digits + " ,;.:=-+*/_'\"[]{}()<>#\n\t\\\x00é日"


def number(rng: Random) -> str:
    """The text of a number, often a plain one."""
    roll = rng.random()
    if roll < 0.4:
        return f"{rng.uniform(-5, 20):.{rng.randrange(4)}f}"
    if roll < 0.6:
        return str(rng.randrange(-2, 30))
    if roll < 0.7:
        return repr(rng.uniform(-1, 1) * 10.0 ** rng.randrange(-320, 308))
    return rng.choice(NUMBERS)


def positive(rng: Random, odd: float = 0.03) -> str:
    """The text of a number that is not negative; now and then any number."""
    if rng.random() < odd:
        return number(rng)
    return rng.choice([str(rng.randrange(30)), f"{rng.uniform(0, 20):.{rng.randrange(4)}f}"])


def name(rng: Random) -> str:
    """The name of a class or a column, often a plain one."""
    if rng.random() < 0.5:
        return rng.choice("abcdefgh")
    if rng.random() < 0.8:
        return rng.choice(NAMES)
    return "".join(rng.choices(LETTERS, k=rng.randrange(1, 12)))


def names(rng: Random, least: int = 1, most: int = 6) -> list[str]:
    """A few names, mostly all different."""
    k = rng.randint(least, most)
    found = list("abcdefgh"[:k]) if rng.random() < 0.5 else [name(rng) for _ in range(k)]
    return found if rng.random() < 0.1 else list(dict.fromkeys(found))


def json_value(rng: Random, depth: int = 3) -> Any:
    """Any JSON value."""
    roll = rng.random()
    if depth and roll < 0.25:
        return [json_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if depth and roll < 0.5:
        return {name(rng): json_value(rng, depth - 1) for _ in range(rng.randrange(4))}
    if roll < 0.7:
        return name(rng)
    return rng.choice([None, True, False, 0, 1, -1, 2**63, 1e308, 1e400, -1e400, 0.5, 10**400, ""])


def json_text(content: Any) -> str:
    """JSON, with numbers that JSON has not as programs write them."""
    try:
        return json.dumps(content)
    except ValueError:  # a whole number of very many digits
        return "9" * 5000


def changed(rng: Random, content: Any) -> Any:
    """JSON content with one value in it replaced, removed or repeated."""
    if isinstance(content, dict) and content and rng.random() < 0.9:
        key = rng.choice(list(content))
        roll = rng.random()
        if roll < 0.15:
            return {k: v for k, v in content.items() if k != key}
        if roll < 0.25:
            return {**content, name(rng): json_value(rng)}
        return {**content, key: changed(rng, content[key])}
    if isinstance(content, list) and content and rng.random() < 0.9:
        at = rng.randrange(len(content))
        roll = rng.random()
        if roll < 0.15:
            return content[:at] + content[at + 1 :]
        if roll < 0.25:
            return [*content[:at], content[at], *content[at:]]
        return [*content[:at], changed(rng, content[at]), *content[at + 1 :]]
    return json_value(rng)


def mutated(rng: Random, content: bytes, others: Sequence[bytes] = ()) -> bytes:
    """Bytes with a few flipped, cut out, repeated, inserted, or spliced with others'."""
    found = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        at = rng.randrange(len(found) + 1)
        roll = rng.random()
        if roll < 0.3 and found:
            found[at % len(found)] = rng.randrange(256)
        elif roll < 0.4 and found:
            found[at % len(found)] ^= 1 << rng.randrange(8)
        elif roll < 0.55:
            del found[at : at + rng.choice([1, 2, 10, len(found)])]
        elif roll < 0.65:
            found[at:at] = found[at : at + rng.randrange(1, 40)] * rng.choice([1, 2, 50])
        elif roll < 0.85:
            piece = rng.choice([number(rng), name(rng), rng.choice(LETTERS) * rng.randrange(1, 60)])
            found[at:at] = piece.encode("utf-8", "surrogatepass")
        elif others:
            other = rng.choice(list(others))
            found[at:] = other[rng.randrange(len(other) + 1) :]
        else:
            found[at:at] = rng.randbytes(rng.randrange(1, 9))
    return bytes(found)


def spoilt(rng: Random, content: bytes, often: float = 0.5) -> bytes:
    """As it is, or mutated."""
    return mutated(rng, content) if rng.random() < often else content
