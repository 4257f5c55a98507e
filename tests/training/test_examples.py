"""Batches: every example once an epoch, images as floats, mirrored and moved when asked."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from untrue.errors import ArgumentError
from untrue.training.examples import Examples, batches, network_input, shifted

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(256, size=(103, 2, 5, 7), dtype=np.uint8)
LABELS = RNG.integers(10, size=103)


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_every_image_is_seen_once_an_epoch_and_the_last_batch_may_be_small() -> None:
    parts = list(batches(Examples.place(PIXELS, LABELS), 50, seeded()))
    assert [len(target) for _, target, _ in parts] == [50, 50, 3]
    x = torch.cat([x for x, _, _ in parts])
    assert x.shape == (103, 2, 5, 7)
    assert x.max() <= 1
    assert x.is_contiguous(memory_format=torch.channels_last)
    total = torch.from_numpy(PIXELS).double().sum() / 255
    assert x.double().sum().item() == pytest.approx(total.item(), rel=1e-5)
    labels = torch.cat([target for _, target, _ in parts])
    assert sorted(labels.tolist()) == sorted(LABELS.tolist())


def test_the_network_gets_each_image_as_it_was_given() -> None:
    held = Examples.place(PIXELS, LABELS)
    torch.testing.assert_close(
        network_input(held.inputs), torch.from_numpy(PIXELS).float() / 255, rtol=1e-6, atol=0
    )
    floats = PIXELS.astype(np.float32)
    again = network_input(Examples.place(floats, LABELS).inputs)
    assert torch.equal(again, torch.from_numpy(floats))


def test_inputs_labels_and_weights_stay_together() -> None:
    rows = np.arange(40.0)[:, None]
    held = Examples.place(rows, np.arange(40), weights=np.arange(40.0))
    for x, target, weights in batches(held, 7, seeded()):
        assert weights is not None
        assert torch.equal(x[:, 0], weights)
        assert torch.equal(target.double(), weights)


def test_one_batch_of_all_keeps_the_order() -> None:
    held = Examples.place(np.arange(9.0)[:, None], np.arange(9))
    (x, target, weights), *none = batches(held, 9, seeded())
    assert (x[:, 0].tolist(), weights, none) == (list(range(9)), None, [])
    assert target.tolist() == list(range(9))


@pytest.mark.parametrize("shift", [0, 2, 4])
def test_augmentation_mirrors_and_moves_within_its_limits(shift: int) -> None:
    pixels = torch.zeros(500, 32, 32, 3, dtype=torch.uint8)
    pixels[:, 10, 12] = 200
    moved = shifted(pixels, seeded(), shift)
    assert moved.shape == pixels.shape
    places = moved[..., 0].nonzero()
    assert len(places) == 500
    near = range(-shift, shift + 1)
    assert set(places[:, 1].tolist()) == {10 + by for by in near}
    # 12 and its mirror image 19.
    assert set(places[:, 2].tolist()) == {at + by for at in (12, 19) for by in near}


def test_what_is_moved_out_of_the_image_is_gone() -> None:
    corner = torch.zeros(50, 32, 32, 3, dtype=torch.uint8)
    corner[:, 0, 0] = 1
    assert 0 < shifted(corner, seeded(), 4).any(dim=3).sum() < 50


def test_a_table_is_not_mirrored() -> None:
    rows = Examples.place(np.zeros((5, 3)), np.zeros(5, dtype=np.int64))
    with pytest.raises(ArgumentError, match="`augment` is for images"):
        list(batches(rows, 2, seeded(), augment=True))
