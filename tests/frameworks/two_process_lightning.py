"""A program: two processes train by budgets, and write what each of them ended with."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytorch_lightning
import torch

import untrue
from untrue.lightning import CostCallback


class Model(pytorch_lightning.LightningModule):
    def __init__(self, folder: str) -> None:
        super().__init__()
        self.folder = Path(folder)
        self.network = torch.nn.Linear(4, 3)
        self.loss = untrue.BudgetedLoss(untrue.Penalty.from_ordinal(3), ["0->2 <= 1%"], alpha=0.5)

    def training_step(self, batch: Any, _: int) -> torch.Tensor:
        return self.loss(self.network(batch[0]), batch[1])

    def validation_step(self, batch: Any, _: int) -> dict[str, torch.Tensor]:
        # Each process predicts its own class, whatever the network says.
        predicted = torch.full_like(batch[1], 2 * self.global_rank)
        return {"predicted": predicted, "target": batch[1]}

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.01)

    def on_fit_end(self) -> None:
        callback = next(c for c in self.trainer.callbacks if isinstance(c, CostCallback))
        found = {
            "confusion": callback.confusion.tolist(),
            "multipliers": list(self.loss.multipliers.values()),
            "alpha": self.loss.alpha,
            "cost": self.trainer.callback_metrics["val_expected_cost"].item(),
        }
        (self.folder / f"{self.global_rank}.json").write_text(json.dumps(found))


def main(folder: str) -> None:
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(8, 4), torch.zeros(8, dtype=torch.int64))
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    pytorch_lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        devices=2,
        strategy="ddp_spawn",
        default_root_dir=folder,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        callbacks=[CostCallback(final_alpha=0.8, steps=2)],
    ).fit(Model(folder), loader, loader)


if __name__ == "__main__":
    main(sys.argv[1])
