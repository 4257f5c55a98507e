"""Imports point down the house plan only, and torch is imported only where it is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "untrue"

# A room may import itself and the rooms after it.
ROOMS = [
    "cli",
    "report",
    "lab",
    "tools",
    "adapters",
    "training",
    "networks",
    "losses",
    "functional",
    "newton",
    "reference",
    "exits",
    "budgets",
    "decision",
    "metrics",
    "penalty",
    "hierarchy",
    "storage",
    "array_files",
    "input_files",
    # Names, numbers and strings, which every room may read.
    "registry",
    "atomic_files",
    "optional",
    "kernels",
    "checks",
    "array_types",
    "machine",
    "errors",
]
ADAPTERS = {
    "sklearn",
    "boosting",
    "torchmetrics",
    "lightning",
    "jax",
    "keras",
    "transformers",
    "ray",
}


def room_of(module: str) -> str | None:
    parts = module.split(".")
    if parts[0] != "untrue" or len(parts) < 2:
        return None
    if parts[1:3] == ["losses", "registry"]:
        return "registry"
    return "adapters" if parts[1] in ADAPTERS else parts[1]


def imported(path: Path) -> set[str]:
    """Every `untrue` module that a file names in an import, wherever in the file."""
    package = "untrue." + ".".join(path.relative_to(SOURCE).parts[:-1])
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                kept = package.rstrip(".").split(".")
                base = ".".join([*kept[: len(kept) - node.level + 1], *([base] if base else [])])
            whole = base in ("untrue", "untrue.losses")
            found |= {f"{base}.{alias.name}" for alias in node.names} if whole else {base}
    return {name for name in found if name.startswith("untrue.")}


def test_imports_point_down_the_house_plan() -> None:
    upward = []
    for path in SOURCE.rglob("*.py"):
        relative = path.relative_to(SOURCE)
        if relative.parts[0] in ("__init__.py", "__main__.py"):
            continue
        here = room_of("untrue." + relative.parts[0].removesuffix(".py"))
        assert here in ROOMS, f"{relative} stands in no room of the house plan"
        for name in imported(path):
            there = room_of(name)
            if there is not None and ROOMS.index(there) < ROOMS.index(here):
                upward.append(f"{relative} imports {name}")
    assert not upward


def test_the_parts_of_the_report_import_only_what_is_below_them() -> None:
    below = {
        "document": {"document"},
        "runs": {"document", "runs"},
        "sweep": {"document", "runs", "sweep"},
        "compare": {"document", "runs", "compare"},
        "own": {"document", "own"},
    }
    for part, allowed in below.items():
        for path in (SOURCE / "report" / part).rglob("*.py"):
            parts = {name.split(".")[2] for name in imported(path) if "untrue.report." in name}
            assert parts <= allowed, path


# As on a machine without these packages.
WITHOUT = """
import importlib.abc, sys
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        package = name.partition(".")[0]
        if package in {packages}:
            raise ModuleNotFoundError(f"No module named {{package!r}}", name=package)
