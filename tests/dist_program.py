"""What `make dist` runs with a package that was just installed into an empty environment.

python tests/dist_program.py VERSION, in a folder of its own and by the environment's Python. Only
what `pip install untrue` brings is there: no torch, no pandas.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np

import untrue


def check_metadata(version: str) -> None:
    """The version is one everywhere; licences of what is bundled are there."""
    found = importlib.metadata.metadata("untrue")
    assert untrue.__version__ == found["Version"] == version, (untrue.__version__, found["Version"])
    assert found["License-Expression"] == "MIT"
    files = [str(path) for path in importlib.metadata.files("untrue") or ()]
    licences = [name for name in files if "licenses/" in name and name.endswith("LICENSE")]
    assert any("plotly" in name for name in licences), licences
    assert len(licences) == 2, licences
    assert any(name.endswith("py.typed") for name in files)
    home = Path(untrue.__file__).resolve()
    assert home.is_relative_to(Path(sys.prefix).resolve()), home


def check_library() -> None:
    """Costs, a decision and a budget work without torch; a loss says what it needs."""
    assert importlib.util.find_spec("torch") is None
    costs = untrue.Penalty.from_rules(["benign", "tumour"], {("tumour", "benign"): 20.0})
    assert untrue.decide([[0.9, 0.1], [0.99, 0.01]], costs).tolist() == [1, 0]
    rng = np.random.default_rng(0)
    target = rng.integers(0, 2, 2000)
    probs = 1 / (1 + np.exp(-3 * (target - 0.5) - rng.normal(0, 1.2, 2000)))
    rule = untrue.control(probs, target, budgets=["1->0 <= 5%"], classes=["0", "1"])
    rule.save("rule.json")
    again = untrue.DecisionRule.load("rule.json")
    assert np.array_equal(again(probs), rule(probs))
    assert ((rule(probs) == 0) & (target == 1)).sum() < 0.05 * (target == 1).sum()
    said = ""
    try:
        untrue.BilinearLoss(costs)
    except untrue.errors.MissingDependencyError as error:
        said = str(error)
    assert 'pip install "untrue[torch]"' in said, said


def check_commands() -> None:
    """The command is installed, makes costs and shows them; a wrong one is one line and code 2."""
    command = str(Path(sys.executable).with_name("untrue"))
    for options in (
        ["--help"],
        ["penalty", "new", "--classes", "benign,tumour", "--out", "costs.toml"],
        ["penalty", "check", "costs.toml"],
    ):
        subprocess.run([command, *options], check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run([command, "penalty", "show", "none.toml"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "none.toml" in done.stderr


if __name__ == "__main__":
    check_metadata(sys.argv[1])
    check_library()
    check_commands()
    version = ".".join(map(str, sys.version_info[:3]))
    print(f"untrue {untrue.__version__} works on Python {version}: {Path(untrue.__file__).parent}")
