"""The code of the pages runs, in order and in an empty folder, and prints what the pages show."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [DOCS / "getting-started.md", DOCS / "kernels.md", *sorted((DOCS / "how-to").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What is printed by commands differs between machines; what Python prints is compared.
MARK = "=== block {} ==="


def as_program(blocks: list[tuple[str, str]]) -> str:
    """One program of all blocks, which marks where the output of each begins."""
    lines = ["import subprocess", "import sys"]
    for i, (kind, text) in enumerate(blocks):
        lines.append(f"print({MARK.format(i)!r}, flush=True)")
        if kind == "python":
            lines.append(text)
        elif kind == "bash":
            # The program of this environment, whether or not its folder is on the path.
            start = f'untrue() {{ "{sys.executable}" -m untrue "$@"; }}\nset -euo pipefail\n'
            lines.append(f"subprocess.run(['bash', '-c', {start + text!r}], check=True)")
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs_and_prints_what_is_shown(page: Path, tmp_path: Path) -> None:
    blocks = BLOCK.findall(page.read_text())
    assert any(kind == "python" for kind, _ in blocks)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", as_program(blocks)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    printed = re.split(r"=== block \d+ ===\n", done.stdout)[1:]
    for i, ((before, _), (kind, shown)) in enumerate(itertools.pairwise(blocks)):
        if (before, kind) == ("python", "text"):
            assert printed[i] == shown


def test_the_code_of_every_page_is_run_by_some_test() -> None:
    """A page with Python code is named in a test, or is one of those above."""
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    pages = [path for path in DOCS.glob("*.md") if "```python" in path.read_text()]
    assert len(pages) > 8
    run = {path.name for path in PAGES}
    assert [p.name for p in pages if p.name not in run and f'"{p.name}"' not in tests] == []


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.stem)
def test_a_cost_is_written_as_the_library_takes_it(page: Path) -> None:
    assert "`penalty[" not in page.read_text(encoding="utf-8"), "a Penalty has no subscripts"
