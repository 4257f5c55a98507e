"""What a new model may replace: an old one that is whole, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from untrue.errors import ArgumentError, UntrueWarning
from untrue.tools.fitting.model_folder import check_target, load_model, save_model
from untrue.tools.fitting.result import FitResult


def test_a_model_is_replaced_only_when_asked(copy: Path, fitted: FitResult, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="holds a model already; add --overwrite"):
        check_target(copy)
    check_target(copy, overwrite=True)
    save_model(copy, fitted.model)
    assert not (copy / "x").exists()
    load_model(copy)
    other = tmp_path / "other"
    other.mkdir()
    check_target(other)
    (other / "precious").write_text("")
    with pytest.raises(ArgumentError, match=r"holds a file that is no part of a model.*precious"):
        check_target(other, overwrite=True)
    with pytest.raises(ArgumentError, match="is a file; name a folder"):
        check_target(other / "precious")
    with pytest.raises(ArgumentError, match=r"cannot be made: .*precious is no folder"):
        check_target(other / "precious" / "deep" / "model")
    check_target(other / "deep" / "model")


def test_what_fails_half_way_leaves_the_old_model(copy: Path, fitted: FitResult) -> None:
    def fail(_: Path) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        save_model(copy, fitted.model, extra=fail)
    assert (copy / "x").exists()
    assert [path.name for path in copy.parent.iterdir()] == ["model"]
    load_model(copy)


def snapshot(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_a_folder_with_a_model_json_of_another_program_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "work" / ".git").mkdir(parents=True)
    for name in ("model.json", "thesis.tex", ".git/HEAD"):
        (tmp_path / "work" / name).write_text("{}")
    before = snapshot(tmp_path)
    with pytest.raises(ArgumentError, match=r"no part of a model as it was written: .*/\.git;"):
        check_target(tmp_path / "work", overwrite=True)
    assert snapshot(tmp_path) == before


def add_file(folder: Path) -> None:
    (folder / "thesis.tex").write_text("years of work")


def add_folder(folder: Path) -> None:
    (folder / "figures").mkdir()


def add_link(folder: Path) -> None:
    (folder / "x").unlink()
    (folder / "x").symlink_to("metrics.json")


def edit(folder: Path) -> None:
    (folder / "metrics.json").write_text("{}")


@pytest.mark.parametrize(
    ("change", "name"),
    [(add_file, "thesis.tex"), (add_folder, "figures"), (add_link, "x"), (edit, "metrics.json")],
)
def test_one_foreign_or_edited_file_keeps_a_model_from_being_replaced(
    change: Callable[[Path], None], name: str, copy: Path, fitted: FitResult
) -> None:
    check_target(copy, overwrite=True)
    change(copy)
    before = snapshot(copy)
    with pytest.raises(ArgumentError, match=rf"no part of a model as it was written: .*/{name};"):
        check_target(copy, overwrite=True)
    # It came while the model was trained: neither the file nor the training is lost.
    with pytest.warns(UntrueWarning, match=rf"{name} is no part of .* model is in .*model-2"):
        assert save_model(copy, fitted.model) == copy.with_name("model-2")
    assert snapshot(copy) == before
    load_model(copy.with_name("model-2"))


def test_neither_the_working_directory_nor_the_data_nor_a_link_is_replaced(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ArgumentError, match=r"holds .*metrics\.json, which is read; name another"):
        check_target(copy, overwrite=True, inputs=[copy / "metrics.json"])
    with pytest.raises(ArgumentError, match="model is itself what is read; name another folder"):
        check_target(copy, overwrite=True, inputs=[copy])
    link = tmp_path / "link"
    link.symlink_to(copy)
    with pytest.raises(ArgumentError, match=r"link is a link to .*model; name the folder itself"):
        check_target(link, overwrite=True)
    monkeypatch.chdir(copy)
    for place in (Path(), copy, tmp_path):
        with pytest.raises(ArgumentError, match="is the working directory or holds it"):
            check_target(place, overwrite=True)


KILLED = """
import os, sys
from pathlib import Path
from untrue import atomic_files as placing
from untrue.tools.fitting.model_folder import load_model, save_model

folder, moment = Path(sys.argv[1]), sys.argv[2]
model = load_model(folder)
if moment != "after the exchange":
    placing._exchange = lambda one, other: False
rename, sync = Path.rename, placing._force


def first_rename(self, target):
    rename(self, target)
    os._exit(9)


def last_sync(path):
    sync(path)
    if path == folder.parent:
        os._exit(9)


if moment == "between the renames":
    Path.rename = first_rename
else:
    placing._force = last_sync
save_model(folder, model)
"""


@pytest.mark.parametrize(
    "moment", ["after the exchange", "between the renames", "after the renames"]
)
def test_a_kill_at_any_moment_leaves_a_whole_model_and_the_next_command_cleans_up(
    moment: str, copy: Path
) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(copy), moment], timeout=120)
    assert done.returncode == 9
    assert len(list(copy.parent.iterdir())) > 1
    load_model(copy)
    assert (copy / "x").exists() == (moment == "between the renames")  # the old one had it
    check_target(copy, overwrite=True)
    assert [path.name for path in copy.parent.iterdir()] == ["model"]
    load_model(copy)
