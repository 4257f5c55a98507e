"""Is one recipe best on most data? From the rows of all comparisons, into docs/comparison.md.

    python -m benchmarks.recipes

A recipe is a loss, its strength and a decision. Each is set against the free rule: cross-entropy,
calibrated, decided by least expected cost. The rows are those of `untrue compare`, committed as
docs/comparison/NAME/rows.csv (`benchmarks.commit_comparison` puts them there): a folder more is a
comparison more. A second table has the studies of docs/benchmarks.md, where the strength was chosen
inside the training data.

How a recipe comes to be recommended was fixed before most of the rows were there (`recommended`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from benchmarks import chosen_strengths
from benchmarks.pages import DOCS, NOT_YET, Made, Page, in_markdown
from benchmarks.recipe_studies import (
    COMPARED,
    FREE,
    LEAST_COMPARISONS,
    LEAST_REPETITIONS,
    PLAIN,
    Recipe,
    Study,
    cell,
    mean_change,
    plain,
    recommended,
    studies,
    where,
)
from benchmarks.shown_comparisons import SHOWN, in_short, shown
from untrue.losses.registry import MIXED
from untrue.report.compare.sentences import all_of
from untrue.report.compare.settings import above, below


def main() -> None:
    for page in (ALL, PAGE):
        print(page.update())


def text(found: Sequence[Study]) -> str:
    """Of the recipes those that are nowhere shown to cost more than the free rule, and what follows
    from all of them."""
    if not found:
        return NOT_YET
    every = common(found)
    safe = [r for r in every if r in (FREE, PLAIN) or not where(r, counted(found), above)]
    sizes = ", ".join(f"{study.name} {study.repetitions}" for study in found)
    return (
        f"{table(found, safe)}\n"
        f"Cost of an answer beside the free rule's, in percent of it, with 95 % intervals (Student "
        f"t over repetitions, paired; of German credit wider, because its repetitions share "
        f"examples); in bold what is beyond its interval. Repetitions: {sizes}. The last columns "
        f"count comparisons with at least {LEAST_REPETITIONS}. *Tied* with the cheapest means not "
        f"shown to cost more, not shown to be equal. Recipes that were tried in at least half of "
        f"the comparisons; left out are those that cost more somewhere, "
        f"{len(every) - len(safe)} ([all of them](comparison/{ALL.path.name})).\n\n"
        f"{verdict(found)}\n"
    )


def common(found: Sequence[Study]) -> list[Recipe]:
    """The recipes that were tried in at least half of the comparisons, the best first."""
    every = {recipe for study in found for recipe in study.changes}
    tried = [r for r in every if 2 * sum(r in study.changes for study in found) >= len(found)]

    def order(recipe: Recipe) -> tuple[int, float, str]:
        judged = counted(found)
        less, more = (len(where(recipe, judged, side)) for side in (below, above))
        return more - less, mean_change(recipe, judged or found), str(recipe)

    return sorted(tried, key=order)


def counted(found: Sequence[Study]) -> list[Study]:
    """The comparisons with enough repetitions to say something."""
    return [study for study in found if study.counted]


def table(found: Sequence[Study], shown_recipes: Sequence[Recipe]) -> str:
    """A line for each recipe: its cost in each comparison, and how often it was cheap."""
    lines = [["recipe", *(study.name for study in found), "less, tied, more", "best or tied"]]
    for recipe in shown_recipes:
        here = [study for study in counted(found) if recipe in study.changes]
        less, more = (len(where(recipe, here, side)) for side in (below, above))
        best = sum(recipe in study.best for study in here)
        lines.append(
            [
                f"**{recipe}**" if recipe == FREE else str(recipe),
                *(cell(study.changes.get(recipe)) for study in found),
                f"{less}, {len(here) - less - more}, {more}" if here else "",
                f"{best} of {len(here)}" if here else "",
            ]
        )
    return in_markdown(lines)


def verdict(found: Sequence[Study]) -> str:
    """What is recommended, and where training by costs beats the free rule."""
    judged = len(counted(found))
    chosen = recommended(found)
    if chosen is None:
        first = (
            f"**No recipe is recommended yet**: that takes {LEAST_COMPARISONS} comparisons with at "
            f"least {LEAST_REPETITIONS} repetitions, and there are {judged}."
        )
    elif chosen == FREE:
        first = (
            "**No trained recipe is best or tied in most comparisons, costs less than the free "
            f"rule in at least two and more in none** ({judged} are counted). The free rule "
            "stays the first choice; it needs no training by costs."
        )
    else:
        less = len(where(chosen, counted(found), below))
        tried = sum(chosen in study.changes for study in counted(found))
        first = (
            f"**Recommended: {chosen}.** It costs less than the free rule in {less} of "
            f"{tried} comparisons and more in none."
        )
    parts = []
    for study in found:
        ours = [r for r in study.changes if r.loss in MIXED and below(study.changes[r])]
        best = min(ours, key=lambda r: study.changes[r].value, default=None)
        if best is not None:
            named = f"{best}, {plain(study.changes[best])} %"
            parts.append(f"{study.name} ({len(ours)}, the least {named})")
    none = [study.name for study in found if not any(study.name == p.split(" (")[0] for p in parts)]
    ours_win = f"Of our two losses some recipe beats it beyond its interval on {'; '.join(parts)}"
    if not parts:
        ours_win = "Of our two losses no recipe beats it beyond its interval on any"
    return f"{first} {ours_win}{f'; none on {all_of(none)}' if parts and none else ''}."


ALL = Page(COMPARED / "recipes.md", {"all": Made(lambda: table(studies(), common(studies())))})
PAGE = Page(
    DOCS / "comparison.md",
    {
        "in-short": Made(in_short),
        **{name: Made(partial(shown, name)) for name in SHOWN},
        "recipes": Made(lambda: text(studies())),
        "chosen": Made(chosen_strengths.table),
    },
)


if __name__ == "__main__":
    main()
