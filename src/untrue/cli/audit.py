"""`untrue audit`: what the mistakes in a file of predictions cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from untrue.atomic_files import check_can_make, check_place
from untrue.cli import options
from untrue.errors import ArgumentError

if TYPE_CHECKING:
    from untrue.hierarchy import Hierarchy
    from untrue.tools.auditing.audit import AuditResult

app = typer.Typer()

# What may be written into the folder.
WRITTEN = ("audit.json", "confusion.csv", "answers.csv", "page.html")
EXAMPLE = (
    "Example: `untrue audit predictions.csv --penalty costs.toml --truth diagnosis "
    "--hierarchy hierarchy.csv --out audit`"
)


@app.command(epilog=EXAMPLE)
def audit(
    predictions: Annotated[Path, typer.Argument(help="A table, .csv or .parquet.")],
    penalty: Annotated[
        Path | None,
        typer.Option(
            help="What mistakes cost: .toml, .json, .csv or .npy. Without it, with --budget, "
            "--rule or --hierarchy alone, every mistake counts 1 and costs are left out."
        ),
    ] = None,
    rule: Annotated[
        Path | None,
        typer.Option(
            help="A decision rule of `untrue control`, with its own budgets and costs: whether the "
            "budgets still hold. Exit code 1 if one is broken."
        ),
    ] = None,
    truth: options.Truth = None,
    predicted: Annotated[
        str | None, typer.Option(help="Column of the answers; else guessed.", metavar="COL")
    ] = None,
    probs: options.Probs = None,
    hierarchy: options.HierarchyFile = None,
    zone_above: options.ZoneAbove = None,
    budget: Annotated[
        list[str] | None,
        typer.Option(
            help='How often a mistake may happen: "tumour->benign <= 0.5%", "good<-bad <= 5%" (of '
            'those predicted good), "zone <= 1%". Repeatable; exit code 1 if one is broken.'
        ),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(help="Confidence of each budget's bounds; else the rule's own, or 0.95."),
    ] = None,
    classes: options.Classes = None,
    delimiter: options.Delimiter = None,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples for the intervals.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the page; else NAME-audit in the working directory."),
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Show what the mistakes in a file of predictions cost, and where they are.

    Prints the measures and writes them as a page, with the confusion matrix by cost and by count.
    With probabilities also: calibration, and what deciding by least expected cost would change.
    Answers that are inner nodes of the hierarchy (`untrue predict --decide node`) are measured as
    such, by distance to the true class, hierarchical precision and recall.
    """
    from untrue.budgets import DecisionRule
    from untrue.cli.console import console, say, say_notes, show
    from untrue.penalty.files import load_any
    from untrue.report.document.page import write, write_text
    from untrue.report.own import audit as audit_page
    from untrue.report.own.measures import FULL_MATRIX
    from untrue.tools.auditing.audit import audit as run_audit
    from untrue.tools.auditing.audit import check_rule_alone
    from untrue.tools.auditing.nodes import has_node_answers
    from untrue.tools.reading.hierarchies import stated_hierarchy
    from untrue.tools.writing import numbers_text

    folder = out or Path(f"{predictions.name.partition('.')[0]}-audit")
    check_can_make(folder)
    for name in WRITTEN if folder.exists() else ():
        check_place(folder / name, predictions, penalty, rule, hierarchy, overwrite=overwrite)
    check_rule_alone(rule, penalty, budget or (), hierarchy, zone_above)
    if not (penalty or rule or budget or hierarchy):
        raise ArgumentError(
            "Say what to judge the predictions by: --penalty FILE (what mistakes cost; make one "
            'with `untrue penalty new`), --hierarchy FILE, --budget "a->b <= 1%" or --rule FILE.'
        )
    costs = None if penalty is None else load_any(penalty)
    known = None if costs is None else costs.classes
    known_hierarchy = stated_hierarchy(hierarchy, costs, known)
    columns: dict[str, Any] = {
        "truth": truth,
        "predicted": predicted,
        "delimiter": delimiter,
    }
    if known_hierarchy is not None and has_node_answers(predictions, known_hierarchy, **columns):
        if budget or confidence is not None:
            raise ArgumentError(
                "--budget and --confidence are about answers that are classes; some here are nodes "
                "of the hierarchy."
            )
        _of_nodes(predictions, known_hierarchy, folder, columns, resamples, seed)
        return
    found = run_audit(
        predictions,
        penalty=costs,
        rule=None if rule is None else DecisionRule.load(rule),
        truth=truth,
        predicted=predicted,
        probs=probs,
        hierarchy=known_hierarchy,
        delimiter=delimiter,
        classes=options.names(classes),
        zone_above=zone_above,
        budgets=budget or (),
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    # Written before it is printed: whoever reads only the first lines still has the page.
    write_text(folder / "audit.json", numbers_text(found.as_dict()))
    if found.penalty.n_classes <= FULL_MATRIX:
        write_text(folder / "confusion.csv", audit_page.confusion_csv(found))
    page = write(audit_page.audit_page(found), folder / "page.html")
    where = console()
    say(where, columns_line(found))
    say_notes(where, found.notes)
    if not found.by_cost:
        say(where, "Note: no costs were stated, so every mistake counts 1.")
    say(where, "")
    show(where, audit_page.summary_table(found))
    show(where, audit_page.confusions(found))
    changed = audit_page.decision_table(found)
    if changed is not None:
        show(where, changed)
    for verdict in found.verdicts:
        say(where, str(verdict))
    say(where, str(page))
    if any(verdict.broken for verdict in found.verdicts):
        raise typer.Exit(1)


def _of_nodes(
    predictions: Path,
    hierarchy: Hierarchy,
    folder: Path,
    columns: dict[str, Any],
    resamples: int,
    seed: int,
) -> None:
    """Audit answers that are nodes: print the measures, write the page."""
    from untrue.cli.console import console, say, show
    from untrue.report.document.page import write, write_text
    from untrue.report.own import nodes
    from untrue.tools.auditing.nodes import audit_nodes
    from untrue.tools.writing import numbers_text

    found = audit_nodes(predictions, hierarchy, resamples=resamples, seed=seed, **columns)
    write_text(folder / "audit.json", numbers_text(found.as_dict()))
    table = nodes.answers_csv(found)
    if table is not None:
        write_text(folder / "answers.csv", table)
    page = write(nodes.nodes_page(found), folder / "page.html")
    where = console()
    truth, predicted = found.columns
    say(where, f"{found.source}: truth in {truth!r}, predictions in {predicted!r}")
    say(
        where,
        "Note: some answers are inner nodes of the hierarchy; all are measured by it, none by the "
        "costs.",
    )
    say(where, "")
    show(where, nodes.summary_table(found))
    show(where, nodes.answers_table(found))
    say(where, str(page))


def columns_line(found: AuditResult) -> str:
    """Which columns were read, so that a wrong guess is seen."""
    from untrue.report.own.measures import column_range

    columns = found.columns
    parts = [f"truth in {columns.truth!r}"]
    if columns.predicted:
        parts.append(f"predictions in {columns.predicted!r}")
    if columns.probs:
        parts.append(f"probabilities in {column_range(columns.probs)}")
    return f"{found.source}: {', '.join(parts)}"
