"""specdoctor drafter data: what more training data would bring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from specdoctor.cli import options as opt
from specdoctor.cli.output import print_json, print_text, width
from specdoctor.core.errors import EXIT_INCONCLUSIVE, EXIT_OK, UsageError

if TYPE_CHECKING:
    from specdoctor.analysis.data_scale import Budget, Drafter, Scale
    from specdoctor.analysis.learning_curve import CurvePoint
    from specdoctor.core.estimate import Estimate

LABEL = 13
MOST_SAMPLES, LONGEST_H = 1e9, 24 * 365.0


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
    point: Annotated[
        list[str] | None,
        typer.Option(
            "--point",
            metavar="SAMPLES:ACCEPT_LENGTH",
            help="A training of the same recipe on a part of the data, such as a quarter; from three sizes on its "
            "learning curve is used. May be given several times.",
            show_default=False,
        ),
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

    Neither is chosen where both are extrapolations; the learning curve of one's own recipe, where it is known, goes
    before both. Exit code: 0, or 3 where nothing is chosen.

    \b
    Examples:
      specdoctor drafter data --samples 37000 --accept-length 2.0 \\
        --draft-steps 2 --to 500000
      specdoctor drafter data --samples 37000 --accept-length 2.0 \\
        --draft-steps 2 --wished 2.6
      specdoctor drafter data --samples 37000 --accept-length 2.0 \\
        --draft-steps 2 --to 74000 --point 9250:1.82 --point 18500:1.91
    """
    from specdoctor.analysis.data_scale import Drafter, budget, scale
    from specdoctor.analysis.figure import FigureError
    from specdoctor.render.layout import labels

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
    own_curve = _own_curve(own, point or [], to, wished)
    if json:
        parts = {"scale": found, "budget": needed}
        named = {k: v.model_dump(mode="json") if v is not None else None for k, v in parts.items()}
        print_json({"schema": "specdoctor.drafter-data/1", **named, "curve": own_curve.document})
    else:
        rows = [*_scale_rows(found), *_budget_rows(needed), *own_curve.rows]
        print_text(labels(rows, label_width=LABEL, width=width()))
    undecided = found is not None and found.choice and not own_curve.tells
    raise typer.Exit(EXIT_INCONCLUSIVE if undecided else EXIT_OK)


@dataclass(frozen=True)
class OwnCurve:
    """What the trainings on parts of the data say, for people and machines; `tells` if they answer what was asked."""

    rows: list[tuple[str, str]]
    document: dict[str, Any] | None = None
    tells: bool = False


def _own_curve(own: Drafter, points: Sequence[str], to: float | None, wished: float | None) -> OwnCurve:
    """The curve through the drafter and the points. Raises UsageError for figures that cannot be."""
    from specdoctor.analysis.figure import FigureError, accept_length
    from specdoctor.analysis.learning_curve import CurvePoint, learning_curve, on_curve, samples_for
    from specdoctor.analysis.refusal import Refusal
    from specdoctor.core.estimate import Estimate

    if not points:
        return OwnCurve(rows=[])
    at = [CurvePoint(samples=own.samples, accept_length=own.accept_length), *map(_point, points)]
    try:
        for one in at:
            accept_length(one.accept_length, steps=own.steps)
        curve = learning_curve(at)
        if isinstance(curve, Refusal):
            return OwnCurve(rows=[("curve", curve.reason)])
        rows = [("curve", f"{curve.per_doubling} a doubling, {curve.per_doubling.estimator}")]
        expected = on_curve(curve, to, steps=own.steps) if to is not None else None
        needed = samples_for(curve, wished) if wished is not None and wished > own.accept_length else None
    except FigureError as failure:
        raise UsageError(failure.message, tried=failure.tried, next_step=failure.next_step) from failure
    cut = _cut(expected, own) if isinstance(expected, Estimate) else ""
    if to is not None and expected is not None:
        said = expected.reason if isinstance(expected, Refusal) else f"{expected}, by the learning curve of this recipe"
        rows.append((f"{to:,.0f}", said + cut))
    if needed is not None:
        rows.append(("budget", f"{_samples(needed[0])} to {_samples(needed[1])} samples for {wished:g}, by that curve"))
    tells = expected is not None and not isinstance(expected, Refusal)
    document = {
        **curve.model_dump(mode="json"),
        "expected": None if expected is None else expected.model_dump(mode="json"),
        "samples_for_wished": needed,
        "cut": cut.removeprefix("; ") or None,
    }
    return OwnCurve(rows=rows, document=document, tells=tells)


def _cut(expected: Estimate, own: Drafter) -> str:
    """That an end of the interval is a bound of what is possible, not what the line gives; empty where it is not."""
    most = own.steps + 1
    if expected.high >= most:
        return f"; cut at {most}, the most that {own.steps} draft steps give"
    return "; cut at 1, where nothing is accepted" if expected.low <= 1.0 else ""


def _samples(count: float | None) -> str:
    if count is None:
        return "more than any"
    return f"{count:,.0f}" if count < MOST_SAMPLES else "more than a billion"


def _point(text: str) -> CurvePoint:
    from specdoctor.analysis.learning_curve import CurvePoint

    samples, colon, length = text.partition(":")
    try:
        return CurvePoint(samples=float(samples), accept_length=float(length if colon else "x"))
    except ValueError as error:
        raise UsageError(f"--point {text}: not SAMPLES:ACCEPT_LENGTH", next_step="write 9250:1.82") from error


def _scale_rows(found: Scale | None) -> list[tuple[str, str]]:
    if found is None:
        return []
    rows = []
    for reading in found.readings:
        ranged = f"{reading.low:.2f} to {reading.high:.2f}, about {reading.middle:.2f}"
        rows.append((f"{found.samples:,.0f}", f"{ranged}, by {reading.by}: {'; '.join(reading.caveats)}"))
    rows += [("choice", found.choice)] if found.choice else []
    return [*rows, ("first", found.advice)]


def _budget_rows(found: Budget | None) -> list[tuple[str, str]]:
    if found is None:
        return []
    if found.reached:
        return [("budget", f"{found.wished:g} is reached already: {found.reached}; no more are needed")]
    few, many = (_samples(n) for n in found.samples)
    low, high = (f"{h:,.1f}" if h is not None and h < LONGEST_H else "no end of" for h in found.hours)
    rows = [("budget", f"{few} to {many} samples for {found.wished:g}; {low} to {high} hours of generation")]
    rows.append(("assumed", found.assumes))
    return rows + ([("but", found.capped)] if found.capped else [])