sys.meta_path.insert(0, Absent())
"""


def without(
    packages: tuple[str, ...], code: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    absent = WITHOUT.format(packages=packages)
    return subprocess.run(
        [sys.executable, "-c", absent + code, *arguments], capture_output=True, text=True
    )


def without_torch(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return without(("torch",), code, *arguments)


@pytest.mark.parametrize(
    "statement",
    [
        "import untrue; untrue.Penalty; untrue.Hierarchy; untrue.metrics; untrue.decide",
        "import untrue; untrue.Budget; untrue.posterior; untrue.calibrate; untrue.control",
        "import untrue; untrue.fit; untrue.predict; untrue.audit; untrue.tune",
        "import untrue.boosting",
        "import untrue.sklearn as s; s.CostSensitiveClassifier; s.BoostedClassifier; s.cost_scorer",
        "import untrue.report.own.audit, untrue.report.own.fit, untrue.report.own.tune",
        "import untrue.report.assemble, untrue.report.compare.chapter",
        "from untrue.losses import registry; registry.find('bilinear').strengths",
        "import untrue.cli",
    ],
)
def test_what_needs_no_torch_works_without_it(statement: str) -> None:
    done = without_torch(statement)
    assert done.returncode == 0, done.stderr


def test_the_report_imports_no_torch() -> None:
    """Every module of it, whatever else it imports."""
    names = [
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
        for path in (SOURCE / "report").rglob("*.py")
    ]
    done = without_torch(f"import {', '.join(names)}")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["BilinearLoss", "BestEpoch", "functional"])
def test_what_needs_torch_says_how_to_install_it(name: str) -> None:
    done = without_torch(f"import untrue; untrue.{name}")
    line = f'`untrue.{name}` needs torch, which is missing: pip install "untrue[torch]".'
    assert done.stderr.rstrip().endswith(line)


def test_a_network_without_torch_says_how_to_install_it() -> None:
    done = without_torch("import untrue; untrue.networks.build('mnist')")
    line = 'A network needs torch, which is missing: pip install "untrue[torch]".'
    assert done.stderr.rstrip().endswith(f"MissingDependencyError: {line}")


def test_a_star_import_asks_only_for_what_is_installed() -> None:
    seen = "print({'Penalty', 'networks', 'AlphaSchedule'} <= set(globals()))"
    done = without_torch(f"from untrue import *\n{seen}\nprint('functional' in globals())")
    assert (done.stdout, done.stderr) == ("True\nFalse\n", "")
    both = "from untrue import *; BilinearLoss, functional.bilinear_loss, BestEpoch"
    done = without((), both)
    assert done.returncode == 0, done.stderr


def test_tables_name_the_extra_that_brings_them(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("truth,prob_a,prob_b\na,.7,.3\nb,.2,.8\n")
    done = without(
        ("torch", "pandas", "pyarrow"),
        "import untrue.cli; untrue.cli.main(sys.argv[1:])",
        *("control", str(path), "--budget", "a->b <= 50%", "--out", str(tmp_path / "rule.json")),
    )
    assert done.returncode == 2, done.stderr
    line = 'Reading tables needs pyarrow, which is missing: pip install "untrue[tables]".'
    assert done.stderr.rstrip().endswith(line)


@pytest.mark.parametrize(
    ("call", "without"),
    [
        ("untrue.cli.exit_code(sys.argv[1:])", False),
        ("untrue.cli.main(sys.argv[1:])", True),
    ],
)
def test_a_command_imports_only_what_trees_need_and_a_program_all(
    call: str, without: bool, tmp_path: Path
) -> None:
    rows = [f"{i % 7},{'ab'[i % 2]},{'yes' if i % 7 > 3 else 'no'}" for i in range(200)]
    (tmp_path / "d.csv").write_text("\n".join(["x,kind,label", *rows]))
    code = (
        "import atexit, sys, untrue.cli\n"
        "def tell():\n"
        "    lightgbm = sys.modules['lightgbm']\n"
        "    found = sorted({'torch', 'sklearn', 'pandas'} & set(sys.modules))\n"
        "    print(found, lightgbm.compat.SKLEARN_INSTALLED, file=sys.stderr)\n"
        "atexit.register(tell)\n"
        f"{call}"
    )
    options = ("--target", "label", "--loss", "cross-entropy", "--model", "lightgbm")
    command = (sys.executable, "-c", code, "fit", str(tmp_path / "d.csv"), *options)
    done = subprocess.run(
        [*command, "--rounds", "3", "--out", str(tmp_path / "m")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    expected = "[] False" if without else "['pandas', 'sklearn'] True"
    assert done.stderr.splitlines()[-1] == expected


def test_trees_are_fitted_and_audited_without_torch(tmp_path: Path) -> None:
    rows = [f"{i % 7},{'ab'[i % 2]},{'yes' if i % 7 > 3 else 'no'}" for i in range(200)]
    (tmp_path / "d.csv").write_text("\n".join(["x,kind,label", *rows]))
    code = "import untrue.cli; untrue.cli.main(sys.argv[1:])"
    data, model, out = (str(tmp_path / name) for name in ("d.csv", "m", "p.csv"))
    common = ("--loss", "cross-entropy", "--model", "lightgbm", "--rounds", "5")
    done = without_torch(code, "fit", data, "--target", "label", *common, "--out", model)
    assert done.returncode == 0, done.stderr
    done = without_torch(code, "predict", model, data, "--out", out)
    assert done.returncode == 0, done.stderr
    done = without_torch(
        code, "fit", data, "--target", "label", *common[:3], "mlp", "--out", f"{model}2"
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert 'needs torch, which is missing: pip install "untrue[torch]"' in done.stderr
