"""The reference: a page for each public module, from its docstrings.

Modules are read, not imported: `make docs` needs no framework.
"""

from __future__ import annotations

import functools
from pathlib import Path

import griffe

import untrue
from untrue.losses import registry

SOURCE = Path(untrue.__file__).parent.parent
TOOLS = {name: home for name, home in untrue._HOME.items() if home.startswith("untrue.tools.")}
# Names that are looked up when first used, and where they are.
LATE = {
    "losses": registry.CLASSES | registry.BESIDE,
    "functional": registry.FUNCTIONS
    | {
        "linear_bilinear_loss": "untrue.functional.linear_head",
        "linear_log_bilinear_loss": "untrue.functional.linear_head",
        "log1m_softmax": "untrue.functional.formula",
        "backend": "untrue.functional.native",
    },
}


@functools.cache
def pages() -> dict[str, str]:
    """{module: its page}."""
    names = sorted({*untrue._MODULES, *untrue._ADAPTERS} - {"lab"})
    return {"untrue": "reference/untrue.md"} | {
        f"untrue.{name}": f"reference/{name}.md" for name in names
    }


def page(module: str) -> str:
    """The Markdown of a module's page."""
    name = module.removeprefix("untrue.")
    if module == "untrue":
        return _each("untrue: tools for your own data", TOOLS)
    if name in LATE:
        return _each(module, LATE[name])
    found = _package()[name]
    names = [str(each) for each in found.exports or ()]
    # A function that is named as its file (`control`) is hidden behind it.
    hidden = [each for each in names if found.members[each].is_module]
    text = f"::: {module}\n    options:\n      heading_level: 1\n"
    if names:
        listed = "".join(f"        - {each}\n" for each in names if each not in hidden)
        text += f"      members:\n{listed}"
    return text + "".join(f"\n::: {module}.{each}.{each}\n" for each in hidden)


def _each(title: str, homes: dict[str, str]) -> str:
    """A page of names, each from its own module."""
    parts = (f"::: {home}.{name}" for name, home in sorted(homes.items()))
    return f"# {title}\n\n" + "\n\n".join(parts) + "\n"


@functools.cache
def _package() -> griffe.Object | griffe.Alias:
    return griffe.load("untrue", search_paths=[str(SOURCE)])
