"""Files that are damaged, made to do harm or enormous: one sentence with the file's name."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from untrue import Hierarchy, Penalty
from untrue.errors import DataError, HierarchyError, PenaltyError, UntrueError
from untrue.input_files import LARGEST_TEXT, read_json, read_text, read_toml, reading, visible

DIGITS = "9" * 5000


@pytest.mark.parametrize("error", [ValueError, KeyError, RecursionError, RuntimeError, OSError])
def test_whatever_is_raised_becomes_a_sentence_with_the_name(error: type[Exception]) -> None:
    wanted = r"^a\.csv is not readable as CSV \('?odd'?\)\.$"
    with pytest.raises(PenaltyError, match=wanted), reading(Path("a.csv"), "CSV", PenaltyError):
        raise error("odd")


def test_our_own_errors_and_those_of_the_system_pass(tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match=r"^ours$"), reading(tmp_path, "CSV"):
        raise HierarchyError("ours")
    with pytest.raises(FileNotFoundError), reading(tmp_path, "CSV"):
        (tmp_path / "nowhere").read_text()
    with pytest.raises(DataError, match="takes more memory than"), reading(tmp_path, "CSV"):
        raise MemoryError
    with pytest.raises(KeyboardInterrupt), reading(tmp_path, "CSV"):
        raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["costs.json", "costs.toml", "costs.csv", "costs.npy"])
def test_a_pipe_is_not_waited_for(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(PenaltyError, match=f"{name} is not a plain file"):
        Penalty.load(tmp_path / name)


def test_an_enormous_text_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    with path.open("wb") as file:
        file.truncate(LARGEST_TEXT + 1)
    with pytest.raises(DataError, match=r"has 268,435,457 bytes; at most 268,435,456 are read"):
        read_text(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("costs.json", f'{{"classes": ["a", "b"], "default": {DIGITS}}}'),
        ("costs.json", f'{{"classes": ["a", "b"], "matrix": [[0, {DIGITS}], [1, 0]]}}'),
        ("costs.toml", f'classes = ["a", "b"]\ndefault = {DIGITS}'),
        ("costs.csv", f",a,b\na,0,{DIGITS}\nb,1,0"),
    ],
)
def test_costs_of_thousands_of_digits_are_refused(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(PenaltyError, match=name):
        Penalty.load(tmp_path / name)


def test_trees_with_numbers_of_thousands_of_digits_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tree.json").write_text(f'{{"a": {DIGITS}}}')
    with pytest.raises(HierarchyError, match=r"tree\.json is not readable as JSON"):
        Hierarchy.from_json(tmp_path / "tree.json")


BOUNDED = """
import resource, sys
from pathlib import Path
from untrue.errors import UntrueError
from untrue.input_files import read_toml
resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
try:
    read_toml(Path(sys.argv[1]))
except UntrueError as error:
    print(error)
"""


@pytest.mark.parametrize(
    "text",
    [
        "a" + ".a" * 50_000 + " = 1",
        "[" + "a." * 50_000 + "a]",
        "x = {" + '"a" . ' * 50_000 + "a = 1}",
    ],
)
def test_nested_keys_do_not_fill_the_memory(text: str, tmp_path: Path) -> None:
    (tmp_path / "deep.toml").write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", BOUNDED, str(tmp_path / "deep.toml")], capture_output=True, text=True
    )
    assert "deep.toml: a key has more than 32 parts with dots between them." in done.stdout


def test_dots_in_strings_and_comments_are_no_keys(tmp_path: Path) -> None:
    name = ".".join("a" * 100)
    text = f'# {name}\nx = "{name}"\ny = \'{name}\'\nz = """{name}"""\n[t.u]\nv = 1.5\n'
    (tmp_path / "plain.toml").write_text(text)
    found = read_toml(tmp_path / "plain.toml")
    assert found == {"x": name, "y": name, "z": name, "t": {"u": {"v": 1.5}}}


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, DIGITS, "\x00", ""])
def test_json_that_breaks_its_reader_is_one_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(UntrueError, match=r"x\.json is not readable as JSON"):
        read_json(tmp_path / "x.json")


def test_control_characters_and_turned_text_are_shown_escaped() -> None:
    assert visible("né\x1b[2J\n\u202etxt\x9b") == "né\\x1b[2J\\n\\u202etxt\\x9b"
    assert visible("naïve 🐈‍⬛ می‌خواهم") == "naïve 🐈‍⬛ می‌خواهم"


def test_a_full_disk_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    rows = "\n".join(f"{i % 7},{'ab'[i % 2]}" for i in range(60))
    (tmp_path / "data.csv").write_text(f"x,kind\n{rows}\n")

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    done = subprocess.run(
        [
            *(sys.executable, "-m", "untrue", "fit", "data.csv", "--target", "kind"),
            *("--loss", "cross-entropy", "--epochs", "1", "--out", "model"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=little_room,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: File too large")
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]
