"""docs/budgets.md runs, and what it says about its grammar and numbers is so."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from untrue import Budget

PAGE = (Path(__file__).parents[2] / "docs" / "budgets.md").read_text()


def test_the_examples_run_in_order(tmp_path) -> None:
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    shown = re.search(r"^```text\n(tumour.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert done.stdout.startswith(shown[1])
    before, after = map(int, re.findall(r"(?:before|after): (\d+) of 630", done.stdout))
    assert before > 0.02 * 630 > after
    assert re.search(r"\{'\*->8 <= 2%': [1-9]\.\d+\}", done.stdout)


def test_every_budget_in_the_table_can_be_parsed() -> None:
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    shown = [text for row in rows for text in re.findall(r"`([^`]*)`", row)]
    assert len(shown) == 12
    for text in shown:
        assert str(Budget.parse(text)) == text


def test_the_least_number_of_examples_is_as_shown() -> None:
    from untrue.metrics.bounds import share_bound

    assert share_bound(0, 598, 0.95) <= 0.005 < share_bound(0, 597, 0.95)
    assert "fewer than 598 examples" in PAGE
