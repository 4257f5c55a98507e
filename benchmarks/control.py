"""How often `untrue.control` keeps its promise, and what it pays, next to four others.

Calibration sets are drawn with replacement from a pool of model outputs, so that the true rates of
a rule are those on the whole pool, exactly. For each pool, size and number of budgets:

    untrue      control(...)
    naive       of a fixed grid of the same rules the one with most right answers whose rates on
                the calibration set are within the limits
    bonferroni  the same grid, every rule tested on all examples at level 5 % / number
    mapie       its controllers, on budgets that they can state: precision and recall of a class.
                Binary: a threshold on one probability; multi-class: a threshold on the top
                probability, below which it gives no answer

Counted over all draws: how often there is a rule, and how often a true rate is above its limit; of
the draws with a rule, right answers and no answers on the pool. A method holds if it is over in at
most 5 % of the draws (and three standard errors of that count).

Run: `python -m benchmarks.control [--draws 1000] [--rival-draws 200] [--pool NAME ...]
[--data DIR] [--cache DIR]`. The others, and what is measured only next to mapie, get the first of
the same draws.
Each case is kept in the cache as soon as it is measured: a run that was stopped continues, and runs
of one pool each may go side by side. The table has what the cache has of such numbers of draws;
after a change of the code start with another cache.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks import control_tables, record
from benchmarks.pools import MAKERS, Pool, pools
from untrue import BudgetError, DecisionRule, Penalty, control
from untrue.array_types import BoolArray, FloatArray, IntArray
from untrue.budgets import resolve_all
from untrue.budgets.calibration_set import calibrated
from untrue.budgets.family import Counts, Family
from untrue.budgets.regions import GroupsLike
from untrue.budgets.testing import count_rules
from untrue.decision import decide
from untrue.metrics.bounds import share_p_value

ALPHA = 0.05
SIZES = (300, 1000, 5000)
BUDGETS = {
    "synthetic": ("*->benign <= 9%", "tumour->* <= 35%", "*->tumour <= 8%", "benign<-* <= 16%"),
    "mnist": ("*->8 <= 1.5%", "8<-* <= 15%", "9->4 <= 6%", "3->5 <= 6%"),
    "cifar100": ("*->people <= 2%", "*->trees <= 4%", "*->flowers <= 4%", "across groups <= 62%"),
    "kdd99": ("*->normal <= 2.5%", "normal->* <= 2.5%", "normal<-* <= 2.5%", "dos->* <= 2.5%"),
}
# What mapie can state: (pool, the class that is told from all others, budgets).
BINARY = (
    ("synthetic", "benign", ("1->0 <= 10%",)),
    ("synthetic", "benign", ("1<-0 <= 15%",)),
    ("mnist", "8", ("1->0 <= 15%",)),
    ("mnist", "8", ("1->0 <= 30%", "1<-0 <= 25%")),
    ("kdd99", "normal", ("1<-0 <= 2%",)),
    ("kdd99", "normal", ("1->0 <= 3%", "1<-0 <= 3%")),
)
MULTI = (
    ("mnist", ("8<-* <= 12%",)),
    ("mnist", ("8<-* <= 12%", "3<-* <= 12%")),
    ("synthetic", ("benign<-* <= 15%",)),
    ("kdd99", ("normal<-* <= 2%", "dos<-* <= 2%")),
)
# What is measured of budgets that mapie cannot state.
STATED = ("untrue", "naive", "bonferroni")
# Rules of the fixed grid: multipliers exceed 1 by powers of two, so many for each budget.
GRID = {1: 40, 2: 12, 4: 5}

Answer = Callable[[FloatArray], IntArray]


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A pool with budgets, and what is drawn from it."""

    pool: Pool
    budgets: tuple[str, ...]
    groups: GroupsLike | None

    @property
    def penalty(self) -> Penalty:
        return Penalty.from_rules(self.pool.classes, {})

    def family(self) -> Family:
        resolved = resolve_all(self.budgets, self.penalty, groups=self.groups)
        return Family(self.penalty, resolved, None, by_cost=False)


def untrue_rule(task: Task, probs: FloatArray, target: IntArray, seed: int) -> Answer | None:
    return _controlled(task, probs, target, seed, abstain=False)


def untrue_silent(task: Task, probs: FloatArray, target: IntArray, seed: int) -> Answer | None:
    return _controlled(task, probs, target, seed, abstain=True)


def _controlled(
    task: Task, probs: FloatArray, target: IntArray, seed: int, *, abstain: bool
) -> Answer | None:
    try:
        rule: DecisionRule = control(
            probs,
            target,
            budgets=task.budgets,
            classes=task.pool.classes,
            groups=task.groups,
            abstain=abstain,
            seed=seed,
        )
    except BudgetError:
        return None
    return rule.codes


