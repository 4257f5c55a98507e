"""A comparison in words: the finding, what is on the frontier, what to be careful about."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from untrue.metrics import Interval
from untrue.metrics.intervals import CONFIDENCE
from untrue.report.compare.settings import (
    CE,
    COST,
    TOTAL,
    Comparison,
    Picked,
    above,
    below,
    decided,
    method,
    named,
    strength,
)
from untrue.report.runs.arms import Arm
from untrue.report.runs.chapters import as_text

FEW = (
    "Two repetitions have intervals so wide (12.7 standard errors) that hardly any difference can "
    "be shown."
)
# How many methods with their settings are named in a sentence, if there are more.
NAMED = 4
WEIGHTED = "class-weighted"
PICKED = "Each method's setting was picked by the validation examples of each repetition."


def finding(comparison: Comparison) -> tuple[str, ...]:
    """What came out, in paragraphs; the free decision rule is what a method has to beat."""
    reference = comparison.reference
    if reference is None:
        first = (
            "Cross-entropy decided by least expected cost (ce+cost) is not there yet, so nothing "
            "can be compared with it."
        )
        return tuple(filter(None, (first, _absent(comparison))))
    sentences = (
        _winner(comparison, reference),
        _how_judged(comparison, reference),
        beaten_in_both(comparison, COST),
        _free(comparison, reference),
        _absent(comparison),
    )
    return tuple(filter(None, sentences))


def beaten_in_both(comparison: Comparison, measure: str) -> str:
    """Whether `ce+cost` is on a frontier, and what dominates it if not."""
    reference = comparison.reference
    if reference is None or not comparison.methods:
        return ""
    better = [a for a in comparison.settings if comparison.dominates(a, reference, measure)]
    name = "expected cost" if measure == COST else comparison.costly.name
    if not better:
        return f"No setting is better than ce+cost in total error and {name} both."
    better.sort(key=lambda arm: comparison.value(arm, measure))
    clear = [a for a in better if comparison.dominates(a, reference, measure, clearly=True)]
    tried = len(comparison.settings)
    sentences = (
        f"{len(better)} of {tried} settings are better than ce+cost in total error and {name} "
        f"both, by the means: {_grouped(better, NAMED)}"
    )
    if len(comparison.seeds) == 1:
        return f"{sentences}."
    if not clear:
        return f"{sentences}; none beyond an interval."
    who = "each" if len(clear) == len(better) else _grouped(clear, NAMED)
    chance = "with this many settings, a few may be by chance"
    return f"{sentences}; {who} beyond an interval in at least one ({chance})."


def costs_sentence(comparison: Comparison) -> str:
    """What the mistakes cost."""
    spec, configs = comparison.costs, comparison.collected.sweep.configs
    if spec.kind == "matrix":
        costs = spec.matrix(comparison.collected.info)
        costliest, mistakes = float(costs.max()), costs[~np.eye(len(costs), dtype=bool)]
        return f"A mistake costs from {float(mistakes.min()):g} to {costliest:g}, as given."
    if spec.kind == "groups":
        return (
            f"A mistake inside the right super-class costs {spec.inside:g}, any other "
            f"{spec.outside:g}."
        )
    drawn = len({found for config in configs for found in config.score_on}) > 1
    return (
        f"A mistake in the zone ({spec.zone_size} kinds of mistake"
        f"{', drawn again in each repetition' if drawn else ''}) costs {spec.inside:g}, any other "
        f"{spec.outside:g}."
    )


def frontier_sentence(comparison: Comparison, measure: str) -> str:
    """Who is on a frontier, who may be, and who is not with any setting."""
    on, near = comparison.frontier(measure), comparison.near(measure)
    sentences = [f"On the frontier by the means: {_grouped(on)}."]
    if measure != COST:
        sentences.append(beaten_in_both(comparison, measure))
    if len(comparison.seeds) == 1:
        return f"{' '.join(sentences)} With one repetition none of this is beyond chance."
    if near:
        sentences.append(
            f"{len(near)} more of the {len(comparison.settings)} settings may belong to it: some "
            "setting has better means, but none by a paired difference beyond its interval."
        )
    there = {arm.loss for arm in (*on, *near)}
    off = [method(loss) for loss in comparison.methods if loss not in there]
    if off:
        sentences.append(f"With every setting clearly behind some other: {all_of(off)}.")
    return " ".join(filter(None, sentences))


def remarks(comparison: Comparison) -> tuple[str, ...]:
    """What a reader asks next: calibration, and training without the decision rule."""
    sentences = []
    form = comparison.cost_form
    reference, plain, raw = comparison.reference, comparison.plain, comparison.raw
    if reference is not None and raw is not None:
        change = comparison.arms.change(reference, COST, to=raw)
        sentences.append(
            "A temperature fitted on held-out examples changes the expected cost of ce+cost by "
            f"{as_text(change, f'+{form}')} ({_verdict(change)}). It never changes which label "
            "is the most probable."
        )
    trained = [arm for arm in comparison.settings if arm.loss != CE and arm.decision == "argmax"]
    if trained and plain is not None:
        best = min(trained, key=lambda arm: comparison.value(arm, COST))
        change = comparison.arms.change(best, COST, to=plain)
        text = (
            "Without the decision rule (the most probable label; for sosr its own answer), the "
            f"lowest expected cost of {len(trained)} trained settings is that of {named(best)}, "
            f"{as_text(comparison.arms.mean(best, COST), form)} against "
            f"{as_text(comparison.arms.mean(plain, COST), form)} of plain cross-entropy (paired "
            f"difference {as_text(change, f'+{form}')}, {_verdict(change)}). It is the best of "
            "many on these test examples, so it looks better than it is."
        )
        sentences.append(text)
    sentences += _of_the_data(comparison)
    if comparison.behind:
        sentences.append(
            f"Judged are the repetitions {all_of(map(str, sorted(comparison.seeds)))}, which "
            f"{len(comparison.settings)} settings share. {len(comparison.behind)} settings lack "
            "some of them and stand only in the table of every setting."
        )
    return tuple(sentences)


def _of_the_data(comparison: Comparison) -> list[str]:
    """What the test part is, and which two methods are one here."""
    sentences = []
    test = comparison.collected.info
    if test.drawn_test:
        sentences.append(
            "The data have no test part of their own: each repetition draws a random fifth of the "
            f"examples, {test.test_images:,} of them. These parts and what is trained on overlap "
            f"between repetitions. The intervals allow for it{_wider(comparison)} (the corrected "
            "interval of Nadeau and Bengio, 2003)."
        )
    else:
        sentences.append(
            "All repetitions are scored on the same test examples; they differ in what is held "
            "back for validation and in what else the seed decides."
        )
    if WEIGHTED in comparison.methods:
        sentences.append(
            f"{WEIGHTED} at power 1 is cross-entropy of examples weighted by what missing them "
            "costs: with costs by class the two are the same."
        )
    return sentences


def _winner(comparison: Comparison, reference: Arm) -> str:
    form = comparison.cost_form
    cost = as_text(comparison.arms.mean(reference, COST), form)
    found = comparison.methods_against_reference()
    if not found:
        return f"Only the free decision rule is there so far. Its expected cost is {cost}."
    found.sort(key=lambda pair: pair[1].value)
    first, change = found[0]
    if len(comparison.seeds) == 1:
        less = "less" if change.value < 0 else "more"
        return (
            f"One repetition shows nothing for certain: in it {method(first.method)} costs "
            f"{abs(change.value):{form}} {less} an answer than the free decision rule, which costs "
            f"{cost}."
        )
    better = [(p, c) for p, c in found if below(c)]
    if not better:
        word = "lowest" if change.value < 0 else "closest"
        return (
            f"No method beats the free decision rule, which costs {cost} an answer; the {word} is "
            f"{method(first.method)}, with a difference of {as_text(change, f'+{form}')}."
        )
    names = all_of(f"{method(p.method)} (by {_less(c, form)})" for p, c in better)
    return (
        f"{len(better)} of {len(found)} methods beat the free decision rule, which costs {cost} "
        f"an answer: {names}.{_for_all(comparison, [p for p, _ in better], len(found))}"
    )


def _for_all(comparison: Comparison, better: list[Picked], tried: int) -> str:
    """Who still beats `ce+cost` by intervals that all hold together (Bonferroni)."""
    if tried == 1:
        return ""
    strict = 1 - (1 - CONFIDENCE) / tried
    sure = [
        method(p.method)
        for p in better
        if below(comparison.picked_change(p, COST, confidence=strict))
    ]
    return (
        f" With intervals that allow for all {tried} comparisons (Bonferroni), "
        f"{all_of(sure) or 'none'} {'do' if len(sure) > 1 else 'does'}."
    )


def _wider(comparison: Comparison) -> str:
    n = len(comparison.seeds)
    return f", {math.sqrt(1 + n * comparison.overlap):.1f} times as wide" if n > 1 else ""


def _how_judged(comparison: Comparison, reference: Arm) -> str:
    """What the free rule is, how settings were picked, and how many are worse."""
    calibrated = "calibrated" if "calibrated" in reference.decision else "not calibrated"
    sentences = [
        "The free decision rule (ce+cost) is plain cross-entropy, decided by least expected cost, "
        f"{calibrated}."
    ]
    found = comparison.methods_against_reference()
    worse = sum(above(c) for _, c in found)
    if worse:
        sentences.append(f"Worse by more than their interval: {worse} of {len(found)}.")
    better = [p for p, c in found if below(c)]
    if better:
        sentences.append(_against_raw(comparison, better))
    if found:
        sentences.append(PICKED)
    if len(comparison.seeds) == 2:
        sentences.append(FEW)
    return " ".join(filter(None, sentences))


def _against_raw(comparison: Comparison, better: list[Picked]) -> str:
    """Whether who beat the calibrated `ce+cost` beats the raw one too, which is as free."""
    raw = comparison.raw
    if raw is None:
        return ""
    cost = as_text(comparison.arms.mean(raw, COST), comparison.cost_form)
    ahead = [p for p in better if below(comparison.picked_change(p, COST, to=raw))]
    if len(ahead) == len(better):
        return f"The same holds against ce+cost without calibration ({cost})."
    names = all_of(method(p.method) for p in ahead) or "none of them"
    return f"Without the calibration ce+cost costs {cost}, which {names} beat."


def _free(comparison: Comparison, reference: Arm) -> str:
    """What the decision rule changes for plain cross-entropy, and at what price."""
    plain, costly = comparison.plain, comparison.costly
    if plain is None:
        return ""

    def both(measure: str, form: str, unit: str = "") -> str:
        before, after = (comparison.arms.mean(arm, measure) for arm in (plain, reference))
        return f"{as_text(before, form)}{unit} to {as_text(after, form)}{unit}"

    unit = " %" if costly.unit == "%" else ""
    change = comparison.arms.change(reference, COST, to=plain)
    costs_more = change is not None and change.value > 0
    return (
        f"The decision rule alone takes plain cross-entropy's expected cost from "
        f"{both(COST, comparison.cost_form)}, its {costly.name} from "
        f"{both(costly.measure, costly.form, unit)} and its total error from "
        f"{both(TOTAL, '.2f', ' %')}."
        f"{f' So the rule itself did not pay here ({_verdict(change)}).' if costs_more else ''}"
    )


def _absent(comparison: Comparison) -> str:
    sentences = []
    if comparison.waiting:
        names = all_of(map(method, comparison.waiting))
        sentences.append(f"Not judged, because repetitions are missing: {names}.")
    if comparison.absent:
        sentences.append(f"Not there yet: {all_of(map(method, comparison.absent))}.")
    return " ".join(sentences)


def _less(change: Interval, form: str) -> str:
    return as_text(Interval(-change.value, -change.high, -change.low, change.confidence), form)


def _verdict(change: Interval | None) -> str:
    if change is None or math.isnan(change.low):
        return "one repetition, so no interval"
    return "beyond its interval" if above(change) or below(change) else "not beyond its interval"


def _grouped(arms: list[Arm], limit: int | None = None) -> str:
    """Settings in a sentence, the strengths of a method and decision together.

    limit: how many groups are named; the rest are counted.
    """
    groups: dict[tuple[str, str], list[Arm]] = {}
    for arm in arms:
        groups.setdefault((arm.loss, arm.decision), []).append(arm)
    sentences: list[str] = []
    for found in groups.values():
        values = sorted(filter(None, (arm.alpha or arm.strength for arm in found)))
        if len(found) == 1 or len(values) < len(found):
            sentences += map(named, found)
            continue
        knob = strength(found[0]).split()[0]
        numbers = all_of(f"{value:g}" for value in values)
        sentences.append(f"{method(found[0].loss)} ({knob} {numbers}, {decided(found[0])})")
    rest = len(sentences) - limit if limit is not None else 0
    return all_of([*sentences[:limit], "others"] if rest > 0 else sentences)


def all_of(names: Iterable[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    every = list(names)
    if len(every) < 2:
        return "".join(every)
    return f"{', '.join(every[:-1])} and {every[-1]}"
