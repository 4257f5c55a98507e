"""A real Trainer with tiny random models of text, tokens and images; nothing is downloaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import untrue
from untrue import metrics
from untrue.errors import ArgumentError
from untrue.transformers import compute_loss_func, compute_metrics

pytestmark = pytest.mark.filterwarnings("ignore")

GROUPS = {"low": ["a", "b"], "high": ["c"]}
TREE = untrue.Hierarchy.from_groups(GROUPS)
COSTS = untrue.Penalty.from_rules(["a", "b", "c"], {("c", "a"): 9.0})
LOSS = untrue.BilinearLoss(COSTS, alpha=0.5)
SMALL = {
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
    "num_labels": 3,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}


def text(labels: tuple[int, ...] = ()) -> list[dict[str, Any]]:
    generator = torch.Generator().manual_seed(0)
    return [
        {
            "input_ids": torch.randint(0, 20, (6,), generator=generator),
            "labels": torch.randint(0, 3, labels, generator=generator),
        }
        for _ in range(12)
    ]


def images() -> list[dict[str, Any]]:
    generator = torch.Generator().manual_seed(0)
    return [
        {
            "pixel_values": torch.randn(1, 8, 8, generator=generator),
            "labels": torch.randint(0, 3, (), generator=generator),
        }
        for _ in range(12)
    ]


def model(kind: str) -> Any:
    torch.manual_seed(0)
    if kind == "images":
        config = transformers.ViTConfig(image_size=8, patch_size=4, num_channels=1, **SMALL)
        return transformers.ViTForImageClassification(config)
    config = transformers.BertConfig(vocab_size=20, max_position_embeddings=8, **SMALL)
    if kind == "tokens":
        return transformers.BertForTokenClassification(config)
    return transformers.BertForSequenceClassification(config)


def data(kind: str) -> list[dict[str, Any]]:
    if kind == "images":
        return images()
    rows = text((6,) if kind == "tokens" else ())
    if kind == "tokens":
        for place, row in enumerate(rows):
            row["labels"][place % 6 :] = -100  # of different length; the first has none at all
    return rows


def trainer(kind: str, folder: Path, *, batch: int = 4, accumulate: int = 1) -> Any:
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=2,
        per_device_train_batch_size=batch,
        gradient_accumulation_steps=accumulate,
        learning_rate=0.01,
        optim="sgd",
        max_grad_norm=0.0,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
    )
    return transformers.Trainer(
        model=model(kind),
        args=arguments,
        train_dataset=data(kind),
        eval_dataset=data(kind),
        compute_loss_func=compute_loss_func(LOSS),
        compute_metrics=compute_metrics(COSTS, hierarchy=TREE, groups=GROUPS),
    )


@pytest.mark.parametrize("kind", ["text", "tokens", "images"])
def test_a_trainer_trains_and_measures(kind: str, tmp_path: Path) -> None:
    run = trainer(kind, tmp_path)
    run.train()
    found = run.evaluate()
    rows = data(kind)
    target = torch.stack([row.pop("labels") for row in rows])
    inputs = {name: torch.stack([row[name] for row in rows]) for name in rows[0]}
    with torch.no_grad():
        logits = run.model.eval()(**inputs).logits
    cm = metrics.confusion_matrix(target, logits.argmax(-1), 3, ignore_index=-100)
    wanted = metrics.summary(cm, penalty=COSTS)
    assert found["eval_total_error"] == pytest.approx(metrics.total_error(cm))
    assert found["eval_expected_cost"] == pytest.approx(wanted.expected_cost)
    assert found["eval_zone_errors"] == metrics.zone_errors(cm, COSTS)
    assert found["eval_mistake_severity"] == pytest.approx(metrics.mistake_severity(cm, TREE))
    assert found["eval_coarse_error"] == pytest.approx(
        metrics.coarse_error(cm, GROUPS, classes=COSTS.classes)
    )
    if kind != "tokens":  # of tokens the Trainer means over batches of different size
        whole = LOSS(logits, target)
        assert found["eval_loss"] == pytest.approx(whole.item(), rel=1e-4)


def test_accumulated_batches_take_the_step_of_one_batch(tmp_path: Path) -> None:
    parts = trainer("tokens", tmp_path, batch=1, accumulate=12)
    whole = trainer("tokens", tmp_path, batch=12)
    parts.train()
    whole.train()
    before = dict(model("tokens").named_parameters())
    moved = dict(whole.model.named_parameters())
    assert any(not torch.equal(before[name], moved[name]) for name in moved)
    for name, value in parts.model.named_parameters():
        torch.testing.assert_close(value, moved[name], rtol=1e-4, atol=1e-6)


def test_pixels_have_their_classes_in_dimension_1() -> None:
    logits, labels = torch.randn(2, 3, 4, 4), torch.randint(0, 3, (2, 4, 4))
    found = compute_loss_func(LOSS)({"logits": logits}, labels)
    torch.testing.assert_close(found, LOSS(logits, labels))
    given = transformers.EvalPrediction((logits.numpy(), np.zeros(1)), labels.numpy())
    cm = metrics.confusion_matrix(labels, logits.argmax(1), 3)
    assert compute_metrics(COSTS)(given)["expected_cost"] == metrics.expected_cost(cm, COSTS)


def test_as_many_classes_as_pixels_or_tokens_stay_where_they_are() -> None:
    predict = compute_metrics(COSTS)
    for shape, dim in (((2, 3, 3, 3), 1), ((2, 3, 3), 2)):
        logits = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        labels = logits.argmax(dim)
        wanted = LOSS(logits.movedim(dim, 1), labels)
        assert torch.equal(compute_loss_func(LOSS)({"logits": logits}, labels), wanted)
        seen = transformers.EvalPrediction(logits.numpy(), labels.numpy())
        assert predict(seen)["total_error"] == 0


def test_labels_that_the_loss_alone_ignores_do_not_shrink_it() -> None:
    """The Trainer counts what is not -100; maps of pixels often have 255 where nobody knows."""
    logits, labels = torch.randn(2, 3, 4, 4), torch.randint(0, 3, (2, 4, 4))
    labels[:, :2] = 255
    loss = untrue.BilinearLoss(COSTS, alpha=0.5, ignore_index=255)
    found = compute_loss_func(loss)({"logits": logits}, labels, num_items_in_batch=labels.numel())
    torch.testing.assert_close(found, loss(logits, labels))


def test_a_step_without_labels_is_0() -> None:
    logits, labels = torch.randn(4, 3, requires_grad=True), torch.full((4,), -100)
    for count in (0, torch.tensor(0)):
        found = compute_loss_func(LOSS)({"logits": logits}, labels, num_items_in_batch=count)
        found.backward()
        assert found.item() == 0
    assert logits.grad is not None
    assert not logits.grad.any()


def test_one_logit_answers_by_its_sign() -> None:
    costs = untrue.Penalty.from_rules(["no", "yes"], {("yes", "no"): 9.0})
    logits, labels = np.array([[2.0], [-1.0], [0.5], [-3.0]]), np.array([1, 0, 0, 1])
    found = compute_metrics(costs)(transformers.EvalPrediction(logits, labels))
    assert found["total_error"] == 0.5
    assert found["expected_cost"] == pytest.approx((1 + 9) / 4)


def test_classes_may_take_the_place_of_logits() -> None:
    labels, answers = np.array([[0, 1, -100], [2, 2, 1]]), np.array([[0, 2, 1], [2, 0, 1]])
    found = compute_metrics(COSTS)(transformers.EvalPrediction(answers, labels))
    assert found["total_error"] == pytest.approx(2 / 5)
    assert found["expected_cost"] == pytest.approx((1 + 9) / 5)


def test_what_does_not_fit_is_refused() -> None:
    few = transformers.EvalPrediction(np.zeros((4, 2)), np.zeros(4, dtype=np.int64))
    with pytest.raises(ArgumentError, match="is for 3 classes, but the model gives 2 logits"):
        compute_metrics(COSTS)(few)
    with pytest.raises(ArgumentError, match="reduction='mean'"):
        compute_loss_func(untrue.BilinearLoss(COSTS, reduction="sum"))
    with pytest.raises(ArgumentError, match="no `labels`"):
        compute_loss_func(LOSS)({"logits": torch.randn(2, 3)}, None)
    with pytest.raises(ArgumentError, match=r"shape \(2, 3\) do not fit labels of shape \(4,\)"):
        compute_loss_func(LOSS)({"logits": torch.randn(2, 3)}, torch.zeros(4, dtype=torch.int64))