def naive(task: Task, probs: FloatArray, target: IntArray, seed: int) -> Answer | None:  # noqa: ARG001
    grid, counts, limits = _on_grid(task, probs, target)
    within = np.asarray((counts.errors <= limits * counts.of).all(axis=1))
    return _best_of(task, grid, counts, within)


def bonferroni(task: Task, probs: FloatArray, target: IntArray, seed: int) -> Answer | None:  # noqa: ARG001
    grid, counts, limits = _on_grid(task, probs, target)
    p_values = np.array(
        [
            share_p_value(counts.errors[:, b], counts.of[:, b], limit)
            for b, limit in enumerate(limits.tolist())
        ]
    )
    return _best_of(task, grid, counts, p_values.max(axis=0) <= ALPHA / len(grid))


def _on_grid(
    task: Task, probs: FloatArray, target: IntArray
) -> tuple[FloatArray, Counts, FloatArray]:
    """A fixed grid of rules, what they do to all examples, and the limits."""
    family = task.family()
    steps = np.concatenate([[0.0], 2 ** np.linspace(-2, 10, GRID[len(task.budgets)] - 1)])
    grid = 1 + np.array(list(product(steps, repeat=len(task.budgets))))
    counts, _ = count_rules(family, grid, probs, target, 1.0)
    return grid, counts, np.array([budget.limit() for budget in family.budgets])


def _best_of(task: Task, grid: FloatArray, counts: Counts, allowed: BoolArray) -> Answer | None:
    """Of the rules that are allowed the one with most right answers."""
    passed = np.flatnonzero(allowed)
    if not len(passed):
        return None
    costs = task.family().costs(grid[passed[counts.score[passed].argmax()]])
    return lambda new: decide(calibrated(new, 1.0), costs)


