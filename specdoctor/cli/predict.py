"""specdoctor predict: throughput of settings that a run did not start, from those that it did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from specdoctor.cli import completing
from specdoctor.cli import options as opt
from specdoctor.cli.output import print_json, print_text, width
from specdoctor.cli.review import history_of
from specdoctor.core.errors import EXIT_INCONCLUSIVE, EXIT_OK, UsageError

if TYPE_CHECKING:
    from specdoctor.analysis.launches import MeasuredFamily


def predict(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="A run by its id, or a transcript folder.",
            autocompletion=completing.runs,
        ),
    ],
    launch: Annotated[
        str | None,
        typer.Option(
            "--launch",
            metavar="TEXT",
            help="Only from the launches that belong with this one: an evidence id, or a part of its name.",
            show_default=False,
        ),
    ] = None,
    spread: opt.LaunchSpread = None,
    json: opt.Json = False,
) -> None:
    """Predict draft lengths and trees that nobody has run, from the launches of a run.

    Needed are a launch with speculation that tells acceptance by position (a long chain tells most) and better one
    without; a second draft length corrects what a long chain says of short ones. Each prediction carries a 95 %
    interval for a fresh launch; figures that contradict each other are refused, with the reason.

    Only launches that differ in the draft length alone are reckoned with together. Where the run started others too
    (with a repaired drafter, another environment, other flags), there is a table for each, named.

    Exit code: 0 with predictions, 3 when all are refused.

    \b
    Examples:
      specdoctor predict 7f3c
      specdoctor predict 7f3c --launch E72
      specdoctor predict 7f3c --json
    """
    history, _ = history_of(run)
    from specdoctor.analysis.draft_setting import grid
    from specdoctor.analysis.launches import concurrencies, measured_families
    from specdoctor.analysis.refusal import Refusal
    from specdoctor.analysis.tune_plan import belief_of
    from specdoctor.analysis.tuned import spread_of
    from specdoctor.core.ledger import fold
    from specdoctor.render.predicted import Predicted, predict_document, predict_text

    ledger = fold(history)
    families = [(b, found) for b in concurrencies(ledger) for found in measured_families(ledger, b)]
    if not families:
        raise UsageError(
            f"run {ledger.run} has no benchmark to predict from", next_step="measure: specdoctor tune TARGET"
        )
    known = spread_of(ledger) if spread is None else spread
    among = {b: sum(other == b for other, _ in families) for b, _ in families}
    told = [
        Predicted(
            concurrency=b,
            launches=found,
            belief=belief_of(found.rows, grid(), concurrency=b, spread=known),
            among=among[b],
        )
        for b, found in _asked(families, launch)
    ]
    if json:
        print_json(predict_document(ledger.run, told))
    else:
        print_text(predict_text(told, width=width()))
    raise typer.Exit(EXIT_INCONCLUSIVE if all(isinstance(p.belief, Refusal) for p in told) else EXIT_OK)


def _asked(families: list[tuple[int, MeasuredFamily]], launch: str | None) -> list[tuple[int, MeasuredFamily]]:
    """Those that `launch` names. Raises UsageError where it names none, or launches of several at one concurrency."""
    if launch is None:
        return families
    found = [(b, family) for b, family in families if _names(family, launch)]
    of = sorted({f"{family.name}: {', '.join(m.evidence for m in family.rows)}" for _, family in families})
    if not found:
        raise UsageError(f"no launch of this run is {launch!r}", next_step=f"name one of: {'; '.join(of)}")
    if len({family.family for _, family in found}) > 1:
        raise UsageError(
            f"{launch!r} names launches that do not belong together",
            next_step=f"name one by its evidence: {'; '.join(of)}",
        )
    return found


def _names(family: MeasuredFamily, launch: str) -> bool:
    """Whether a launch of the family that is of no other (one without speculation may be) has this evidence or name."""
    own = [m for m in family.rows if m.family == family.family]
    return any(launch == m.evidence or launch.lower() in m.label.lower() for m in own) or (
        launch.lower() in family.name.lower()
    )
