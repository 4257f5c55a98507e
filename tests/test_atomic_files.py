"""Files and folders are there whole or not at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from untrue import atomic_files
from untrue.atomic_files import (
    check_can_make,
    check_place,
    folder_beside,
    place_bytes,
    place_text,
    placed_file,
    put_in_place,
    restore,
)
from untrue.errors import ArgumentError, MissingFileError


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def write_half(path: Path, name: str = "") -> None:
    with (folder_beside if name else placed_file)(path) as temporary:
        (temporary / name if name else temporary).write_text("ne")
        raise RuntimeError("half way")


def test_a_file_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "costs.toml"
    path.write_text("old")
    assert place_text(path, "nëw") == path
    assert path.read_text(encoding="utf-8") == "nëw"
    assert place_bytes(path, b"\x00").read_bytes() == b"\x00"
    assert names(tmp_path) == ["costs.toml"]


def test_a_failing_write_leaves_the_old_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "costs.toml"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="half way"):
        write_half(path)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["costs.toml"]


def test_files_get_the_rights_that_open_gives(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")
    placed = place_text(tmp_path / "placed", "")
    assert placed.stat().st_mode == plain.stat().st_mode


def test_an_error_names_the_file_and_not_the_temporary_one(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(IsADirectoryError, match=r"taken'$") as raised:
        place_text(tmp_path / "taken", "")
    assert raised.value.filename == str(tmp_path / "taken")
    assert names(tmp_path) == ["taken"]


@pytest.mark.parametrize("in_one_step", [True, False])
def test_a_folder_is_replaced_whole(
    in_one_step: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not in_one_step:
        monkeypatch.setattr(atomic_files, "_exchange", lambda one, other: False)
    path = tmp_path / "model"
    for content in ("first", "second"):
        with folder_beside(path) as temporary:
            (temporary / content).write_text(content)
            put_in_place(temporary, path)
    assert names(path) == ["second"]
    with pytest.raises(RuntimeError, match="half way"):
        write_half(path, "third")
    assert names(path) == ["second"]
    assert names(tmp_path) == ["model"]


def test_a_folder_that_is_being_filled_is_no_remnant(tmp_path: Path) -> None:
    path = tmp_path / "model"
    left = tmp_path / ".model.untrue-remnant"
    left.mkdir()
    (left / "half").write_text("")
    with folder_beside(path) as temporary:
        (temporary / "new").write_text("")
        restore(path)
        assert not left.exists()
        put_in_place(temporary, path)
    assert names(path) == ["new"]


def test_a_link_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    with (
        folder_beside(tmp_path / "link") as temporary,
        pytest.raises(ArgumentError, match="link is a link; name the folder that it leads to"),
    ):
        put_in_place(temporary, tmp_path / "link")
    assert sorted(names(tmp_path)) == ["link", "there"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"no folder .*nowhere to write costs\.toml into"):
        check_place(tmp_path / "nowhere" / "costs.toml")
    with pytest.raises(MissingFileError, match=r"no folder .*nowhere to write costs\.toml into"):
        place_text(tmp_path / "nowhere" / "costs.toml", "")


def test_what_is_read_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "costs.csv").write_text("")
    (tmp_path / "link.csv").symlink_to(tmp_path / "costs.csv")
    check_place(tmp_path / "new.csv", tmp_path / "costs.csv", None)
    for name in ("costs.csv", "link.csv"):
        with pytest.raises(ArgumentError, match=r"is read by this command; name another file"):
            check_place(tmp_path / name, None, tmp_path / "costs.csv")


def test_what_is_there_is_replaced_only_if_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "there.csv").write_text("")
    (tmp_path / "broken.csv").symlink_to(tmp_path / "nowhere")
    for name in ("there.csv", "broken.csv"):
        with pytest.raises(ArgumentError, match=r"csv is there already; add --overwrite to replac"):
            check_place(tmp_path / name)
        check_place(tmp_path / name, overwrite=True)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ArgumentError, match=r"folder\.csv is a folder; name a file to write"):
        check_place(tmp_path / "folder.csv", overwrite=True)


@pytest.mark.skipif(sys.platform == "win32", reason="rights are other ones there")
def test_a_folder_that_cannot_be_written_to_is_named_before_the_work(tmp_path: Path) -> None:
    code = (
        "import os; from pathlib import Path; from untrue.atomic_files import check_place\n"
        "if os.getuid() == 0: os.setuid(65534)\n"  # root may write anywhere
        "check_place(Path('new.csv'))"
    )
    tmp_path.chmod(0o555)
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path)
    tmp_path.chmod(0o755)
    assert "new.csv cannot be written: you may not write into ., its folder." in done.stderr


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    check_can_make(tmp_path / "new" / "deep")
    with pytest.raises(ArgumentError, match=r"deep cannot be made: .*file is no folder to write"):
        check_can_make(tmp_path / "file" / "deep")
    with pytest.raises(ArgumentError, match="file is a file; name a folder to write into"):
        check_can_make(tmp_path / "file")
    check_can_make(tmp_path)


def test_a_file_without_a_name_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"'\.' is a folder; name a file to write"):
        place_text(Path(), "text")
