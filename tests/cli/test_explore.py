"""`untrue explore` from a file to a page, as a person runs it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from untrue.cli import exit_code

TABLE = "id;sick;p_no;p_yes\nx;no;.7;.3\ny;yes;.2;.8\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("my file.csv").write_text(TABLE)
    Path("p.csv").write_text("truth,prob_a,prob_b\na,.7,.3\nb,.2,.8\n")
    return tmp_path


def test_the_page_repeats_how_the_file_was_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("tree.csv").write_text("parent,child\nall,no\nall,yes\n")
    how = ["--truth", "sick", "--delimiter", ";", "--hierarchy", "tree.csv"]
    assert exit_code(["explore", "my file.csv", *how, "--out", "page.html"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("The page holds all 2 examples of my file.csv, 2 classes.")
    assert lines[-1] == "page.html"
    page = Path("page.html").read_text()
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert found is not None
    content = json.loads(found[1])
    assert shlex.split(content["given"]) == ["my file.csv", *how]
    assert content["names"] == ["x", "y"]
    assert "default-src 'none'" in page
    # The audit that the page suggests reads the file so.
    Path("costs.csv").write_text(",no,yes\nno,0,1\nyes,3,0\n")
    assert exit_code(["audit", *shlex.split(content["given"]), "--penalty", "costs.csv"]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.csv", "--out", "x.html"], "There is no file none.csv."),
        (["p.csv", "--out", "x.txt"], "`--out` must be a file that ends in .html; got x.txt."),
        (["p.csv", "--out", "no/x.html"], "There is no folder no to write x.html into; make it."),
        (
            ["p.csv", "--out", "x.html", "--examples", "20001"],
            "`--examples` must be at most 20,000",
        ),
        (["p.csv", "--out", "x.html", "--probs", "q_"], "--probs finds none"),
        (["my file.csv", "--out", "x.html"], "Say so with --delimiter ';'."),
        (["p.csv"], "Missing option '--out'"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(
    words: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(folder.iterdir())
    assert exit_code(["explore", *words]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert len(shown.splitlines()) == 1
    assert sorted(folder.iterdir()) == before


def test_the_page_has_the_names_of_files_and_not_where_they_are(folder: Path) -> None:
    Path("tree.csv").write_text("parent,child\nall,a\nall,b\n")
    given = [str(folder / "p.csv"), "--hierarchy", str(folder / "tree.csv")]
    assert exit_code(["explore", *given, "--out", "page.html"]) == 0
    page = Path("page.html").read_text()
    assert str(folder) not in page
    assert '"p.csv --hierarchy tree.csv"' in page


def test_it_needs_no_torch(folder: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None; from untrue.cli import exit_code; "
        "sys.exit(exit_code(['explore', 'p.csv', '--out', 'x.html']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
