"""The page about frameworks runs; a missing framework says how to install it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parent.parent.parent / "docs" / "frameworks.md").read_text()
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, flags=re.DOTALL | re.MULTILINE))
ADAPTERS = {
    "torchmetrics": "torchmetrics",
    "lightning": "pytorch_lightning",
    "jax": "jax",
    "keras": "keras",
    "transformers": "transformers",
}


@pytest.mark.parametrize("section", SECTIONS)
def test_the_code_of_each_section_runs(section: str, tmp_path: Path) -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", SECTIONS[section], flags=re.DOTALL))
    assert code
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr


def test_the_page_about_onnx_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "onnx.md").read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "examples answered as by `untrue predict`" in done.stdout


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_missing_framework_says_how_to_install_it(adapter: str) -> None:
    package = ADAPTERS[adapter]
    code = f"import sys; sys.modules['{package}'] = None; import untrue; untrue.{adapter}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    line = f'untrue.{adapter} needs {package}, which is missing: pip install "untrue[frameworks]".'
    assert done.stderr.rstrip().endswith(line), done.stderr
