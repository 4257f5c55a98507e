"""The code of `docs/tune.md` runs and says what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "tune.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def words(line: str) -> list[str]:
    """The words of a line without its numbers, which differ between machines."""
    return re.findall(r"[A-Za-z_']{2,}", line)


def test_every_block_runs_and_says_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    kinds = []
    shown = ""
    for kind, block in BLOCK.findall(PAGE.read_text()):
        kinds.append(kind)
        if kind == "python":
            exec(compile(block, PAGE.name, "exec"), names)
            shown = capsys.readouterr().out
        elif kind == "text":
            predicted = [words(line) for line in shown.splitlines()]
            assert predicted == [words(line) for line in block.splitlines()]
        else:
            # The program of this environment, whether or not its folder is on the path.
            start = f'untrue() {{ "{sys.executable}" -m untrue "$@"; }}\nset -euo pipefail\n'
            done = subprocess.run(
                ["bash", "-c", start + block],
                capture_output=True,
                text=True,
                timeout=300,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            assert (done.returncode, done.stderr) == (0, "")
            assert "1,797 predictions, decided by the tuned rule" in done.stdout
    assert kinds == ["python", "text", "python", "bash"]
    assert names["found"].kept
    assert (tmp_path / "predictions.csv").exists()
