"""OLL (Castagnos et al., COLING 2022) is the log-bilinear loss with ordinal costs and alpha 1."""

from __future__ import annotations

import pytest
import torch

from untrue import LogBilinearLoss, Penalty


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_oll_is_log_bilinear_with_ordinal_costs_and_alpha_1(k: int, power: float) -> None:
    generator = torch.Generator().manual_seed(k)
    logits = torch.randn(20, k, generator=generator, dtype=torch.float64)
    target = torch.randint(0, k, (20,), generator=generator)
    loss = LogBilinearLoss(Penalty.from_ordinal(k, power), alpha=1.0, reduction="none")
    # -sum_i log(1 - p_i) d(y, i)^a, as the paper writes it.
    p = logits.softmax(-1)
    distance = (torch.arange(k)[None] - target[:, None]).abs().double()
    expected = -((1 - p).log() * distance**power).sum(-1)
    torch.testing.assert_close(loss(logits, target), expected)
