"""A slider over alpha that moves the confusion matrices of all losses, side by side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from untrue.array_types import IntArray
from untrue.lab.records import RunResult
from untrue.report.document.confusion_figure import ConfusionFigure, Panel
from untrue.report.document.steps import ConfusionSteps, SliderStep
from untrue.report.runs.arms import Arms, baseline_arm
from untrue.report.runs.chapters import runs, summed
from untrue.report.runs.rows import Collected
from untrue.report.sweep.super_class_figure import super_class_figure

Found = dict[tuple[str, float], dict[int, RunResult]]


def found_runs(collected: Collected, arms: Arms, size: int | None = None) -> Found:
    """The finished runs of each loss and alpha by seed; alpha 0 is the baseline, of every loss."""
    found: Found = {(loss, 0.0): runs(collected, baseline_arm()) for loss in arms.losses()}
    for loss in arms.losses():
        for arm in arms.select(loss=loss, decision="argmax", zone_size=size, small_count=None):
            found[loss, arm.alpha] = runs(collected, arm)
    return found


def zone_slider(collected: Collected, arms: Arms, size: int) -> ConfusionSteps | None:
    """Of one repetition, whose zone it is; None while fewer than two alphas are finished."""
    found = found_runs(collected, arms, size)
    seeds = sorted({seed for by_seed in found.values() for seed in by_seed})
    # Of the repetitions the one in which most is finished, the first of these.
    seed = max(seeds, key=lambda s: (len(_finished(found, arms, {s})), -s), default=None)
    if seed is None:
        return None
    treated = next((r[seed] for (_, alpha), r in found.items() if alpha and seed in r), None)
    if treated is None or treated.config.penalty is None:
        return None
    zone = treated.config.penalty.mask(collected.info)

    def sentence(loss: str, counts: IntArray) -> str:
        errors = int(counts.sum() - counts.trace())
        return f"{loss}: {int(counts[zone].sum())} of {errors} errors are in the zone"

    return _slider(
        arms,
        found,
        {seed},
        sentence,
        lambda panels: ConfusionFigure(
            title="Confusions as alpha grows",
            see=f"Repetition {seed}, the zone of {size} cells outlined. Move alpha and see the "
            "errors leave the zone; alpha 0 is the baseline. The stronger the colour, the "
            "more errors.",
            classes=collected.info.classes,
            panels=panels,
            zone=zone,
            unit="test images",
        ),
    )


def hierarchy_slider(collected: Collected, arms: Arms) -> ConfusionSteps | None:
    """Of all repetitions that every alpha has, classes of a super-class beside each other."""
    found = found_runs(collected, arms)
    shared = [set(by_seed) for by_seed in found.values() if by_seed]
    seeds = set.intersection(*shared) if shared else set()
    group = collected.info.group_of()
    inside = group[:, None] == group[None, :]

    def sentence(loss: str, counts: IntArray) -> str:
        errors = int(counts.sum() - counts.trace())
        mild = int(counts[inside].sum() - counts.trace())
        return f"{loss}: {mild} of {errors} errors stay in the right super-class"

    return _slider(
        arms,
        found,
        seeds,
        sentence,
        lambda panels: super_class_figure(
            collected.info,
            "Confusions as alpha grows",
            "The blocks on the diagonal are the super-classes. Move alpha and see the errors "
            "gather in them; alpha 0 is the baseline. "
            f"{'One repetition' if len(seeds) == 1 else f'{len(seeds)} repetitions together'}.",
            panels,
        ),
    )


def _slider(
    arms: Arms,
    found: Found,
    seeds: set[int],
    sentence: Callable[[str, IntArray], str],
    figure: Callable[[tuple[Panel, ...]], ConfusionFigure],
) -> ConfusionSteps | None:
    alphas = _finished(found, arms, seeds)
    if len(alphas) < 2:
        return None
    panels, steps = [], []
    for alpha in alphas:
        counts = {loss: summed(found[loss, alpha], seeds) for loss in arms.losses()}
        panels += [Panel(loss, each.astype(np.float64)) for loss, each in counts.items()]
        steps.append(
            SliderStep(
                f"{alpha:g}", "; ".join(sentence(loss, n) for loss, n in counts.items()) + "."
            )
        )
    return ConfusionSteps(figure(tuple(panels)), "alpha", tuple(steps))


def _finished(found: Found, arms: Arms, seeds: set[int]) -> list[float]:
    """The alphas that every loss has finished in all of these repetitions."""
    return sorted(
        alpha
        for alpha in {alpha for _, alpha in found}
        if seeds and all(found.get((loss, alpha), {}).keys() >= seeds for loss in arms.losses())
    )
