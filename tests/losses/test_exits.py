"""One loss for several exits: which part of the network learns from which, and how much."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from untrue import (
    AlphaSchedule,
    BilinearLoss,
    ExitSchedule,
    MultiExitLoss,
    Penalty,
    SoftLabelLoss,
    functional,
)
from untrue.errors import ArgumentError

K = 7


def test_one_exit_is_the_plain_loss(penalties, draw) -> None:
    plain = BilinearLoss(penalties["tree"], alpha=0.7)
    z, y = draw(5, K, dtype=torch.float32)
    for weight in (None, (3.0,)):
        assert torch.equal(MultiExitLoss([plain], weights=weight)([z], y), plain(z, y))


def test_it_is_the_weighted_mean_of_the_exits_losses(penalties, tree, draw) -> None:
    exits = [BilinearLoss(penalties["dense"]), nn.CrossEntropyLoss(), SoftLabelLoss(tree)]
    (z, y), weights = draw(5, K), (1.0, 0.0, 3.0)
    logits = [z, z.flip(1), z / 3]
    found = [loss(each, y) for loss, each in zip(exits, logits, strict=True)]
    module = MultiExitLoss(exits, weights=weights)
    expected = (found[0] + 3 * found[2]) / 4
    torch.testing.assert_close(module(logits, y), expected)
    torch.testing.assert_close(
        functional.multi_exit_loss(logits, y, exits, weights=weights), expected
    )
    torch.testing.assert_close(functional.multi_exit_loss(logits, y, exits), sum(found) / 3)
    assert module.weights == (0.25, 0.0, 0.75)


def test_gradients_reach_what_lies_before_an_exit_and_nothing_else(penalties) -> None:
    torch.manual_seed(0)
    stages = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
    heads = nn.ModuleList(nn.Linear(4, K) for _ in range(3))
    x, y = torch.randn(6, 4), torch.randint(0, K, (6,))
    loss = MultiExitLoss([BilinearLoss(penalties["rules"])] * 3, weights=(0.0, 1.0, 0.0))
    logits = []
    for stage, head in zip(stages, heads, strict=True):
        x = stage(x).relu()
        logits.append(head(x))
    loss(logits, y).backward()

    def learns(module: nn.Module) -> bool:
        return any(p.grad is not None and bool(p.grad.any()) for p in module.parameters())

    assert [learns(stage) for stage in stages] == [True, True, False]
    assert [learns(head) for head in heads] == [False, True, False]


def test_weights_are_set_saved_and_moved(draw) -> None:
    loss = MultiExitLoss([nn.CrossEntropyLoss() for _ in range(4)])
    schedule = ExitSchedule(loss, steps=2, start=(1, 1, 0, 0), final=(0, 0, 1, 3))
    assert loss.weights == (0.5, 0.5, 0.0, 0.0)
    schedule.step()
    assert loss.weights == (0.25, 0.25, 0.125, 0.375)
    twin = MultiExitLoss([nn.CrossEntropyLoss() for _ in range(4)])
    twin.load_state_dict(loss.state_dict())
    assert twin.weights == loss.weights
    again = ExitSchedule(twin, steps=2, start=(1, 1, 0, 0), final=(0, 0, 1, 3))
    again.load_state_dict(schedule.state_dict())
    for _ in range(3):
        again.step()
    assert twin.weights == (0.0, 0.0, 0.25, 0.75)
    z, y = draw(5, K)
    expected = (nn.functional.cross_entropy(z, y) + 3 * nn.functional.cross_entropy(2 * z, y)) / 4
    torch.testing.assert_close(twin([z, z, z, 2 * z], y), expected)


def test_a_schedule_begins_at_the_first_exit_and_ends_where_the_weights_were() -> None:
    loss = MultiExitLoss([nn.CrossEntropyLoss() for _ in range(3)], weights=(1, 1, 2))
    schedule = ExitSchedule(loss, steps=10, shape="cosine")
    assert loss.weights == (1.0, 0.0, 0.0)
    assert schedule.weights_at(1)[0] > 0.98  # slowly at first
    assert schedule.weights_at(10) == schedule.weights_at(99) == (0.25, 0.25, 0.5)


@pytest.mark.parametrize("first", ["schedule", "state"])
def test_the_state_keeps_how_far_a_schedule_of_alpha_has_come(penalties, first) -> None:
    def made() -> MultiExitLoss:
        return MultiExitLoss([nn.CrossEntropyLoss(), BilinearLoss(penalties["dense"])])

    trained, resumed = made(), made()
    schedule = AlphaSchedule(trained, final=0.8, steps=4)
    schedule.step()
    schedule.step()
    if first == "state":
        resumed.load_state_dict(trained.state_dict())
    other = AlphaSchedule(resumed, final=0.8, steps=4)
    if first == "schedule":
        resumed.load_state_dict(trained.state_dict())
    assert other.done == 2
    other.step()
    assert resumed.alpha == pytest.approx(0.6)


def test_alpha_is_that_of_the_losses_that_have_one(penalties) -> None:
    exits = [BilinearLoss(penalties["dense"], alpha=0.4) for _ in range(2)]
    loss = MultiExitLoss([*exits, nn.CrossEntropyLoss()])
    assert loss.alpha == 0.4
    AlphaSchedule(loss, final=0.8, steps=2).step()
    assert [each.alpha for each in exits] == [0.4, 0.4]
    exits[0].alpha = 0.1
    assert not hasattr(loss, "alpha")
    assert not hasattr(MultiExitLoss([nn.CrossEntropyLoss()]), "alpha")


@pytest.mark.parametrize(
    ("losses", "weights", "message"),
    [
        ([], None, "`losses` must hold one loss per exit; got none"),
        ([nn.functional.cross_entropy], None, "must hold modules.*; got function"),
        ([nn.CrossEntropyLoss()], (1.0, 2.0), r"must be 1 numbers, one per exit; got shape \(2,\)"),
        ([nn.CrossEntropyLoss()], (-1.0,), r"none negative, and not all 0; got \[-1.0\]"),
        ([nn.CrossEntropyLoss()], (0.0,), r"not all 0; got \[0.0\]"),
        (
            [nn.CrossEntropyLoss(), nn.CrossEntropyLoss(reduction="none")],
            None,
            "must share a reduction; got mean and none",
        ),
    ],
)
def test_what_cannot_be_is_refused(losses, weights, message) -> None:
    with pytest.raises(ArgumentError, match=message):
        MultiExitLoss(losses, weights=weights)


def test_logits_of_another_number_of_exits_are_refused(draw) -> None:
    z, y = draw(2, K)
    loss = MultiExitLoss([nn.CrossEntropyLoss(), nn.CrossEntropyLoss()])
    with pytest.raises(ArgumentError, match="for each of the 2 exits; got one tensor"):
        loss(z, y)
    with pytest.raises(ArgumentError, match="for each of the 2 exits; got 3 of them"):
        loss([z, z, z], y)
    with pytest.raises(ArgumentError, match="`loss` must be a MultiExitLoss; got CrossEntropyLoss"):
        ExitSchedule(nn.CrossEntropyLoss(), steps=3)


def test_soft_labels_over_the_coarse_class_at_early_exits() -> None:
    """The paper's other way: a small beta leaves the fine classes open, a large one does not."""
    groups = {"fish": ["trout", "ray"], "bird": ["owl", "wren"]}
    tree_penalty = Penalty.from_groups(groups)
    betas = (2.0, 30.0)
    loss = MultiExitLoss([SoftLabelLoss(tree_penalty, beta=beta) for beta in betas])
    logits = [torch.zeros(1, 4, requires_grad=True) for _ in betas]
    loss(logits, torch.tensor([0])).backward()
    pulled = [-z.grad[0] for z in logits]
    # At the first exit the brother is pulled up too, beside the classes of the other group.
    assert pulled[0][1] > pulled[0][2]
    assert pulled[1][1] == pytest.approx(pulled[1][2].item(), abs=1e-4)
