"""The C kernels are optional: an install without a compiler works, and says so in one line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import untrue

PROJECT = Path(__file__).parent.parent
NATIVE = "src/untrue/kernels"
SCRIPT = """
import torch, untrue
loss = untrue.BilinearLoss(untrue.Penalty.from_ordinal(3))
z = torch.tensor([[2.0, 1.0, 0.0]], requires_grad=True)
loss(z, torch.tensor([0])).backward()
print(untrue.__file__, untrue.functional.backend(), [round(v, 5) for v in z.grad[0].tolist()])
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of what is installed, with nothing built."""
    copy = tmp_path / "project"
    unwanted = shutil.ignore_patterns("*.so", "*.egg-info", "__pycache__", "build")
    shutil.copytree(PROJECT / "src", copy / "src", ignore=unwanted)
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(PROJECT / name, copy / name)
    return copy


def without_compiler(tmp_path: Path) -> dict[str, str]:
    """An environment in which no compiler is found."""
    empty = tmp_path / "no compiler"
    empty.mkdir()
    unwanted = ("CC", "CXX", "PYTHONPATH", "UNTRUE_NATIVE")
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    return kept | {"PATH": str(empty)}


def install(project: Path, place: Path, environment: dict[str, str]) -> str:
    """Install as the README says, into a folder and without an index; what was printed."""
    command = [sys.executable, "-m", "pip", "install", "-v", "--no-build-isolation", "--no-index"]
    done = subprocess.run(
        [*command, "--no-deps", "--target", str(place), str(project)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=place.parent,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


def gradient(place: Path, environment: dict[str, str]) -> tuple[str, str]:
    """(backend, gradient) of an installed package."""
    environment = {**environment, "PYTHONPATH": str(place)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        env=environment,
        cwd=place.parent,
    )
    assert done.returncode == 0, done.stderr
    where, backend, numbers = done.stdout.strip().split(" ", 2)
    assert where.startswith(str(place))
    return backend, numbers


def demo(place: Path, environment: dict[str, str]) -> str:
    """What `make demo` runs once it has installed, at the smallest scale; the page it makes."""
    out = place.parent / "demo"
    environment = {**environment, "PYTHONPATH": str(place), "OMP_NUM_THREADS": "1"}
    for arguments in (["run", "demo", "--scale", "smoke", "--out", str(out)], ["report", str(out)]):
        done = subprocess.run(
            [sys.executable, "-m", "untrue", *arguments],
            capture_output=True,
            text=True,
            env=environment,
            cwd=place.parent,
        )
        assert done.returncode == 0, done.stderr[-3000:]
    return (out / "report.html").read_text()


@pytest.mark.slow
def test_an_install_without_a_compiler_works_and_says_so(project, tmp_path) -> None:
    environment = without_compiler(tmp_path)
    place = tmp_path / "site"
    printed = install(project, place, environment)
    lines = [line for line in printed.splitlines() if "C kernels" in line]
    assert len(lines) == 1
    assert "the C kernels were not built (" in lines[0]
    assert lines[0].endswith("the losses use the torch formulas: same results, slower.")
    backend, numbers = gradient(place, environment)
    assert backend == "torch"
    assert "<html" in demo(place, environment)
    if shutil.which("cc"):
        other = tmp_path / "other"
        assert "not built" not in install(project, other, dict(os.environ))
        assert gradient(other, environment) == ("native", numbers)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_one_wheel_serves_every_python(project, tmp_path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--no-deps", "-w", str(tmp_path), str(project)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert "-cp311-abi3-" in wheel.name
    files = zipfile.ZipFile(wheel).namelist()
    assert "untrue/kernels/_kernels.abi3.so" in files
    assert not [name for name in files if name.endswith((".c", ".h"))]


def test_the_version_is_one() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    version = project["version"]
    assert untrue.__version__ == version
    assert f"\nversion: {version}\n" in (PROJECT / "CITATION.cff").read_text()
    headings = re.findall(r"^## (\S+)", (PROJECT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == version


def test_a_source_archive_has_what_is_compiled(project, tmp_path) -> None:
    subprocess.run(
        [sys.executable, "setup.py", "-q", "sdist", "-d", str(tmp_path)],
        cwd=project,
        check=True,
        capture_output=True,
    )
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        inside = {name.split("/", 1)[1] for name in opened.getnames() if "/" in name}
    sources = [path for path in (PROJECT / NATIVE).iterdir() if path.suffix in (".c", ".h")]
    assert len(sources) > 5
    assert {f"{NATIVE}/{path.name}" for path in sources} | {"setup.py"} <= inside
