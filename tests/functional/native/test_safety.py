"""Whatever comes in, nothing outside of its arrays is touched: `make asan` watches this."""

from __future__ import annotations

import math

import pytest
import torch

from untrue import BilinearLoss, LogBilinearLoss, functional
from untrue.errors import ArgumentError
from untrue.functional.native import loss as native_loss

LOSSES = (functional.bilinear_loss, functional.log_bilinear_loss)
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=["bilinear", "log-bilinear"])
K = 9
FORMS = ("dense", "rules", "tree", "tree, shuffled")


@every_loss
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("wrong", [K, -1, 10**12, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("learning", [True, False])
def test_a_target_that_is_no_class(loss, form, wrong, learning, penalties) -> None:
    z, y = torch.randn(5, K, requires_grad=learning), torch.arange(5)
    y[3] = wrong
    with pytest.raises(IndexError, match=rf"^Target {wrong} is out of bounds\.$"):
        loss(z, y, penalties(K)[form])
    assert loss(z, y, penalties(K)[form], ignore_index=wrong).isfinite()  # but it may be ignored


@every_loss
def test_all_ignored_never_looks_at_logits(loss, penalties) -> None:
    z = torch.full((4, K), math.nan, requires_grad=True)
    loss(z, torch.full((4,), -100), penalties(K)["dense"], reduction="sum").backward()
    assert torch.equal(z.grad, torch.zeros(4, K))


@every_loss
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("at", range(K))
def test_nan_stays_in_its_row(loss, form, dtype, at, penalties, instruction_set) -> None:
    z = torch.randn(3, K, dtype=dtype)
    z[1, at] = math.nan
    z.requires_grad_()
    value = loss(z, torch.tensor([1, 2, 3]), penalties(K)[form], reduction="none")
    assert value.isnan().tolist() == [False, True, False]
    value.sum().backward()
    assert z.grad[1].isnan().all()
    assert z.grad[[0, 2]].isfinite().all()


@every_loss
@pytest.mark.parametrize("row", [[math.inf, 0.0, 1.0], [-math.inf] * 3, [math.nan] * 3])
def test_what_has_no_softmax_has_no_loss(loss, row) -> None:
    z = torch.tensor([row], requires_grad=True)
    value = loss(z, torch.tensor([1]), torch.ones(3, 3).fill_diagonal_(0.0))
    value.backward()
    assert value.isnan()
    assert z.grad.isnan().all()


@pytest.mark.parametrize(
    ("form", "buffer", "value"),
    [
        ("rules", "starts", 10**9),
        ("rules", "starts", -1),
        ("rules", "predicted", K),
        ("rules", "predicted", -1),
        ("tree", "starts", 10**9),
        ("tree", "path", 10**9),
        ("tree", "last", K + 1),
        ("tree", "first", -1),
        ("tree, shuffled", "parents", 10**6),
        ("tree, shuffled", "parents", -1),
        ("tree, shuffled", "ends", 10**9),
    ],
)
def test_a_state_that_is_no_penalty_is_refused(form, buffer, value, penalties) -> None:
    loss = LogBilinearLoss(penalties(K)[form])
    loss.costs.get_buffer(buffer)[-1] = value
    with pytest.raises(IndexError, match=f"^The penalty's tensors do not fit together: .*{buffer}"):
        loss(torch.randn(4, K), torch.arange(4))


def test_buffers_of_another_size_or_kind_are_left_to_torch(penalties) -> None:
    z, y = torch.randn(4, K), torch.arange(4)
    loss = BilinearLoss(penalties(K)["dense"])
    wanted = loss(z, y)
    loss.costs.matrix = loss.costs.matrix.T.contiguous().T  # the same numbers, laid out otherwise
    torch.testing.assert_close(loss(z, y), wanted)
    loss.costs.matrix = torch.zeros(K, 3)
    with pytest.raises(RuntimeError, match="size"):
        loss(z, y)


@every_loss
def test_weights_of_another_size_are_refused(loss, penalties) -> None:
    with pytest.raises(ArgumentError, match=r"`weight` must have shape \(9,\); got \(3,\)"):
        loss(torch.randn(4, K), torch.arange(4), penalties(K)["dense"], weight=torch.ones(3))


@every_loss
def test_the_last_row_of_the_last_page(loss, penalties, instruction_set) -> None:
    """Arrays that end where memory ends: a vector that read on would fault.

    AddressSanitizer does not see loads and stores by a mask, which end a row; the processor does.
    """
    mmap = pytest.importorskip("mmap")
    page = mmap.PAGESIZE
    for k in (2, 3, 7, 9, 17, 33):
        space = mmap.mmap(-1, 3 * page)
        size = 2 * k * 4
        ours = torch.frombuffer(memoryview(space)[2 * page - size : 2 * page], dtype=torch.float32)
        guard(space, 2 * page, page)
        ours.copy_(torch.randn(2 * k))
        z = ours.view(2, k).requires_grad_()
        loss(z, torch.tensor([0, k - 1]), penalties(k)["dense"]).backward()
        wanted = z.detach().clone().requires_grad_()
        loss(wanted, torch.tensor([0, k - 1]), penalties(k)["dense"]).backward()
        assert torch.equal(z.grad, wanted.grad)


def guard(space, start: int, size: int) -> None:
    """Nobody may touch this part of a mapping."""
    import ctypes

    address = ctypes.addressof(ctypes.c_char.from_buffer(space, start))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), size, 0) == 0


def test_the_kernel_is_really_used(penalties, monkeypatch) -> None:
    z, y = torch.randn(4, K), torch.arange(4)
    monkeypatch.setattr("untrue.functional.by_formula", None)  # to be called in its place
    assert native_loss.KERNELS is not None
    for loss in LOSSES:
        for form in FORMS:
            assert loss(z, y, penalties(K)[form]).isfinite()
