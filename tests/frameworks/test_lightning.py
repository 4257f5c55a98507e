"""Lightning: alpha goes on where its schedule was after a stop; the callback does the rest."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

import untrue
from untrue import metrics
from untrue.errors import ArgumentError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own imports
    import pytorch_lightning as lightning

    from untrue.lightning import CostCallback

pytestmark = pytest.mark.filterwarnings("ignore")

COSTS = untrue.Penalty.from_ordinal(3)
PROGRAM = Path(__file__).parent / "two_process_lightning.py"


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


def trainer(folder: Path, epochs: int, *callbacks: Any) -> lightning.Trainer:
    return lightning.Trainer(
        max_epochs=epochs,
        callbacks=list(callbacks),
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


class Judged(lightning.LightningModule):
    """A module that leaves alpha, the confusion matrix and the budgets to the callback."""

    def __init__(self, loss: torch.nn.Module | None = None) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.network = torch.nn.Linear(4, 3)
        self.loss = loss or untrue.BudgetedLoss(COSTS, ["expected cost <= 0.01"], alpha=0.5)
        self.seen = list[tuple[float, ...]]()

    def training_step(self, batch: Any, _: int) -> torch.Tensor:
        self.seen.append((self.loss.alpha, *self.loss.multipliers.values()))
        return self.loss(self.network(batch[0]), batch[1])

    def validation_step(self, batch: Any, _: int) -> Any:
        return {"logits": self.network(batch[0]), "target": batch[1]}

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.01)


def loader() -> Any:
    generator = torch.Generator().manual_seed(0)
    data = torch.utils.data.TensorDataset(
        torch.randn(12, 4, generator=generator),
        torch.randint(0, 3, (12,), generator=generator),
    )
    return torch.utils.data.DataLoader(data, batch_size=5)


def test_the_callback_counts_updates_and_logs(tmp_path: Path) -> None:
    callback = CostCallback(final_alpha=0.8, steps=2)
    run = trainer(tmp_path, 2, callback)
    model = Judged()
    run.fit(model, loader(), loader())
    inputs, target = loader().dataset.tensors
    cm = metrics.confusion_matrix(target, model.network(inputs).argmax(1), 3)
    assert callback.confusion.tolist() == cm.tolist()
    assert [seen[0] for seen in model.seen] == pytest.approx([0.0] * 3 + [0.4] * 3)
    assert int(model.loss.costs.updates) == 2  # none by the batches of the sanity check
    logged = {name: value.item() for name, value in run.callback_metrics.items()}
    assert logged == pytest.approx(
        {
            "alpha": 0.4,
            "val_total_error": metrics.total_error(cm),
            "val_expected_cost": metrics.expected_cost(cm, COSTS),
            "val_zone_errors": metrics.zone_errors(cm, COSTS),
            "multiplier expected cost <= 0.01": model.loss.multipliers["expected cost <= 0.01"],
        }
    )
    run.validate(model, loader(), verbose=False)
    assert int(model.loss.costs.updates) == 2  # measured, not trained


def test_a_run_stopped_and_resumed_sees_what_one_run_sees(tmp_path: Path) -> None:
    whole = Judged()
    trainer(tmp_path, 4, CostCallback(final_alpha=0.8, steps=4)).fit(whole, loader(), loader())
    first, again = Judged(), Judged()
    stopped = trainer(tmp_path, 2, CostCallback(final_alpha=0.8, steps=4))
    stopped.fit(first, loader(), loader())
    stopped.save_checkpoint(tmp_path / "stopped.ckpt")
    resumed = trainer(tmp_path, 4, CostCallback(final_alpha=0.8, steps=4))
    resumed.fit(again, loader(), loader(), ckpt_path=tmp_path / "stopped.ckpt")
    assert first.seen + again.seen == whole.seen
    assert len(set(whole.seen)) == 4  # alpha and the multiplier did move
    assert whole.seen[-1][1] > 1.0
    torch.testing.assert_close(again.network.weight, whole.network.weight, rtol=0, atol=0)


def test_alpha_may_move_with_each_optimizer_step(tmp_path: Path) -> None:
    model = Judged()
    callback = CostCallback(final_alpha=0.6, steps=6, every="step")
    trainer(tmp_path, 2, callback).fit(model, loader(), loader())
    assert [seen[0] for seen in model.seen] == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])


def test_two_processes_sum_their_confusion_matrices(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    first, second = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1))
    assert first == second
    assert first["confusion"] == [[4, 0, 4], [0, 0, 0], [0, 0, 0]]
    assert first["cost"] == 1.0
    assert first["multipliers"][0] > 1.0
    assert first["alpha"] == pytest.approx(0.4)


def test_what_the_callback_cannot_use_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="`final_alpha` and `steps` belong together"):
        CostCallback(final_alpha=0.5)
    with pytest.raises(ArgumentError, match="its 'loss' is CrossEntropyLoss"):
        trainer(tmp_path, 1, CostCallback()).fit(Judged(torch.nn.CrossEntropyLoss()), loader())
    silent = Judged()
    silent.validation_step = lambda *_: None  # type: ignore[method-assign]
    with pytest.raises(ArgumentError, match=r"`validation_step` must return .* got NoneType"):
        trainer(tmp_path, 1, CostCallback()).fit(silent, loader(), loader())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"final_alpha": 1.5, "steps": 2}, r"`final_alpha` must lie in \[0, 1\]; got 1.5"),
        ({"final_alpha": 0.5, "steps": 0}, "`steps` must be at least 1; got 0"),
        ({"start": -1.0}, r"`start` must lie in \[0, 1\]; got -1"),
        ({"shape": "square"}, "`shape` must be 'linear' or 'cosine'; got 'square'"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused_before_training(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        CostCallback(**options)


def test_the_package_may_have_its_newer_name() -> None:
    code = (
        "import sys, pytorch_lightning as p; sys.modules['pytorch_lightning'] = None\n"
        "sys.modules['lightning'] = sys.modules['lightning.pytorch'] = p\n"
        "import untrue; assert issubclass(untrue.lightning.CostCallback, p.Callback)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
