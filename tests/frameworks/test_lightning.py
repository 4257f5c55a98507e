"""A Lightning run that is stopped and resumed: alpha goes on where its schedule was."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

import untrue

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own imports
    import pytorch_lightning as lightning

pytestmark = pytest.mark.filterwarnings("ignore")

COSTS = untrue.Penalty.from_ordinal(3)


class Model(lightning.LightningModule):
    """The loss is part of the module; its schedule is made early, or when training starts."""

    def __init__(self, made: str) -> None:
        super().__init__()
        self.network = torch.nn.Linear(4, 3)
        self.loss = untrue.BilinearLoss(COSTS)
        self.made, self.seen = made, list[float]()
        if made == "early":
            self.make_schedule()

    def make_schedule(self) -> None:
        self.schedule = untrue.AlphaSchedule(self.loss, final=0.8, steps=8)

    def on_train_start(self) -> None:
        if self.made == "late":
            self.make_schedule()

    def training_step(self, batch: Any, _: int) -> torch.Tensor:
        self.seen.append(self.loss.alpha)
        return self.loss(self.network(batch[0]), batch[1])

    def on_train_epoch_end(self) -> None:
        self.schedule.step()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.01)


def trainer(folder: Path, epochs: int) -> lightning.Trainer:
    return lightning.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        default_root_dir=folder,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
    )


@pytest.mark.parametrize("made", ["early", "late"])
def test_alpha_goes_on_where_it_was(made: str, tmp_path: Path) -> None:
    data = torch.utils.data.TensorDataset(torch.randn(8, 4), torch.randint(0, 3, (8,)))
    loader = torch.utils.data.DataLoader(data, batch_size=8)
    first = trainer(tmp_path, 3)
    model = Model(made)
    first.fit(model, loader)
    first.save_checkpoint(tmp_path / "stopped.ckpt")
    assert model.loss.alpha == pytest.approx(0.3)
    again = Model(made)
    trainer(tmp_path, 6).fit(again, loader, ckpt_path=tmp_path / "stopped.ckpt")
    assert model.seen + again.seen == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
