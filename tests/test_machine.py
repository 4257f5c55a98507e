"""Cores and threads are found on every system, whatever the environment holds."""

from __future__ import annotations

import os

import pytest

from untrue import machine


@pytest.mark.parametrize(
    ("asked", "expected"), [("3", 3), ("4,2", 4), (" 5 , 2", 5), ("", 7), ("0", 7), ("many", 7)]
)
def test_threads_are_the_first_number_that_openmp_gets_else_the_cores(
    asked: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "cores", lambda: 7)
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert machine.threads() == expected
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert machine.threads() == 7


def test_cores_are_counted_where_there_is_no_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 1 <= machine.cores() <= (os.cpu_count() or 1)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert machine.threads() == machine.cores() == os.cpu_count()
