"""One writer per directory, and no lock outlives its process."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from untrue.storage import StorageError, locked, owner
from untrue.storage.lock import FILE

HOLD = """
import sys, time
from untrue.storage import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_process_is_refused_and_learns_who_holds_it(tmp_path: Path) -> None:
    assert owner(tmp_path) is None
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        held = owner(tmp_path)
        with (
            pytest.raises(
                StorageError, match=rf"in use by another `untrue` \(process {process.pid}\)"
            ),
            locked(tmp_path),
        ):
            pass
        process.kill()
    assert held == str(process.pid)
    assert owner(tmp_path) is None
    with locked(tmp_path):
        pass


def test_asking_for_the_owner_keeps_nobody_out(tmp_path: Path) -> None:
    with locked(tmp_path):
        pass
    with (tmp_path / FILE).open() as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        released = threading.Timer(0.1, fcntl.flock, (asking, fcntl.LOCK_UN))
        released.start()
        with locked(tmp_path):
            pass
        released.join()


def test_a_lock_ends_with_its_block(tmp_path: Path) -> None:
    for _ in range(2):
        with locked(tmp_path / "new"):
            pass


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StorageError, match=r"Cannot write to .*file/runs: "),
        locked(tmp_path / "file" / "runs"),
    ):
        pass


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    place = tmp_path / "out"
    place.write_text("")
    with pytest.raises(StorageError, match="out is a file; --out must be a folder"), locked(place):
        pass
