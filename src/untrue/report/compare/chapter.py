"""The chapter of a comparison: is any method worth more than deciding by least expected cost?"""

from __future__ import annotations

from typing import Any

from untrue.report.compare.equal_accuracy import (
    equal_accuracy_sentence,
    equal_accuracy_table,
    once_table,
)
from untrue.report.compare.figures import differences, facets, overview
from untrue.report.compare.sentences import costs_sentence, finding, frontier_sentence, remarks
from untrue.report.compare.settings import TOTAL, Comparison, named
from untrue.report.compare.tables import (
    methods_table,
    seconds_table,
    settings_table,
    short_table,
)
from untrue.report.runs.chapters import Block, Chapter, FoldedItems, Item
from untrue.report.runs.rows import Collected

TITLE = "Which method to use for these costs"


def chapter(collected: Collected, stem: str) -> Chapter:
    """Everything about one comparison."""
    comparison = Comparison(collected)
    first, *more = finding(comparison)
    figure = differences(comparison)
    opening = () if figure is None else (Item(f"{stem}-differences", figure),)
    cost, costly = (
        (
            Item(f"{stem}-frontier-{name}", overview(comparison, measure)),
            frontier_sentence(comparison, measure),
        )
        for measure, name in zip(comparison.planes, ("cost", "costly"), strict=True)
    )
    alone = tuple(
        Item(f"{stem}-differences-{name}", single)
        for measure, name in zip(comparison.planes, ("cost", "costly"), strict=True)
        if (single := facets(comparison, measure)) is not None
    )
    best = Item(f"{stem}-methods", methods_table(comparison))
    settings = Item(f"{stem}-settings", settings_table(comparison))
    seconds = Item(f"{stem}-seconds", seconds_table(comparison))
    equal, once = equal_accuracy_table(comparison), once_table(comparison)
    sentence = equal_accuracy_sentence(comparison)
    at_equal: tuple[Item | str, ...] = (
        ()
        if equal is None
        else (*((sentence,) if sentence else ()), Item(f"{stem}-equal-accuracy", equal))
    )
    costs_once = () if once is None else (Item(f"{stem}-posterior", once),)
    blocks: tuple[Block, ...] = (
        ("Each method against the free rule", (*opening, costs_sentence(comparison))),
        ("Cost against accuracy", (cost[0],)),
        ("Cost at equal accuracy", at_equal),
        (
            "Details",
            (
                FoldedItems("How this was judged", (*more, *remarks(comparison))),
                FoldedItems("Each method at its best: the numbers", (best,)),
                FoldedItems("Counting the costs once", costs_once),
                FoldedItems("Which settings are on the frontier", (cost[1], *costly)),
                FoldedItems("One method at a time", alone),
                FoldedItems("Every setting", (settings,)),
                FoldedItems("Training time", (seconds,)),
            ),
        ),
    )
    return Chapter(first, blocks, short_table(comparison))


def findings(collected: Collected) -> str:
    """The finding in one piece, for a terminal."""
    return " ".join(finding(Comparison(collected)))


def summary(collected: Collected) -> dict[str, Any]:
    """For `report.json`: the finding, the frontiers, and each setting beside `ce+cost`."""
    comparison = Comparison(collected)
    reference = comparison.reference
    if not collected.rows:
        return {}
    return {
        "finding": " ".join(finding(comparison)),
        "judged_on_seeds": sorted(comparison.seeds),
        "reference": reference and named(reference),
        "frontier": {m: list(map(named, comparison.frontier(m))) for m in comparison.planes},
        "perhaps_on_frontier": {m: list(map(named, comparison.near(m))) for m in comparison.planes},
        "differences_to_ce_cost": {
            named(arm): {
                measure: change.as_dict()
                for measure in (TOTAL, *comparison.planes)
                if (change := comparison.arms.change(arm, measure, to=reference)) is not None
            }
            for arm in (comparison.settings if reference else ())
            if arm != reference
        },
    }
