"""specdoctor drafter: a drafter without its server: by itself, and what figures of its training and service say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from specdoctor.cli import options as opt
from specdoctor.cli.drafter_data import data
from specdoctor.cli.drafter_eval import evaluate
from specdoctor.cli.drafter_export import export
from specdoctor.cli.failures import Listed
from specdoctor.cli.output import print_json, print_text, width
from specdoctor.core.errors import EXIT_OK, UsageError
from specdoctor.core.input_file import open_input

if TYPE_CHECKING:
    from specdoctor.analysis.offline_online import OfflineOnline, SameQuantity, Served

LARGEST_LOG = 64 << 20
LABEL = 13
app = typer.Typer(
    cls=Listed,
    no_args_is_help=True,
    help="A drafter without its server: by itself, against its training, and with more data.",
)
app.command("eval")(evaluate)
app.command()(export)
app.command()(data)


@app.command()
def gap(
    trained: Annotated[
        str | None,
        typer.Option(
            "--trained",
            metavar="A1,A2,...",
            help="Training accuracy by step, as fractions; the last one is held for later steps.",
            show_default=False,
        ),
    ] = None,
    training_log: Annotated[
        Path | None,
        typer.Option(
            "--training-log",
            metavar="FILE",
            help="Instead: the trainer's log (SpecForge, EAGLE, speculators), its last values.",
            show_default=False,
        ),
    ] = None,
    served: Annotated[
        list[str] | None,
        typer.Option(
            "--served",
            metavar="STEPS:ACCEPT_LENGTH",
            help="Accept length (bonus token included) measured at so many draft steps, on the same prompts; may be "
            "given several times.",
            show_default=False,
        ),
    ] = None,
    served_positions: Annotated[
        str | None,
        typer.Option(
            "--served-positions",
            metavar="S1,S2,...",
            help="Instead: acceptance by position as the engine reports it.",
            show_default=False,
        ),
    ] = None,
    positions_are: Annotated[
        Literal["marginal", "conditional"],
        typer.Option(
            "--positions-are",
            help="Of all chains right up to there (vLLM, llama.cpp), or of those that got there (EAGLE's n-alpha).",
        ),
    ] = "marginal",
    without_bonus: Annotated[
        bool, typer.Option("--without-bonus", help="The served accept lengths leave out the bonus token.")
    ] = False,
    json: opt.Json = False,
) -> None:
    """Compare training accuracy with served acceptance, like for like.

    A trainer's accuracy is conditional, by step; an engine's accept length is not. Both are turned into conditional
    acceptance by position, then compared: where they part, what each part costs, and which causes look like that.

    \b
    Examples:
      specdoctor drafter gap --trained 0.747,0.67 --served 1:1.6 --served 15:1.9
      specdoctor drafter gap --training-log train.log \\
        --served-positions 0.60,0.20,0.07
    """
    from specdoctor.analysis.figure import FigureError
    from specdoctor.analysis.offline_online import compared

    if (trained is None) == (training_log is None) or (not served) == (served_positions is None):
        raise UsageError(
            "one figure of the training and one of the service are compared",
            next_step="give --trained or --training-log, and --served (several times) or --served-positions",
        )
    try:
        rates, of_training = _trained(trained, training_log)
        runs = [_served(text, bonus=1.0 if without_bonus else 0.0) for text in served or ()]
        found = compared(rates, _served_rates(runs, served_positions, positions_are), runs=runs)
    except FigureError as failure:
        raise UsageError(failure.message, tried=failure.tried, next_step=failure.next_step) from failure
    if json:
        print_json({"schema": "specdoctor.drafter-gap/1", **found.model_dump(mode="json"), "training": of_training})
    else:
        print_text(_gap_text(found, of_training))
    raise typer.Exit(EXIT_OK)


def _trained(typed: str | None, log: Path | None) -> tuple[Sequence[float], str]:
    """Rates by step, and a sentence on what they are."""
    from specdoctor.analysis.trainer_log import read_trainer_log

    if typed is not None:
        return _rates("--trained", typed), "as typed, taken as conditional acceptance by step"
    place = log or Path()
    try:
        with open_input(place) as file:
            text = (file.read(LARGEST_LOG) or b"").decode("utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{place}: cannot be read: {error.strerror}", next_step="check --training-log") from error
    found = read_trainer_log(text)
    data_of = "held-out data" if found.held_out else "training data"
    return found.rates, f"{found.kind} of {data_of}, mean of the last {found.values} values: {found.caveat}"


def _served_rates(runs: Sequence[Served], positions: str | None, kind: str) -> Sequence[float]:
    """Conditional acceptance by position, whatever way it was reported."""
    from specdoctor.analysis.acceptance import chain_from_conditional, chain_from_marginal
    from specdoctor.analysis.offline_online import served_rates

    if positions is None:
        return served_rates(runs)
    rates = _rates("--served-positions", positions)
    return (chain_from_conditional(rates) if kind == "conditional" else chain_from_marginal(rates)).conditional


def _rates(option: str, text: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise UsageError(f"{option} {text}: not a list of numbers", next_step="write 0.747,0.67") from error
    if not found:
        raise UsageError(f"{option}: no number in it", next_step="write 0.747,0.67")
    return found


def _served(text: str, *, bonus: float) -> Served:
    from specdoctor.analysis.offline_online import Served

    steps, colon, length = text.partition(":")
    try:
        return Served(steps=int(steps), accept_length=float(length if colon else "x") + bonus)
    except ValueError as error:
        raise UsageError(f"--served {text}: not STEPS:ACCEPT_LENGTH", next_step="write 1:1.6") from error


def _gap_text(found: OfflineOnline, of_training: str) -> str:
    """The same quantity twice, the positions, what each part costs, the suspects."""
    from specdoctor.render.layout import columns, labels

    head = [
        ("trained", _quantity(found.trained)),
        *([("", f"at 1 step: {found.trained_one_step:.3f}")] if found.trained.steps > 1 else []),
        ("", of_training),
        ("served", _quantity(found.served)),
        ("mind", _unlike(found)),
        *([("assumed", found.assumed)] if found.assumed else []),
        *(("doubt", text) for text in found.contradictions),
    ]
    lines = [labels(head, label_width=LABEL, width=width())]
    if found.first_gap is not None:
        first = found.positions[:4]
        rows = [(str(p.position), f"{p.trained:.3f}", f"{p.served:.3f}", f"{p.gap:+.3f}") for p in first]
        lines += ["", columns(("position", "trained", "served", "gap"), rows, width=width())]
        if len(found.positions) > len(first):
            lines.append("later ones as the last")
    suspects = [("suspect", f"{s.cause}: {s.why}; test: {s.test}") for s in found.suspects]
    return "\n".join([*lines, "", labels([("gap", _parts(found)), *suspects], label_width=LABEL, width=width())])


def _parts(found: OfflineOnline) -> str:
    """Where the accept length is lost, as far as the figures tell."""
    if not found.suspects:
        return "none beyond what prompts and rounding do"
    if found.first_gap is None:
        return (
            f"{found.total_gap:.2f} of the accept length in all; at which draft one accept length cannot tell: measure "
            "at 1 step too, on the same prompts, and add --served 1:LENGTH"
        )
    return (
        f"from position {found.departs_at} on; {found.first_gap:.2f} of the accept length at the first draft, "
        f"{found.later_gap:.2f} behind it"
    )


def _unlike(found: OfflineOnline) -> str:
    """What must not be set against each other, and what may."""
    trained, served = found.positions[0].trained, found.served
    text = (
        f"{trained:.1%} in training against {served.per_verified_token:.1%} (or {served.per_draft:.1%}) in service "
        "compares different quantities; like for like it is "
    )
    if found.first_gap is None:
        return f"{text}an accept length of {found.trained.accept_length:.3f} -> {served.accept_length:.3f}"
    text += f"{trained:.3f} -> {found.positions[0].served:.3f} at the first position"
    if len(found.positions) > 1:
        text += f" and {found.positions[1].trained:.3f} -> {found.positions[1].served:.3f} at the second"
    return text


def _quantity(q: SameQuantity) -> str:
    return (
        f"accept length {q.accept_length:.3f} at {q.steps} steps; as accept length / {q.steps + 1}: "
        f"{q.per_verified_token:.3f}; as accepted / drafts: {q.per_draft:.3f}"
    )
