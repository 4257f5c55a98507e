"""Tables are written whatever their file is called."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from untrue.tools.writing import write_table


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_name_that_is_not_utf8_is_written(tmp_path: Path, ending: str) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9." + ending.encode())
    assert write_table(pa.table({"a": [1]}), path) == path
    assert path.stat().st_size > 0
    assert len(list(tmp_path.iterdir())) == 1
