"""Is what stopping early saves in multiplications also saved in seconds?

The compact network answers random images of 32 x 32 pixels by least expected cost: with one exit;
with three, all images to the last; and with three where given shares stop at the first two. Its
weights are the first ones: work does not depend on them, and thresholds are set so that the shares
are as stated. The candidates take turns in one process, on one thread; a time is the median of the
ratios within a turn, so that a busy machine slows all alike.
Run: `python -m benchmarks.exit_seconds`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

from benchmarks import exits, record
from untrue import Penalty, decide
from untrue.exits import ExitRule
from untrue.networks import build
from untrue.networks.exits import ExitNetwork, exit_work
from untrue.training.evaluation import outputs_of, staged_answers

# Shares of all images that stop at the first and at the second exit.
SHARES = ((0.0, 0.0), (0.1, 0.2), (0.25, 0.25), (0.5, 0.25), (1.0, 0.0))
ONE, LAST = "one exit", "all to the last of three"
SHAPE = (3, 32, 32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=4096)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--try-out", action="store_true", help="record nothing")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = measured(options.images, options.turns)
    for row in rows:
        print(row)
    if not options.try_out:
        print(record.write("exit_seconds", rows))
        print(exits.PAGE.update())


def measured(n: int, turns: int) -> list[dict[str, object]]:
    """A row for each candidate."""
    torch.manual_seed(0)
    images = torch.randint(0, 256, (n, *SHAPE[1:], SHAPE[0]), dtype=torch.uint8)
    costs = Penalty.from_groups(
        {f"group {g}": [f"class {5 * g + i}" for i in range(5)] for g in range(20)}
    )
    alone, network = build("compact").eval(), build("compact", exits=3).eval()
    assert isinstance(network, ExitNetwork)
    work = exit_work(network, SHAPE)
    candidates: dict[str, Callable[[], object]] = {
        ONE: lambda: decide(outputs_of(alone, images)[0].softmax(1), costs)
    }
    facts: dict[str, tuple[float, float, float]] = {ONE: (0.0, 0.0, 0.0)}
    for shares in SHARES:
        rule = ExitRule(costs, thresholds(network, images, costs, shares), 3)
        found = staged_answers(network, images, rule, work=work)
        stopped = 100 * found.by_exit / n
        first, second = f"{stopped[0]:.0f}", f"{stopped[1]:.0f}"
        name = f"three exits, {first} % and {second} % stop" if any(shares) else LAST
        assert found.saved is not None
        facts[name] = (float(stopped[0]), float(stopped[1]), 100 * found.saved)
        candidates[name] = lambda rule=rule: staged_answers(network, images, rule)  # type: ignore[misc]
    taken: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(turns):
        for name, answer in candidates.items():
            started = time.perf_counter()
            answer()
            taken[name].append(time.perf_counter() - started)
    return [
        {
            "what": name,
            "stop_at_1_pct": f"{facts[name][0]:.0f}",
            "stop_at_2_pct": f"{facts[name][1]:.0f}",
            "saved_pct": f"{facts[name][2]:.1f}",
            "seconds": f"{min(taken[name]):.3f}",
            "times_last": _ratio(taken[name], taken[LAST]),
            "times_one": _ratio(taken[name], taken[ONE]),
            "images": n,
            "turns": turns,
        }
        for name in candidates
    ]


def thresholds(
    network: ExitNetwork, images: torch.Tensor, costs: Penalty, shares: tuple[float, float]
) -> list[float]:
    """Those at which these shares of all images stop at the first and at the second exit."""
    rule = ExitRule(costs, 0.0, 3)
    expected = [
        rule.answer(logits.softmax(1), number)[1]
        for number, logits in enumerate(outputs_of(network, images)[:2], start=1)
    ]
    first = _below(expected[0], shares[0])
    left = expected[0] >= first
    share = shares[1] / (1 - shares[0]) if shares[0] < 1 else 0.0
    return [first, _below(expected[1][left], share)]


def _below(values: np.ndarray[tuple[int], np.dtype[np.float64]], share: float) -> float:
    """A number that this share of the values is below."""
    if not share or not len(values):
        return 0.0
    return float(np.nextafter(np.quantile(values, share), np.inf))


def _ratio(one: list[float], other: list[float]) -> str:
    return f"{statistics.median(a / b for a, b in zip(one, other, strict=True)):.2f}"


if __name__ == "__main__":
    main()
