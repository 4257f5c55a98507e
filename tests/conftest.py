"""For every test: no deadlines (a busy machine is no bug) and one thread (tensors are small)."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import settings

HERE = Path(__file__).parent
# Tests that train models, start programs or open a browser: `make quick` leaves them out.
SLOW = (
    *("cli", "fuzz", "lab", "sklearn_adapter", "training", "networks", "tools/tuning"),
    *("tools/fitting", "report", "storage", "functional/native", "functional/test_exact.py"),
    *("test_boosting.py", "test_build.py", "test_guide.py", "test_imports.py"),
    *("test_exits.py", "test_exit_budgets.py"),
    *(
        "test_library_page.py",
        "test_readme.py",
        "test_tune_guide.py",
        "test_explore_guide.py",
        "losses/test_losses.py",
    ),
    *("budgets/test_control.py", "budgets/test_guarantees_page.py", "budgets/test_page.py"),
    *("decision/test_page.py", "losses/test_cards.py"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    slow = [HERE / name for name in SLOW]
    for item in items:
        if any(item.path.is_relative_to(place) for place in slow):
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Mounts a file system of its own: `mounted("64k", read_only=True)` is where it is.

    A test is skipped where this process may not mount one.
    """
    places: list[Path] = []

    def mount(size: str, *, read_only: bool = False) -> Path:
        place = tmp_path / "disk"
        place.mkdir()
        options = f"{'ro,' if read_only else ''}size={size}"
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        if subprocess.run(command, capture_output=True).returncode != 0:
            pytest.skip("mounting a disk needs root")
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", "-l", str(place)], check=True)


settings.register_profile("untrue", deadline=None)
settings.load_profile("untrue")

torch.set_num_threads(1)

# Started in the background, the suite would ignore Ctrl-C, and so would every process it starts:
# those that test an interrupt would run for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
