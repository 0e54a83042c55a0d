"""specdoctor breakeven: the arithmetic of speculation from a few figures, no server needed."""

from __future__ import annotations

from typing import Annotated

import typer

from specdoctor.cli import options as opt
from specdoctor.cli.output import print_json, print_text, width
from specdoctor.core.errors import UsageError


def breakeven(
    baseline: Annotated[
        float, typer.Option("--baseline", metavar="TOK_S", help="Throughput of one request without speculation.")
    ],
    cycle_ms: Annotated[
        float | None,
        typer.Option(
            "--cycle-ms",
            metavar="MS",
            help="One cycle under speculation: draft, verify and the rest. Without it: accept length / throughput.",
            show_default=False,
        ),
    ] = None,
    accept_length: Annotated[
        float | None,
        typer.Option("--accept-length", metavar="N", help="Tokens a cycle, bonus token included.", show_default=False),
    ] = None,
    target: Annotated[
        float | None,
        typer.Option("--target", metavar="TOK_S", help="Throughput that is wished for.", show_default=False),
    ] = None,
    throughput: Annotated[
        float | None,
        typer.Option("--throughput", metavar="TOK_S", help="Throughput measured with speculation.", show_default=False),
    ] = None,
    draft_steps: Annotated[
        int | None,
        typer.Option("--draft-steps", metavar="K", help="Draft steps of the chain.", show_default=False),
    ] = None,
    json: opt.Json = False,
) -> None:
    """Calculate when speculation pays, from a few figures; no server needed.

    Says the accept length that this cycle needs, the cycle that this accept length needs, and whether a target can be
    reached with so many draft steps.

    \b
    Examples:
      specdoctor breakeven --baseline 82 --cycle-ms 30 --accept-length 2.0
      specdoctor breakeven --baseline 82 --cycle-ms 30 --target 90 --draft-steps 2
      specdoctor breakeven --baseline 90 --throughput 56.8 --accept-length 1.6
    """
    from specdoctor.analysis.break_even import BreakEvenFigures, break_even
    from specdoctor.analysis.figure import FigureError
    from specdoctor.render.break_even import break_even_document, break_even_text

    derived = cycle_ms is None
    if cycle_ms is None:
        cycle_ms = _cycle_by(accept_length, throughput)
    figures = BreakEvenFigures(
        baseline_tok_s=baseline,
        cycle_ms=cycle_ms,
        cycle_derived=derived,
        accept_length=accept_length,
        target_tok_s=target,
        throughput_tok_s=throughput,
        draft_steps=draft_steps,
    )
    try:
        found = break_even(figures)
    except FigureError as failure:
        raise UsageError(failure.message, tried=failure.tried, next_step=failure.next_step) from failure
    if json:
        print_json(break_even_document(found))
    else:
        print_text(break_even_text(found, width=width()))


def _cycle_by(accept_length: float | None, throughput: float | None) -> float:
    """Milliseconds of a cycle by what one request gets: accept length / throughput. Raises UsageError."""
    if accept_length is None or throughput is None:
        raise UsageError(
            "the length of a cycle is not given",
            next_step="add --cycle-ms, or both --accept-length and --throughput: the cycle follows from them",
        )
    if not throughput > 0.0:
        raise UsageError(f"the throughput must be above 0 tok/s, got {throughput:g}", next_step="correct --throughput")
    return 1000.0 * accept_length / throughput
