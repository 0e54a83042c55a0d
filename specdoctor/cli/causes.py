"""specdoctor causes: what can be wrong with speculative decoding, and the test that tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from specdoctor.cli import completing
from specdoctor.cli import options as opt
from specdoctor.cli.output import print_json, print_text, width

if TYPE_CHECKING:
    from specdoctor.knowledge.cause import Cause


def causes(
    cause: Annotated[
        str | None,
        typer.Argument(
            metavar="ID",
            help="One of them, for example LOAD-3; without it, all in short.",
            autocompletion=completing.causes,
        ),
    ] = None,
    json: opt.Json = False,
) -> None:
    """Explain a cause: how it shows, the cheapest test that decides, what that test would show, what to do.

    \b
    Examples:
      specdoctor causes
      specdoctor causes WIRE-1
      specdoctor causes --json
    """
    from specdoctor.knowledge.table import CAUSES, cause_named
    from specdoctor.render.layout import columns

    chosen = list(CAUSES.values()) if cause is None else [cause_named(cause)]
    if json:
        print_json({"schema": "specdoctor.causes/1", "causes": [c.model_dump(mode="json") for c in chosen]})
    elif cause is None:
        print_text(columns(("CAUSE", "WHAT IT IS"), [(c.id, c.title) for c in chosen], width=width()))
    else:
        print_text(explained(chosen[0], width=width()))


def explained(cause: Cause, *, width: int) -> str:
    """One cause for people, each part under its label."""
    from specdoctor.render.layout import labelled

    rows = [
        (cause.id, cause.title),
        ("seen", cause.seen),
        ("test", cause.check),
        ("predicts", cause.predicts),
        ("fix", cause.fix),
        ("engines", ", ".join(cause.engines) + (f"; {cause.versions}" if cause.versions else "")),
        ("at worst", cause.severity),
        ("known from", known_from(cause)),
    ]
    return "\n".join(line for label, text in rows for line in labelled(label, text, label_width=12, width=width))


def known_from(cause: Cause) -> str:
    """How many public reports stand behind it, and which can be looked up."""
    count = (
        f"{cause.reports} public report{'s' if cause.reports != 1 else ''}" if cause.reports else "source and threads"
    )
    return "; ".join((count, ", ".join(cause.sources))) if cause.sources else count
