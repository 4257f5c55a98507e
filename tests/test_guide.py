"""The guide runs: every block of `docs/guide.md`, in order, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

GUIDE = Path(__file__).parent.parent / "docs" / "guide.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def words(line: str) -> list[str]:
    """The words of a line without its numbers, which differ between machines."""
    return re.findall(r"[A-Za-z_']{2,}", line)


def shell(block: str, folder: Path) -> str:
    # The program of this environment, whether or not its folder is on the path.
    start = f'untrue() {{ "{sys.executable}" -m untrue "$@"; }}\nset -euo pipefail\n'
    done = subprocess.run(
        ["bash", "-c", start + block],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_every_block_runs_and_says_what_the_guide_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    shown, predicted, kinds = "", "", []
    for kind, block in BLOCK.findall(GUIDE.read_text()):
        kinds.append(kind)
        if kind == "bash":
            shown = shell(block, tmp_path)
        elif kind == "python":
            exec(compile(block, f"{GUIDE.name}: {block[:40]!r}", "exec"), names)
            shown = capsys.readouterr().out
            predicted += shown
        else:
            assert kind == "text"
            printed = [words(line) for line in shown.splitlines()]
            for line in block.splitlines():
                wanted = words(line)
                assert any(wanted == found[: len(wanted)] for found in printed), line
    assert kinds.count("bash") >= 5
    assert kinds.count("python") >= 3
    assert re.search(r"argmax: \d+% right, [\d.]+ an answer\ncost: ", predicted)
    for made in ("model/page.html", "audit/page.html", "theirs-audit/page.html", "start.csv"):
        assert (tmp_path / made).exists()
    rows = (tmp_path / "predictions.csv").read_text().count("\n")
    assert rows == 101
    assert "(abstained)" in (tmp_path / "careful.csv").read_text()
