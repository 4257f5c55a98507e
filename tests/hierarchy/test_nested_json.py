"""The parser without recursion agrees with the standard library on everything it can read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from untrue.errors import HierarchyError
from untrue.hierarchy.nested_json import parse

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.floats(allow_nan=False)
    | st.text(max_size=6)
)
contents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


@settings(max_examples=60)
@given(contents, st.sampled_from([None, 0, 2]), st.booleans())
def test_it_reads_what_json_writes(content: Any, indent: int | None, ascii_only: bool) -> None:
    assert parse(json.dumps(content, indent=indent, ensure_ascii=ascii_only)) == content


@given(st.lists(st.sampled_from([*"{}[],: 1", '"a"', '"b"']), max_size=9))
def test_it_refuses_what_json_refuses(pieces: list[str]) -> None:
    text = "".join(pieces)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("twice")
        return dict(pairs)

    try:
        expected = json.loads(text, object_pairs_hook=unique)
    except ValueError:
        with pytest.raises(HierarchyError, match=r"JSON|twice"):
            parse(text)
    else:
        assert parse(text) == expected


def test_depth_does_not_matter() -> None:
    content = parse("[" * 50_000 + "]" * 50_000)
    for _ in range(49_999):
        [content] = content
    assert content == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: expected value; got 'the end of the file'"),
        ('{"a" 1}', "line 1: expected colon; got '1}'"),
        ('{"a": 1,\n}', "line 2: expected key; got '}'"),
        ("[1\n2]", "line 2: expected comma or end; got '2]'"),
        ("[1] 2", "line 1: expected comma or end; got '2'"),
        ("[x]", r"line 1: expected a name in quotes; got 'x\]'"),
        ('["a]', "line 1: expected value or end; got '\"a]'"),
        ("[1}", "expected comma or end; got '}'"),
        ('{"a": 1, "a": 2}', '"a" is given twice in one object'),
    ],
)
def test_errors_say_where_and_what(text: str, message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        parse(text)
