"""Where does it pay to count the costs once (`untrue.posterior`), and why?

scikit-learn's digits: few training examples, 20 kinds of mistake that cost 10 and others that cost
1 (another random 20 for each seed), small networks trained by cross-entropy, by plain label
smoothing and by our two losses, each as long as its own loss falls on 400 held-out examples. All
are calibrated on these, and decided by least cost on the others. Of a model trained by costs both
are shown: its own probabilities, where costs count twice, and the posterior behind them. The log
loss of the test examples says how good each is as an estimate of the class probabilities.

Run: `python -m benchmarks.posterior` (about ten minutes of one core). It writes
results/posterior.csv and the table of docs/decisions.md.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.datasets import load_digits

import untrue
from benchmarks import record
from benchmarks.pages import DOCS, Page, Row, Source, in_markdown
from untrue.losses.registry import MIXED
from untrue.metrics.intervals import Interval, mean_interval, paired_interval
from untrue.tools.fitting.link import Link

SEEDS, SIZES, HELD_OUT = 30, (200, 400, 800), 400
ZONE, COSTLY = 20, 10.0
NETWORKS = {"linear": (), "32 hidden units": (32,)}
STRENGTHS = {
    "cross-entropy": (0.0,),
    "label smoothing": (0.1, 0.3),
    "bilinear": (0.3, 0.6, 0.9),
    "log-bilinear": (0.3, 0.6, 0.9),
}
STEPS, EVERY, RATE = 600, 10, 0.02
FREE = ("cross-entropy", 0.0, "own")
# A way to answer: loss, strength, and whose probabilities are decided on.
Way = tuple[str, float, str]


@dataclass(frozen=True, slots=True)
class Scores:
    """Of one seed's test examples: mean cost, share of errors, log loss, share that have no
    posterior."""

    cost: float
    error: float
    log_loss: float
    clipped: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--tables-only", action="store_true", help="write the page again")
    options = parser.parse_args()
    if not options.tables_only:
        torch.set_num_threads(1)
        rows = [
            row
            for network in NETWORKS
            for size in SIZES
            for row in measured(network, size, options.seeds)
        ]
        print(record.write("posterior", rows))
    print(PAGE.update())


def measured(network: str, size: int, seeds: int) -> Iterator[dict[str, object]]:
    """A row for each way to answer, beside the free rule of the same seeds."""
    found: dict[Way, dict[int, Scores]] = {}
    for seed in range(seeds):
        for way, scores in answered(network, size, seed):
            found.setdefault(way, {})[seed] = scores
    for way, by_seed in found.items():
        print(network, size, *way, f"{np.mean([s.cost for s in by_seed.values()]):.4f}", flush=True)
        row: dict[str, object] = {"network": network, "examples": size, "seeds": seeds}
        row |= dict(zip(("loss", "strength", "probabilities"), way, strict=True))
        for name in ("cost", "error", "log_loss"):
            values = {seed: getattr(scores, name) for seed, scores in by_seed.items()}
            base = {seed: getattr(scores, name) for seed, scores in found[FREE].items()}
            row |= columns(name, mean_interval(values.values()))
            row |= columns(f"{name}_difference", paired_interval(values, base))
        row["clipped"] = round(float(np.mean([s.clipped for s in by_seed.values()])), 4)
        yield row


def columns(name: str, found: Interval | None) -> dict[str, object]:
    """A mean and half the width of its interval."""
    assert found is not None
    return {name: round(found.value, 5), f"{name}_half": round(found.high - found.value, 5)}


def answered(network: str, size: int, seed: int) -> Iterator[tuple[Way, Scores]]:
    """Every way to answer, on one draw of the data and of the zone."""
    images, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(digits))
    parts = np.split(order, [size, size + HELD_OUT])
    inputs = [torch.tensor(images[part] / 16, dtype=torch.float32) for part in parts]
    target = [torch.tensor(digits[part]) for part in parts]
    zone = untrue.Penalty.random_zone(10, ZONE, seed=seed)
    costs = untrue.Penalty.from_matrix(1 - np.eye(10) + (COSTLY - 1) * zone.matrix())
    trained_by = costs.normalized("max")
    for loss, strengths in STRENGTHS.items():
        for strength in strengths:
            function = loss_of(loss, strength, trained_by)
            _, held_out, test = train(NETWORKS[network], function, inputs, target, seed)
            truth = digits[parts[2]]
            own = untrue.calibrate(held_out, target[1].numpy())(test)
            yield (loss, strength, "own"), scored(own, truth, costs)
            if loss in MIXED:
                link = Link(loss, strength, trained_by)
                logits, clipped = link.read(test)
                once = untrue.calibrate(link.logits(held_out), target[1].numpy())(logits)
                yield (loss, strength, "posterior"), scored(once, truth, costs, clipped)


def loss_of(
    loss: str, strength: float, costs: untrue.Penalty
) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    match loss:
        case "bilinear":
            return untrue.BilinearLoss(costs, alpha=strength)
        case "log-bilinear":
            return untrue.LogBilinearLoss(costs, alpha=strength)
        case _:
            return torch.nn.CrossEntropyLoss(label_smoothing=strength)


def train(
    hidden: Sequence[int],
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    inputs: Sequence[torch.Tensor],
    target: Sequence[torch.Tensor],
    seed: int,
) -> list[np.ndarray]:
    """Logits of each part, by the weights whose loss was least on the held-out part."""
    torch.manual_seed(seed)
    widths = [inputs[0].shape[1], *hidden]
    layers: list[torch.nn.Module] = []
    for before, after in itertools.pairwise(widths):
        layers += [torch.nn.Linear(before, after), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(widths[-1], 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    best, kept = np.inf, [np.empty(0)] * len(inputs)
    for step in range(STEPS + 1):
        if step % EVERY == 0:
            with torch.no_grad():
                value = float(loss(model(inputs[1]), target[1]))
                if value < best:
                    best, kept = value, [model(each).double().numpy() for each in inputs]
        optimizer.zero_grad()
        loss(model(inputs[0]), target[0]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return kept


def scored(
    probs: np.ndarray, truth: np.ndarray, costs: untrue.Penalty, clipped: float = 0.0
) -> Scores:
    answers = untrue.decide(probs, costs)
    right = probs[np.arange(len(truth)), truth]
    return Scores(
        float(np.mean(costs.cost(truth, answers))),
        float(np.mean(answers != truth)),
        float(-np.log(np.maximum(right, 1e-12)).mean()),
        clipped,
    )


def helps(rows: Sequence[Row]) -> str:
    """Costs and errors beside the free rule's; then how good the probabilities are."""
    cases = list(dict.fromkeys((row["network"], row["examples"]) for row in rows))
    ways: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        ways.setdefault((row["loss"], row["strength"], row["probabilities"]), []).append(row)
    heads = ["trained by, decided on", *(f"{network}, {size}" for network, size in cases)]
    costs, errors = [heads], [heads]
    ranges = [[heads[0], "log loss, difference", "without a posterior (%)"]]
    for way, of_way in ways.items():
        free = way == tuple(map(str, FREE))
        costs.append([called(way), *(shown(row, "cost", ".4f", free=free) for row in of_way)])
        errors.append(
            [called(way), *(shown(row, "error", ".2f", 100, free=free) for row in of_way)]
        )
        if not free:
            moved = [float(row["log_loss_difference"]) for row in of_way]
            none = [100 * float(row["clipped"]) for row in of_way]
            both = f"{min(none):.1f} to {max(none):.1f}" if way[2] == "posterior" else ""
            ranges.append([called(way), f"{min(moved):+.3f} to {max(moved):+.3f}", both])
    texts = [
        f"Mean cost of an answer; below the first row the difference to it:\n\n"
        f"{in_markdown(costs)}",
        f"Errors (%), in the same way:\n\n{in_markdown(errors)}",
        "Log loss of the test examples beside the free rule's, and examples without a posterior, "
        f"over the six columns:\n\n{in_markdown(ranges)}",
        f"{rows[0]['seeds']} seeds, 95 % intervals (Student t, paired); in bold what is beyond its "
        "interval.\n",
    ]
    return "\n".join(texts)


def called(way: Sequence[str]) -> str:
    loss, strength, decided = way
    if loss == FREE[0]:
        return "cross-entropy (the free rule)"
    name = f"{loss} {float(strength):g}"
    return f"{name}, posterior" if decided == "posterior" else name


def shown(row: Row, measure: str, form: str, scale: float = 1, *, free: bool) -> str:
    """The value of the free rule; of the others the difference, bold where it is beyond chance."""
    name = measure if free else f"{measure}_difference"
    value, half = scale * float(row[name]), scale * float(row[f"{name}_half"])
    sign = "" if free else "+"
    text = f"{value:{sign}{form}} ± {half:{form}}"
    return f"**{text}**" if not free and abs(value) > half else text


PAGE = Page(DOCS / "decisions.md", {"posterior": Source(record.RESULTS / "posterior.csv", helps)})


if __name__ == "__main__":
    main()
