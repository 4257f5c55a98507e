"""Devices, memory and random numbers: as asked for, and as they were after."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest
import torch

from untrue.errors import ArgumentError
from untrue.training.device import pick_device, reproducible


def test_devices() -> None:
    assert pick_device("cpu").type == "cpu"
    assert pick_device().type == ("cuda" if torch.cuda.is_available() else "cpu")
    with pytest.raises(ArgumentError, match="`device` 'gpu9' cannot be used here: "):
        pick_device("gpu9")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_cuda_where_there_is_none_is_named() -> None:
    with pytest.raises(ArgumentError, match="`device` 'cuda' cannot be used here: "):
        pick_device("cuda")


def test_the_callers_random_numbers_and_settings_come_back_also_after_an_error() -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    drawn = []

    def fail() -> None:
        with reproducible(0, torch.device("cpu")):
            drawn.append(torch.rand(3))
            assert torch.are_deterministic_algorithms_enabled()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert torch.equal(torch.rand(3), expected)
    assert not torch.are_deterministic_algorithms_enabled()
    with reproducible(0, torch.device("cpu")):
        assert torch.equal(torch.rand(3), drawn[0])


def test_flushing_of_denormal_numbers_comes_back_as_it_was() -> None:
    def flushed() -> bool:
        return bool(torch.tensor(1e-39) * 0.5 == 0)

    for before in (True, False):
        if not torch.set_flush_denormal(before):
            pytest.skip("this processor cannot flush denormal numbers")
        try:
            with reproducible(0, torch.device("cpu")):
                assert flushed()
            assert flushed() is before
        finally:
            torch.set_flush_denormal(False)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="about glibc's allocator")
def test_memory_freed_by_a_step_is_kept_for_the_next() -> None:
    script = """
import resource, torch
from untrue.networks import build
from untrue.training.device import keep_memory
keep_memory()
network = build("mnist")
x = torch.rand(50, 28, 28, 1).permute(0, 3, 1, 2)
def pages():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for step in range(12):
    if step == 6:
        before = pages()
    network.zero_grad()
    network(x).sum().backward()
print((pages() - before) / 6)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    # Without it, mostly two thousand pages a step.
    assert float(run.stdout) < 300
