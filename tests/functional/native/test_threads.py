"""Rows shared among threads: the same bits whoever computes them, after a fork too."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from untrue import BilinearLoss, LogBilinearLoss, functional
from untrue.functional import native

LOSSES = (BilinearLoss, LogBilinearLoss)
N, K = 2000, 130  # enough for several threads, however these are had


@pytest.fixture
def threads():
    """Sets how many threads torch may use; back to one afterwards, as everywhere in the tests."""
    yield torch.set_num_threads
    torch.set_num_threads(1)


@pytest.fixture(params=["torch's team", "plain threads"])
def team(request, kernels):
    """Both ways of having threads."""
    address = native._team()
    if request.param == "plain threads":
        kernels.join_team(0)
    elif not address:
        pytest.skip("this torch has no team of GNU OpenMP")
    yield
    kernels.join_team(address)


def batch(seed: int = 0):
    torch.manual_seed(seed)
    return torch.randn(N, K) * 3, torch.randint(0, K, (N,))


def value_and_gradient(loss, z, y):
    z = z.clone().requires_grad_()
    value = loss(z, y)
    value.backward()
    return value.detach(), z.grad


@pytest.mark.parametrize("make", LOSSES)
@pytest.mark.parametrize("form", ["dense", "tree, shuffled"])
def test_the_number_of_threads_changes_no_bit(make, form, penalties, threads, team) -> None:
    loss, (z, y) = make(penalties(K)[form]), batch()
    threads(1)
    wanted = value_and_gradient(loss, z, y)
    for n in (2, 3, 5, 8):
        threads(n)
        for _ in range(3):
            for found, first in zip(value_and_gradient(loss, z, y), wanted, strict=True):
                assert torch.equal(found, first)


@pytest.mark.parametrize("make", LOSSES)
def test_several_python_threads_do_not_meet(make, penalties, threads, team) -> None:
    loss = make(penalties(K)["dense"])
    batches = [batch(seed) for seed in range(6)]
    wanted = [value_and_gradient(loss, *each) for each in batches]
    threads(2)
    with ThreadPoolExecutor(6) as pool:
        for _ in range(5):
            found = list(pool.map(lambda each: value_and_gradient(loss, *each), batches))
            for ours, theirs in zip(found, wanted, strict=True):
                assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_others_run_while_the_kernel_does(penalties) -> None:
    loss = functional.log_bilinear_loss
    costs = penalties(K)["dense"]
    z, y = torch.randn(150_000, K), torch.randint(0, K, (150_000,))
    turns, stopped = [0], threading.Event()

    def count() -> None:
        while not stopped.is_set():
            turns[0] += 1

    other = threading.Thread(target=count)
    other.start()
    before = turns[0]
    loss(z, y, costs)  # some 30 milliseconds, in which nobody else could run without
    during = turns[0] - before
    stopped.set()
    other.join()
    assert during > 1000


@pytest.mark.parametrize("pool", ["torch's team", "plain threads"])
@pytest.mark.parametrize("make", [loss.__name__ for loss in LOSSES])
def test_a_forked_process_computes_the_same(make, pool) -> None:
    script = f"""
import os, signal, sys, torch, untrue
from untrue.functional import native
if {pool!r} == "plain threads":
    native.KERNELS.join_team(0)
torch.set_num_threads(2)
loss = untrue.{make}(untrue.Penalty.from_ordinal({K}))
torch.manual_seed(0)
z, y = torch.randn({N}, {K}, requires_grad=True), torch.randint(0, {K}, ({N},))
def step():
    z.grad = None
    value = loss(z, y)
    value.backward()
    return value.item(), z.grad.clone()
wanted, gradient = step()
child = os.fork()
if child == 0:
    signal.alarm(60)
    # Here nothing but the kernel: torch's own team has not survived either.
    found = loss(z.detach(), y)
    os._exit(0 if found.item() == wanted else 1)
_, status = os.waitpid(child, 0)
again, _ = step()
assert again == wanted
sys.exit(status != 0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_signals_reach_the_main_thread(kernels) -> None:
    """Ctrl-C during a long call is handled right after it, by Python, and kills nothing."""
    script = f"""
import os, signal, threading, torch, untrue
from untrue.functional import native
native.KERNELS.join_team(0)
torch.set_num_threads(4)
caught = []
signal.signal(signal.SIGUSR1, lambda *_: caught.append(threading.current_thread().name))
loss = untrue.LogBilinearLoss(untrue.Penalty.from_ordinal({K}))
z, y = torch.randn(50_000, {K}), torch.randint(0, {K}, (50_000,))
wanted = loss(z, y)
stop = threading.Event()
def poke():
    while not stop.wait(0.001):
        os.kill(os.getpid(), signal.SIGUSR1)
other = threading.Thread(target=poke)
other.start()
assert all(torch.equal(loss(z, y), wanted) for _ in range(10))
stop.set()
other.join()
assert caught and set(caught) == {{"MainThread"}}
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
