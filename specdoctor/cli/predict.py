"""specdoctor predict: throughput of settings that a run did not start, from those that it did."""

from __future__ import annotations

from typing import Annotated

import typer

from specdoctor.cli import completing
from specdoctor.cli import options as opt
from specdoctor.cli.output import print_json, print_text, width
from specdoctor.cli.review import history_of
from specdoctor.core.errors import EXIT_INCONCLUSIVE, EXIT_OK, UsageError


def predict(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="A run by its id, or a transcript folder.",
            autocompletion=completing.runs,
        ),
    ],
    spread: opt.LaunchSpread = None,
    json: opt.Json = False,
) -> None:
    """Predict draft lengths and trees that nobody has run, from the launches of a run.

    Needed are a launch with speculation that tells acceptance by position (a long chain tells most) and better one
    without; a second draft length corrects what a long chain says of short ones. Each prediction carries a 95 %
    interval for a fresh launch; figures that contradict each other are refused, with the reason.

    Exit code: 0 with predictions, 3 when all are refused.

    \b
    Examples:
      specdoctor predict 7f3c
      specdoctor predict 7f3c --json
    """
    history, _ = history_of(run)
    from specdoctor.analysis.draft_setting import grid
    from specdoctor.analysis.launches import concurrencies, measured_launches
    from specdoctor.analysis.refusal import Refusal
    from specdoctor.analysis.tune_plan import belief_of
    from specdoctor.analysis.tuned import spread_of
    from specdoctor.core.ledger import fold
    from specdoctor.render.tuned import predict_document, predict_text

    ledger = fold(history)
    rows = {b: found for b in concurrencies(ledger) if (found := measured_launches(ledger, b))}
    if not rows:
        raise UsageError(
            f"run {ledger.run} has no benchmark to predict from", next_step="measure: specdoctor tune TARGET"
        )
    known = spread_of(ledger) if spread is None else spread
    beliefs = {b: belief_of(found, grid(), concurrency=b, spread=known) for b, found in rows.items()}
    measured = {b: [f"{m.figures.setting.label} ({m.evidence})" for m in found] for b, found in rows.items()}
    if json:
        print_json(predict_document(ledger.run, beliefs, measured))
    else:
        print_text(predict_text(beliefs, measured, width=width()))
    raise typer.Exit(EXIT_INCONCLUSIVE if all(isinstance(b, Refusal) for b in beliefs.values()) else EXIT_OK)
