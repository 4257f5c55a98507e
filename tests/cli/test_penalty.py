"""`untrue penalty`: files of costs shown, checked, converted, started and suggested."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.cli.untrue_process import run_untrue

from untrue import Penalty
from untrue.cli import exit_code

COSTS = """
classes = ["healthy", "benign", "tumour"]
default = 1.0
[[rule]]
true = "tumour"
predicted = "benign"
cost = 20
"""


@pytest.fixture
def costs(tmp_path: Path) -> Path:
    path = tmp_path / "costs.toml"
    path.write_text(COSTS)
    return path


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    path = tmp_path / "cm.csv"
    path.write_text("x,healthy,benign,tumour\nhealthy,90,8,2\nbenign,5,80,15\ntumour,1,9,90\n")
    return path


def cells(shown: str) -> list[list[str]]:
    """The words of each line, whatever lines are drawn between them."""
    return [
        line.translate(dict.fromkeys(map(ord, "│┃|"), " ")).split() for line in shown.splitlines()
    ]


def test_show_prints_the_matrix_and_writes_the_page(costs: Path, tmp_path: Path) -> None:
    done = run_untrue("penalty", "show", costs, "--html", tmp_path / "costs.html")
    assert (done.returncode, done.stderr) == (0, "")
    assert ["tumour", "1", "20"] in [words[:3] for words in cells(done.stdout)]
    assert done.stdout.splitlines()[-1] == str(tmp_path / "costs.html")
    page = (tmp_path / "costs.html").read_text()
    assert "Costs in costs.toml" in page
    assert "tumour" in page
    assert "src=" not in page.partition("<script>")[0]  # nothing is fetched


def test_a_page_never_takes_the_place_of_the_costs(
    costs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = costs.read_bytes()
    assert exit_code(["penalty", "show", str(costs), "--html", str(costs), "--overwrite"]) == 2
    assert "`--html` must end in .html" in capsys.readouterr().err
    assert costs.read_bytes() == before


def test_many_classes_are_shown_by_their_costliest_mistakes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Penalty.from_ordinal(60).save(tmp_path / "big.json")
    assert exit_code(["penalty", "show", str(tmp_path / "big.json")]) == 0
    shown = capsys.readouterr().out
    assert "The 20 costliest of 3,540 kinds of mistake" in shown
    assert "118 kinds cost the least, 1" in shown


def test_check_names_what_may_disappoint(costs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["penalty", "check", str(costs)]) == 0
    rows = cells(capsys.readouterr().out)
    assert ["pairs", "that", "cost", "differently", "each", "way", "1"] in rows
    assert ["tumour", "benign", "20", "1"] in rows
    assert ["healthy", "0.667"] in rows
    assert ["Nothing", "to", "worry", "about."] in rows


def test_check_warns_of_free_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Penalty.from_zone([("a", "b")], classes=["a", "b", "c"]).save(tmp_path / "zone.toml")
    assert exit_code(["penalty", "check", str(tmp_path / "zone.toml")]) == 0
    assert "Note: Predicting a, c never costs anything" in capsys.readouterr().out


def test_convert_says_that_a_file_of_numbers_has_no_names(costs: Path, tmp_path: Path) -> None:
    done = run_untrue("penalty", "convert", costs, tmp_path / "costs.npy")
    assert done.stdout == f"{tmp_path / 'costs.npy'}\n"
    assert done.stderr.startswith(f"warning: {tmp_path / 'costs.npy'} has no names of classes: ")
    done = run_untrue("penalty", "convert", tmp_path / "costs.npy", tmp_path / "again.npy")
    assert done.stderr == ""


def test_convert_keeps_every_number(costs: Path, tmp_path: Path) -> None:
    done = run_untrue("penalty", "convert", costs, tmp_path / "costs.csv")
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'costs.csv'}\n")
    there = Penalty.load(tmp_path / "costs.csv")
    np.testing.assert_array_equal(there.matrix(), Penalty.load(costs).matrix())


def test_an_npy_file_takes_its_class_names(tmp_path: Path) -> None:
    np.save(tmp_path / "costs.npy", np.array([[0.0, 2.0], [1.0, 0.0]]))
    words = ["penalty", "convert", str(tmp_path / "costs.npy"), str(tmp_path / "costs.toml")]
    assert exit_code([*words, "--classes", "yes, no"]) == 0
    assert Penalty.load(tmp_path / "costs.toml").cost("yes", "no") == 2.0


def test_new_writes_a_file_that_loads_as_it_is_and_with_its_rules_taken_in(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    done = run_untrue("penalty", "new", "--classes", 'cat,"""dog""",tumour', "--out", path)
    assert (done.returncode, done.stdout) == (0, f"{path}\n")
    penalty = Penalty.load(path)
    assert penalty.classes == ("cat", '"dog"', "tumour")
    assert penalty.cost("cat", "tumour") == 1.0
    text = path.read_text()
    start = text.index("# [[rule]]")
    path.write_text(text[:start] + text[start:].replace("# ", "").replace("#", ""))
    assert Penalty.load(path).cost("cat", '"dog"') == 20.0


def test_new_from_a_tree_explains_its_heights(tmp_path: Path) -> None:
    tree = tmp_path / "tree.csv"
    tree.write_text("parent,child\nanimal,fish\nanimal,cat\nfish,trout\nfish,shark\n")
    out = tmp_path / "t.toml"
    assert exit_code(["penalty", "new", "--hierarchy", str(tree), "--out", str(out)]) == 0
    assert "#   height 1: such as trout taken for shark" in out.read_text()
    penalty = Penalty.load(out)
    assert penalty.cost("trout", "shark") == 1.0
    assert penalty.cost("trout", "cat") == 2.0


@pytest.mark.parametrize("power", [None, "2"])
def test_new_for_classes_in_order(power: str | None, tmp_path: Path) -> None:
    out = tmp_path / "stars.toml"
    words = [
        "penalty",
        "new",
        "--ordinal",
        "--classes",
        'one,"two\n",three,four',
        "--out",
        str(out),
    ]
    assert exit_code([*words, *(["--power", power] if power else [])]) == 0
    names = ["one", "two\n", "three", "four"]
    wanted = Penalty.from_ordinal(names, float(power or 1))
    assert Penalty.load(out).classes == tuple(names)
    np.testing.assert_array_equal(Penalty.load(out).matrix(), wanted.matrix())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("groups.json", '{"fish": ["trout", "shark"], "pets": ["cat", "dog"]}'),
        ("tree.json", '{"animal": {"fish": ["trout", "shark"], "pets": ["cat"]}}'),
        ("tree.csv", "parent,child\nanimal,fish\nanimal,cat\nfish,trout\nfish,shark\n"),
    ],
)
def test_a_tree_for_costs_is_answered_with_the_command_that_makes_them(
    name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(text)
    assert exit_code(["penalty", "show", str(tmp_path / name)]) == 2
    assert "untrue penalty new --hierarchy FILE --out costs.toml" in capsys.readouterr().err
    out = tmp_path / "costs.toml"
    words = ["penalty", "new", "--hierarchy", str(tmp_path / name), "--out", str(out)]
    assert exit_code(words) == 0
    assert Penalty.load(out).cost("trout", "cat") > Penalty.load(out).cost("trout", "shark")


def test_new_takes_names_with_line_ends(tmp_path: Path) -> None:
    tree, out = tmp_path / "tree.json", tmp_path / "costs.toml"
    tree.write_text('{"fi\\nsh": ["tro\\nut", "sha\\rrk"], "pets": ["c\\u2028at", "dog"]}')
    words = ["penalty", "new", "--out", str(out), "--overwrite"]
    assert exit_code([*words, "--hierarchy", str(tree)]) == 0
    assert Penalty.load(out).classes == ("tro\nut", "sha\rrk", "c\u2028at", "dog")
    assert exit_code([*words, "--classes", '"a\nb","c\rd","e\x7f",f, "f "']) == 0
    assert Penalty.load(out).classes == ("a\nb", "c\rd", "e\x7f", "f", "f ")


def test_suggest_writes_a_matrix_led_by_the_rules(counts: Path, tmp_path: Path) -> None:
    out = tmp_path / "start.csv"
    done = run_untrue(
        "penalty",
        "suggest", "--confusion", counts, "--rule", "tumour->benign=20", "--out", out,
        "--rule", "healthy -> tumour = 2",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == str(out)
    penalty = Penalty.load(out)
    assert penalty.cost("tumour", "benign") == 20.0
    assert penalty.cost("healthy", "tumour") == 2.0
    # The seldomest confusion costs most, the commonest least.
    assert penalty.cost("tumour", "healthy") == 5.0
    assert penalty.cost("benign", "tumour") == 1.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "nowhere.toml"], "There is no file nowhere.toml."),
        (["show", "costs.txt"], "a file of costs ends in .csv, .json, .toml, .npy; got '.txt'"),
        (["new"], "Name the classes (--classes a,b,c) or give a file (--hierarchy)."),
        (
            ["new", "--ordinal"],
            "--ordinal goes with --classes, in their order, and with no hierarchy.",
        ),
        (["new", "--classes", "a"], "needs at least two classes; got 1"),
        (
            ["new", "--classes", "a,,b"],
            "separated by single commas, and quoted where they hold one (\"a, b\",c); got 'a,,b'.",
        ),
        (["new", "--classes", "a,b", "--out", "x.csv"], "must end in .toml"),
        (["new", "--hierarchy", "tree.txt"], "a hierarchy ends in .csv or .json"),
        (
            ["suggest", "--confusion", "cm.csv", "--rule", "tumor->benign=2"],
            "did you mean 'tumour'",
        ),
        (
            ["suggest", "--confusion", "cm.csv", "--rule", "a=2"],
            "A rule reads `TRUE->PREDICTED=",
        ),
        (
            [
                "suggest",
                "--confusion",
                "cm.csv",
                "--rule",
                "tumour->benign=2",
                "--rule",
                "tumour->benign=3",
            ],
            "`rules` (--rule) have two costs for 'tumour' -> 'benign'; keep one",
        ),
        (["new", "--classes", "a,b", "--power", "3"], "`power` (--power) belongs to classes in"),
        (["suggest", "--confusion", "cm.csv", "--by", "x"], "must be 'distance' or 'frequency'"),
        (["suggest", "--confusion", "cm.csv", "--greatest", "0"], "must be at least 1"),
        (["suggest"], "Missing option '--confusion'"),
    ],
)
def test_mistakes_are_one_sentence_and_nothing_is_written(
    words: list[str],
    message: str,
    counts: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "costs.txt").write_text("")
    (tmp_path / "tree.txt").write_text("")
    before = sorted(tmp_path.iterdir())
    assert exit_code(["penalty", *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert message in error
    assert sorted(tmp_path.iterdir()) == before


def test_no_torch_is_needed(costs: Path) -> None:
    script = (
        "import sys; from untrue.cli import exit_code\n"
        f"code = exit_code(['penalty', 'check', {str(costs)!r}])\n"
        "sys.exit(code or 'torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True).returncode == 0
