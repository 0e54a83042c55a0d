"""specdoctor drafter: a drafter without its server: by itself, and what figures of its training and service say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from specdoctor.cli import options as opt
from specdoctor.cli.drafter_eval import evaluate
from specdoctor.cli.drafter_export import export
from specdoctor.cli.output import print_json, print_text, width
from specdoctor.core.errors import EXIT_INCONCLUSIVE, EXIT_OK, UsageError

if TYPE_CHECKING:
    from specdoctor.analysis.data_scale import Budget, Scale
    from specdoctor.analysis.offline_online import OfflineOnline, SameQuantity, Served

app = typer.Typer(
    no_args_is_help=True, help="A drafter without its server: by itself, against its training, and with more data."
)
app.command("eval")(evaluate)
app.command()(export)


@app.command()
def gap(
    trained: Annotated[
        str,
        typer.Option(
            "--trained",
            metavar="A1,A2,...",
            help="Training accuracy by step, as fractions; the last one is held for later steps.",
            show_default=False,
        ),
    ],
    served: Annotated[
        list[str],
        typer.Option(
            "--served",
            metavar="STEPS:ACCEPT_LENGTH",
            help="Accept length (bonus token included) measured at so many draft steps, on the same prompts; may be "
            "given several times.",
            show_default=False,
        ),
    ],
    json: opt.Json = False,
) -> None:
    """Compare training accuracy with served acceptance, like for like.

    A trainer's accuracy is conditional, by step; an engine's accept length is not. Both are turned into conditional
    acceptance by position, then compared: where they part, what each part costs, and which causes look like that.

    \b
    Examples:
      specdoctor drafter gap --trained 0.747,0.67 --served 1:1.6 --served 15:1.9
    """
    from specdoctor.analysis.figure import FigureError
    from specdoctor.analysis.offline_online import offline_online

    try:
        found = offline_online(_rates(trained), [_served(text) for text in served])
    except FigureError as failure:
        raise UsageError(failure.message, tried=failure.tried, next_step=failure.next_step) from failure
    if json:
        print_json({"schema": "specdoctor.drafter-gap/1", **found.model_dump(mode="json")})
    else:
        print_text(_gap_text(found))
    raise typer.Exit(EXIT_OK)


@app.command()
def data(
    samples: Annotated[
        float, typer.Option("--samples", metavar="N", help="Conversations it was trained on.", show_default=False)
    ],
    accept_length: Annotated[
        float,
        typer.Option(
            "--accept-length", metavar="L", help="Its accept length, bonus token included.", show_default=False
        ),
    ],
    draft_steps: Annotated[
        int, typer.Option("--draft-steps", metavar="K", help="Draft steps it was measured at.", show_default=False)
    ],
    to: Annotated[
        float | None,
        typer.Option("--to", metavar="N", help="Conversations to train on instead.", show_default=False),
    ] = None,
    wished: Annotated[
        float | None,
        typer.Option("--wished", metavar="L", help="Accept length to reach.", show_default=False),
    ] = None,
    tokens_per_sample: Annotated[
        float, typer.Option("--tokens-per-sample", metavar="N", help="Tokens that the target generates for each.")
    ] = 1000.0,
    generation_tok_s: Annotated[
        float, typer.Option("--generation-tok-s", metavar="TOK_S", help="The target's output, all requests together.")
    ] = 5000.0,
    json: opt.Json = False,
) -> None:
    """Estimate what more training data would bring, by two readings that disagree.

    Neither is chosen where both are extrapolations. Exit code: 0, or 3 where nothing is chosen.

    \b
    Examples:
      specdoctor drafter data --samples 37000 --accept-length 2.0 --draft-steps 2 --to 500000
      specdoctor drafter data --samples 37000 --accept-length 2.0 --draft-steps 2 --wished 2.6
    """
    from specdoctor.analysis.data_scale import Drafter, budget, scale
    from specdoctor.analysis.figure import FigureError

    if to is None and wished is None:
        raise UsageError("neither --to nor --wished: nothing to estimate", next_step="add --to N or --wished L")
    own = Drafter(samples=samples, accept_length=accept_length, steps=draft_steps)
    try:
        found = scale(own, to) if to is not None else None
        needed = (
            budget(own, wished, tokens_per_sample=tokens_per_sample, generation_tok_s=generation_tok_s)
            if wished is not None
            else None
        )
    except FigureError as failure:
        raise UsageError(failure.message, tried=failure.tried, next_step=failure.next_step) from failure
    if json:
        parts = {"scale": found, "budget": needed}
        named = {k: v.model_dump(mode="json") if v is not None else None for k, v in parts.items()}
        print_json({"schema": "specdoctor.drafter-data/1", **named})
    else:
        print_text("\n".join([*_scale_lines(found), *_budget_lines(needed)]))
    raise typer.Exit(EXIT_INCONCLUSIVE if found is not None and found.choice else EXIT_OK)


def _rates(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise UsageError(f"--trained {text}: not a list of numbers", next_step="write 0.747,0.67") from error


def _served(text: str) -> Served:
    from specdoctor.analysis.offline_online import Served

    steps, colon, length = text.partition(":")
    try:
        return Served(steps=int(steps), accept_length=float(length if colon else "x"))
    except ValueError as error:
        raise UsageError(f"--served {text}: not STEPS:ACCEPT_LENGTH", next_step="write 1:1.6") from error


def _rows(rows: list[tuple[str, str]]) -> list[str]:
    from specdoctor.render.layout import labelled

    return [line for label, text in rows for line in labelled(label, text, label_width=13, width=width())]


def _gap_text(found: OfflineOnline) -> str:
    """The same quantity twice, the positions, what each part costs, the suspects."""
    from specdoctor.render.layout import columns

    lines = _rows([("trained", _quantity(found.trained)), ("served", _quantity(found.served))])
    first = found.positions[:4]
    rows = [(str(p.position), f"{p.trained:.3f}", f"{p.served:.3f}", f"{p.gap:+.3f}") for p in first]
    lines += ["", columns(("position", "trained", "served", "gap"), rows, width=width())]
    if len(found.positions) > len(first):
        lines.append("later ones as the last")
    if found.departs_at is None:
        return "\n".join([*lines, "", *_rows([("gap", "none beyond what prompts and rounding do")])])
    parts = (
        f"from position {found.departs_at} on; {found.first_gap:.2f} of the accept length at the first draft, "
        f"{found.later_gap:.2f} behind it"
    )
    suspects = [("suspect", f"{s.cause}: {s.why}; test: {s.test}") for s in found.suspects]
    return "\n".join([*lines, "", *_rows([("gap", parts), *suspects])])


def _quantity(q: SameQuantity) -> str:
    return (
        f"accept length {q.accept_length:.3f} at {q.steps} steps; as accept length / {q.steps + 1}: "
        f"{q.per_verified_token:.3f}; as accepted / drafts: {q.per_draft:.3f}"
    )


def _scale_lines(found: Scale | None) -> list[str]:
    if found is None:
        return []
    rows = []
    for reading in found.readings:
        ranged = f"{reading.low:.2f} to {reading.high:.2f}, about {reading.middle:.2f}"
        rows.append((f"{found.samples:,.0f}", f"{ranged}, by {reading.by}: {'; '.join(reading.caveats)}"))
    rows += [("choice", found.choice)] if found.choice else []
    return _rows([*rows, ("first", found.advice)])


def _budget_lines(found: Budget | None) -> list[str]:
    if found is None:
        return []
    few, many = (f"{n:,.0f}" if n is not None else "more than any" for n in found.samples)
    low, high = (f"{h:,.1f}" if h is not None else "no end of" for h in found.hours)
    rows = [("budget", f"{few} to {many} samples for {found.wished:g}; {low} to {high} hours of generation")]
    return _rows(rows + ([("but", found.capped)] if found.capped else []))
