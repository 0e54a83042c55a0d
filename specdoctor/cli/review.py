"""specdoctor review and runs: what was found before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specdoctor.cli import options as opt
from specdoctor.cli.output import print_json, print_text, say, width
from specdoctor.core.errors import StoreError, UsageError
from specdoctor.core.input_file import is_folder, is_link, is_there

if TYPE_CHECKING:
    from collections.abc import Callable

    from specdoctor.core.events import Event


def review(
    run: opt.Run,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the report in Markdown.")] = False,
    events: Annotated[bool, typer.Option("--events", help="Show every event, not only the checkpoints.")] = False,
    evidence: Annotated[
        str | None,
        typer.Option("--evidence", metavar="ID", help="Show one piece of evidence, such as E9.", show_default=False),
    ] = None,
    json: opt.Json = False,
) -> None:
    """Read a run again: verdict, hypotheses, evidence.

    \b
    Examples:
      specdoctor review 7f3c
      specdoctor review 7f3c --evidence E9
      specdoctor review transcripts/7f3c --markdown > report.md
    """
    history, artefact = history_of(run)
    if json and evidence is not None:
        from specdoctor.render.review import evidence_json

        print_json(evidence_json(history, evidence))
    elif json:
        from specdoctor.core.ledger import fold
        from specdoctor.render.json_run import run_json

        print_json(run_json(fold(history)))
    elif evidence is not None:
        from specdoctor.render.review import evidence_text

        print_text(evidence_text(history, evidence, artefact=artefact, width=width()))
    elif markdown:
        from specdoctor.render.report import report_markdown

        print_text(report_markdown(history))
    else:
        from specdoctor.render.review import review_text

        print_text(review_text(history, events=events, width=width(), at_work=_at_work(run, history)))


def history_of(run: str) -> tuple[list[Event], Callable[[str], bytes]]:
    """A run's events and a reader of its artefacts, from a transcript on disk or from the run database."""
    if not run.strip():
        raise UsageError("the run is empty", next_step="specdoctor runs  lists those there are")
    path = Path(run)
    if is_there(path):
        from specdoctor.store.transcript import read_artefact, read_transcript

        folder = path if is_folder(path) else path.parent
        try:
            history = read_transcript(path)
        except StoreError as failure:
            if not isinstance(failure.__cause__, OSError):
                raise
            raise UsageError(
                f"{run}: no transcript that can be read: {failure.message}",
                next_step="give the folder of a transcript, or the id of a run (specdoctor runs lists them)",
            ) from failure
        if not history or history[0].kind != "run.started":
            raise StoreError(
                f"{run}: no transcript: it does not begin with the start of a run",
                next_step="give the folder of a transcript, or the id of a run (specdoctor runs lists them)",
            )
        return history, lambda name: read_artefact(folder, name)
    if "/" in run or is_link(path):
        raise UsageError(
            f"there is no transcript {run[:120]}{': this link leads nowhere' if is_link(path) else ''}",
            next_step="give the folder of a transcript, or the id of a run (specdoctor runs lists them)",
        )
    from specdoctor.assembly.stores import open_store

    store = open_store()
    run_id = store.store.find(run)
    return list(store.events(run_id)), lambda name: store.artefact(run_id, name)


def _at_work(run: str, history: list[Event]) -> bool:
    """Whether a process of this machine drives a run of the database now; of a transcript that may not be known."""
    from specdoctor.assembly.stores import open_store
    from specdoctor.core.events import RunStarted

    if is_there(Path(run)) or not isinstance(history[0], RunStarted):
        return False
    return open_store().store.driven(history[0].run)


def runs(json: opt.Json = False) -> None:
    """List the runs of this user, the oldest first, with how each ended, or that it is at work or unfinished.

    \b
    Examples:
      specdoctor runs
      specdoctor runs --json
    """
    from specdoctor.assembly.stores import open_store
    from specdoctor.render.tables import RUN_ROW_KINDS, run_row, runs_table

    store = open_store()
    rows, unreadable = [], {}
    for name in store.store.names():
        try:
            events = store.store.events(name, kinds=RUN_ROW_KINDS)
            row = run_row(events, at_work=store.store.driven(name))
        except StoreError as error:
            unreadable[name] = error.message
        else:
            rows += [row] if row is not None else []
    for why in unreadable.values():
        say(f"not listed: {why}; the version of specdoctor that wrote it can read it")
    if json:
        listed = [row._asdict() for row in rows]
        print_json({"schema": "specdoctor.runs/1", "runs": listed, "unreadable": unreadable})
    elif rows:
        print_text(runs_table(rows, width=width()))
    elif not unreadable:
        say(f"no run yet in {store.store.path}; begin with: specdoctor demo")
