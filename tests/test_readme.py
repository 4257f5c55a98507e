"""The README's code runs, its links lead somewhere, and it names only commands that exist."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def run(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_budget_is_kept_as_the_page_says(tmp_path: Path) -> None:
    more = """
true, plain = truth[1000:], probs[1000:].argmax(axis=1)
for given in (plain, answers):
    print(((given == 8) & (true != 8)).sum(), round(100 * (given == true).mean(), 1))
print((true != 8).sum(), len(true))
"""
    guarantee, plain, ruled, counts = run(blocks("python")[0] + more, tmp_path).splitlines()
    assert guarantee.startswith("With 95 % confidence *->8 <= 1% holds for examples like these.")
    assert (plain, ruled, counts) == ("24 83.8", "5 84.5", "584 647")
    for number in ("647", "24 of 584", "5 times", "84.5 % against 83.8 %"):
        assert number in README


def test_the_training_example_runs(tmp_path: Path) -> None:
    assert "expected_cost" in run(blocks("python")[1], tmp_path)


def test_the_costs_of_kdd_cup_are_those_of_the_record() -> None:
    with (ROOT / "benchmarks" / "results" / "kdd99.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    (chosen,) = [float(row["test_cost"]) for row in rows if row["chosen"] == "True"]
    plain = [
        float(row["test_cost"])
        for row in rows
        if (row["loss"], row["decision"]) == ("cross-entropy", "least cost")
    ]
    assert f"costs {chosen:.3f} a connection" in README
    assert f"decided by cost has {min(plain):.3f} to {max(plain):.3f}" in README


def test_the_speed_of_the_loss_is_that_of_the_record() -> None:
    with (ROOT / "benchmarks" / "results" / "losses.csv").open(newline="") as file:
        times = [
            float(row["times_cross_entropy"])
            for row in csv.DictReader(file)
            if row["loss"].endswith(" bilinear, native")
        ]
    assert len(times) == 14
    said = f"it takes {min(times):.2f} to {max(times):.2f} times the time of cross-entropy"
    assert said in README


def test_the_picture_shows_what_the_page_says() -> None:
    with (ROOT / "docs" / "pictures" / "budget.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for decision, words in (("most probable class", "answer"), ("untrue.control", "rule")):
        kept = [row for row in rows if row["decision"] == decision]
        over = sum(float(row["called_8"]) > 1 for row in kept)
        right = sum(float(row["right"]) for row in kept) / len(kept)
        assert len(kept) == 100
        assert f"{words} is over it in {over}, and {right:.1f} % right" in " ".join(README.split())


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#:]+)\)", README))
def test_links_lead_somewhere(link) -> None:
    assert (ROOT / link).exists()


def test_commands_exist() -> None:
    from untrue.cli import COMMANDS

    for command in re.findall(r"^untrue (\w+)", "\n".join(blocks("sh")), flags=re.MULTILINE):
        assert command in COMMANDS
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:^|[`(])make ([\w-]+)", README, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_importing_the_package_costs_little_beside_torch() -> None:
    """No timing: what says what is missing, and the list of losses, is loaded, and no more."""
    check = (
        "import sys, untrue; "
        "print(*[m for m in sys.modules if m.startswith('untrue.') or m in ('torch', 'pandas', "
        "'numpy', 'scipy')])"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    names = ("checks", "errors", "optional", "losses", "losses.registry")
    light = {f"untrue.{name}" for name in names}
    assert set(done.stdout.split()) <= light
