"""`untrue tune`: say what must hold, and get the weakest intervention that holds it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from untrue.cli import by_options, options
from untrue.cli.epoch_lines import EpochLines
from untrue.cli.options import training
from untrue.errors import ArgumentError, counted
from untrue.losses import registry

app = typer.Typer()

EXAMPLE = (
    'Example: `untrue tune patients.csv --target diagnosis --budget "tumour->benign <= 0.5%" '
    '--budget "zone <= 20 errors" --max-accuracy-drop 0.5 --penalty costs.toml --out model`'
)


@app.command(epilog=EXAMPLE)
@options.grouped
def tune(
    data: options.Data,
    budget: Annotated[
        list[str],
        typer.Option(
            help='What must hold: "tumour->benign <= 0.5%" (of the tumours), "zone <= 20 errors" '
            '(of the held-out part), "across groups <= 2%", "expected cost <= 0.1". Repeatable.'
        ),
    ],
    out: options.ModelFolder,
    max_accuracy_drop: Annotated[
        float,
        typer.Option(
            help="Points of accuracy that may be lost against the plain model; 100: any.",
            min=0,
            max=100,
        ),
    ] = 5.0,
    target: options.Target = None,
    penalty: Annotated[
        Path | None,
        typer.Option(help="What mistakes cost: .toml, .json, .csv or .npy; else all cost 1."),
    ] = None,
    hierarchy: options.HierarchyFile = None,
    zone_above: options.ZoneAbove = None,
    confidence: options.JointConfidence = 0.95,
    repetitions: Annotated[
        int,
        typer.Option(
            help="Parts of the examples tuned on; each is judged by a model of the others."
        ),
    ] = 4,
    trials: Annotated[
        int, typer.Option(help="Train at most this many settings; 0: try decision rules alone.")
    ] = 8,
    time_limit: Annotated[
        float | None, typer.Option(min=0, help="Minutes after which no new setting is trained.")
    ] = None,
    loss: Annotated[
        list[str] | None,
        typer.Option(help=f"{' or '.join(registry.MIXED)}; else all. May be repeated."),
    ] = None,
    model: options.Model = None,
    trained: options.Training = options.USUAL_TRAINING,
    rounds: options.Rounds = None,
    seed: Annotated[int, training("Seed of the parts, the weights and the batches.")] = 0,
    test_share: Annotated[
        float, training("Share of the data held out at random to test the rules alone.")
    ] = 0.25,
    validation_share: Annotated[
        float, training("Share of the rest, held back in each training to decide when to stop.")
    ] = 0.15,
    own: options.Reading = options.USUAL_READING,
    where: options.ExecutorOptions = options.LOCAL,
    threads: Annotated[
        int | None, options.machine("With --executor ray: cores of each training; else 1.")
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(help="Keeps what was trained, to continue from; else OUT.tuning.sqlite."),
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Say what must hold, and get the weakest intervention that holds it.

    Tries the plain model, then decision rules, then training by costs, and stops at the first that
    is likely to be enough. Tests its rules on examples used for nothing else, as `untrue control`
    does: with the confidence asked for, every budget truly holds for new cases like these. Writes a
    folder that `untrue predict` takes. After a stop the same command continues.

    Exit code: 0 the budgets are kept; 1 they cannot be shown to be (the folder then holds the
    closest model, marked as such, and the text says what it would take); 2 wrong use or data,
    nothing is written.
    """
    from untrue.budgets import Budget
    from untrue.penalty.files import load_any
    from untrue.tools.fitting.model_folder import check_target, save_model
    from untrue.tools.fitting.setup import labels_of
    from untrue.tools.reading.hierarchies import read_hierarchy

    cluster = where.cluster(threads=threads)
    if cluster is None and threads is not None:
        raise ArgumentError("--threads belongs to --executor ray.")
    check_target(out, overwrite=overwrite, inputs=[data, *([record] if record else [])])
    stated = [Budget.parse(text) for text in budget]
    costs = load_any(penalty) if penalty else None
    source = own.open(data, target)
    _, stated_costs = labels_of(source, costs)
    known_hierarchy = read_hierarchy(hierarchy, classes=stated_costs.classes) if hierarchy else None

    from untrue.cli.console import console, say, show
    from untrue.report.document.page import write
    from untrue.report.own.tune import budgets_table, lead, metrics, tune_page
    from untrue.tools.tuning.record import ENDING
    from untrue.tools.tuning.tune import tune as run_tune

    shown = console()
    say(shown, f"{data}: {counted(len(source), 'example')} ({source.kind})")
    say(
        shown,
        f"At most {max_accuracy_drop:g} points of accuracy may be lost (--max-accuracy-drop).",
    )
    with EpochLines(shown) as lines:
        found = run_tune(
            source,
            budgets=stated,
            penalty=stated_costs,
            max_accuracy_drop=max_accuracy_drop,
            losses=tuple(loss) if loss else registry.MIXED,
            trials=trials,
            time_limit=None if time_limit is None else 60 * time_limit,
            repetitions=repetitions,
            confidence=confidence,
            groups=known_hierarchy,
            zone_above=zone_above,
            model=model,
            **options.given(trained),
            rounds=rounds,
            test_share=test_share,
            validation_share=validation_share,
            seed=seed,
            record=record or out.with_name(f"{out.name}{ENDING}"),
            cluster=cluster,
            on_progress=lines.show,
            tell=lambda text: lines.say(by_options(text, "tune")),
        )
    page = tune_page(found)
    made = save_model(
        out, found.model, metrics=metrics(found), extra=lambda at: write(page, at / "page.html")
    )
    say(shown, "")
    say(shown, lead(found))
    say(shown, "")
    show(shown, budgets_table(found))
    say(shown, f"{made / 'page.html'}")
    say(shown, str(made))
    if not found.kept:
        raise typer.Exit(1)