def mapie_binary(task: Task, probs: FloatArray, target: IntArray, seed: int) -> Answer | None:
    """Fixed-sequence testing for one budget; for two its split variant, on the same split share."""
    from mapie.risk_control import BinaryClassificationController

    risks = ["recall" if "->" in text else "precision" for text in task.budgets]
    levels = [1 - _limit(text) for text in task.budgets]
    single = len(risks) == 1
    found = BinaryClassificationController(
        lambda rows: rows,
        risks[0] if single else risks,
        levels[0] if single else levels,
        confidence_level=1 - ALPHA,
        best_predict_param_choice="accuracy",
        fwer_method="fixed_sequence" if single else "split_fixed_sequence",
    )
    rows = np.arange(len(target))
    if not single:
        order = np.random.default_rng(seed).permutation(len(target))
        learn, rows = order[: len(target) // 5], order[len(target) // 5 :]
        found.learn_fixed_sequence_order(probs[learn], target[learn], binary=True)
    found.calibrate(probs[rows], target[rows])
    if found.best_predict_param is None:
        return None
    return lambda new: found.predict(new).astype(np.int64)


def mapie_multi(task: Task, probs: FloatArray, target: IntArray, seed: int) -> Answer | None:  # noqa: ARG001
    """Bonferroni-Holm, its default; of the thresholds that pass the one with fewest silences."""
    from mapie.risk_control import MultiClassificationLTTController, abstention_rate
    from mapie.risk_control.risks import build_precision_ovr

    names = [text.partition("<-")[0] for text in task.budgets]
    positions = [task.pool.classes.index(name) for name in names]
    found = MultiClassificationLTTController(
        lambda rows: rows,
        build_precision_ovr(positions),
        [1 - _limit(text) for text in task.budgets],
        confidence_level=1 - ALPHA,
        best_predict_param_choice=abstention_rate,
        classes=np.arange(len(task.pool.classes)),
    )
    found.calibrate(probs, target)
    if found.best_predict_param is None:
        return None

    def answer(new: FloatArray) -> IntArray:
        given = found.predict(new)
        return np.where(np.isnan(given), -1, given).astype(np.int64)

    return answer


def _limit(text: str) -> float:
    return float(text.partition("<= ")[2].removesuffix("%")) / 100


METHODS = {
    "untrue": untrue_rule,
    "untrue, abstaining": untrue_silent,
    "naive": naive,
    "bonferroni": bonferroni,
    "mapie binary": mapie_binary,
    "mapie multi-class": mapie_multi,
}


def measure(task: Task, method: str, size: int, draws: int) -> dict[str, object]:
    """One row: the same draws for every method."""
    pool, family = task.pool, task.family()
    limits = np.array([budget.limit() for budget in family.budgets])
    whole = family.on(pool.probs, pool.target)
    over = 0
    right, silent, seconds = [], [], 0.0
    for draw in range(draws):
        rows = np.random.default_rng((draw, size)).integers(0, len(pool.target), size)
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = METHODS[method](task, pool.probs[rows], pool.target[rows], draw)
        seconds += time.process_time() - start
        if answer is None:
            continue
        counts = whole.tally([answer(pool.probs)])
        # A share of no answers is no error.
        over += bool((counts.errors[0] > limits * counts.of[0]).any())
        right.append(counts.right[0] / counts.n)
        silent.append(counts.abstained[0] / counts.n)
    error = np.sqrt(ALPHA * (1 - ALPHA) / draws)
    return {
        "pool": pool.name,
        "examples": size,
        "budgets": "; ".join(task.budgets),
        "method": method,
        "draws": draws,
        "with_rule": round(len(right) / draws, 4),
        "over": round(over / draws, 4),
        "holds": bool(over / draws <= ALPHA + 3 * error),
        "plain_right": round(pool.accuracy, 4),
        "right": round(float(np.mean(right)), 4) if right else "",
        "right_error": round(float(np.std(right) / np.sqrt(len(right))), 5) if right else "",
        "no_answer": round(float(np.mean(silent)), 4) if silent else "",
        "seconds": round(seconds / draws, 3),
    }


def tasks(pool: Pool, data_dir: Path | None) -> list[tuple[Task, tuple[str, ...]]]:
    """What is measured on a pool, with the methods that can."""
    groups = None
    if pool.name == "cifar100":
        from untrue.lab.data.dataset import load

        groups = load("cifar100", data_dir).hierarchy
    found: list[tuple[Task, tuple[str, ...]]] = [
        (Task(pool, BUDGETS[pool.name][:number], groups), STATED) for number in (1, 2, 4)
    ]
    for name, positive, texts in BINARY:
        if name == pool.name:
            task = Task(_binary(pool, positive), texts, None)
            found.append((task, ("untrue", "bonferroni", "mapie binary")))
    for name, texts in MULTI:
        if name == pool.name:
            methods = ("untrue", "untrue, abstaining", "bonferroni", "mapie multi-class")
            found.append((Task(pool, texts, None), methods))
    return found


def _binary(pool: Pool, positive: str) -> Pool:
    """One class against all others."""
    chosen = pool.classes.index(positive)
    second = pool.probs[:, chosen]
    return Pool(
        f"{pool.name}, {positive} or not",
        ("0", "1"),
        np.stack([1 - second, second], axis=1),
        (pool.target == chosen).astype(np.int64),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--rival-draws", type=int, default=200)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--pool", action="append", choices=list(MAKERS), help="else all")
    parser.add_argument("--data", type=Path, default=None, help="folder of the data sets' files")
    parser.add_argument("--cache", type=Path, default=Path("out/control"))
    options = parser.parse_args()
    kept = options.cache / "rows.jsonl"
    for size in map(int, options.sizes.split(",")):
        for pool in pools(options.cache, options.data, options.pool or list(MAKERS)):
            for task, methods in tasks(pool, options.data):
                for method in methods:
                    # The promise itself is counted over more draws than its price.
                    promise = method == "untrue" and methods == STATED
                    draws = options.draws if promise else min(options.draws, options.rival_draws)
                    key = [size, draws, task.pool.name, task.budgets, method]
                    if json.dumps(key) not in known(kept):
                        row = measure(task, method, size, draws)
                        with kept.open("a") as file:
                            file.write(json.dumps([json.dumps(key), row]) + "\n")
                    print(known(kept)[json.dumps(key)], flush=True)
    wanted = (options.draws, min(options.draws, options.rival_draws))
    rows = [row for row in known(kept).values() if row["draws"] in wanted]
    print(record.write("control", sorted(rows, key=_place)))
    print(control_tables.PAGE.update())


def known(kept: Path) -> dict[str, dict[str, object]]:
    """What was measured so far."""
    return dict(json.loads(line) for line in kept.read_text().splitlines()) if kept.exists() else {}


def _place(row: Mapping[str, object]) -> tuple[int, str, int, str, int, int]:
    """By pool, then what can be stated, then size."""
    name = str(row["pool"])
    methods = list(METHODS)
    return (
        list(MAKERS).index(name.partition(",")[0]),
        name,
        str(row["budgets"]).count(";"),
        str(row["budgets"]),
        int(str(row["examples"])),
        methods.index(str(row["method"])),
    )


if __name__ == "__main__":
    main()
