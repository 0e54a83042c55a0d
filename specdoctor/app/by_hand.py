"""Launches that a person makes in specdoctor's place: the lines to paste, and recognising what was started."""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.app.run import Run
from specdoctor.core import events as ev
from specdoctor.core.facts import Facts
from specdoctor.core.launch import ORIGINAL, LaunchChange, apply_change, launch_flags
from specdoctor.core.operations import SnapshotRequest
from specdoctor.core.server import ServerView
from specdoctor.keepers.hand import ByHand
from specdoctor.keepers.lines import lines_of


def lines_for(run: Run, change: LaunchChange) -> ByHand | None:
    """What to paste for a launch, and to undo it; None where no server was seen."""
    if run.scene is None or run.engine is None or run.scene.view.ref is None:
        return None
    return lines_of(run.scene, run.engine, change)


def awaited(run: Run) -> list[LaunchChange]:
    """Launches that were left to a person, each once."""
    changes = {r.change.key: r.change for r in run.ledger.refusals if r.change is not None}
    return list(changes.values())


def recognise(run: Run, action: str) -> tuple[str, str, tuple[str, ...]]:
    """Look what runs now, and whether it is one of the awaited launches: outcome word, summary, evidence ids."""
    assert run.scene is not None
    engine, ledger = run.engine, run.ledger
    assert engine is not None
    port = run.scene.view.ref.port if run.scene.view.ref else None
    facts = run.operations.snapshot(SnapshotRequest(ports=(port,) if port else (), logs=ledger.settings.extra_logs))
    view = running_now(engine.servers(facts), port)
    if view is None or view.ref is None:
        return "done", "no server of this kind runs now; start it, then resume again", ()
    change = _which(run.scene.view, view, awaited(run))
    words = f"runs as awaited ({change.label})" if change is not None else "runs with arguments that nobody awaits"
    evidence = _keep(run, action, facts, view, words)
    if change is None:
        return "done", f"the server {words}: {' '.join(view.argv)}", (evidence,)
    event = ev.ServerRecognised(change=change, spec=view.spec, server=view.ref, evidence=evidence, summary=words)
    if ledger.current_server != view.ref or ledger.current_launch is None or ledger.current_launch.key != change.key:
        run.emit(event)
    return "done", f"the server {words}", (evidence,)


def running_now(views: Sequence[ServerView], port: int | None) -> ServerView | None:
    """The server that lives on the port, else any that lives."""
    living = [view for view in views if view.state == "running" and view.ref is not None]
    same = [view for view in living if view.ref is not None and view.ref.port == port]
    return next(iter(same or living), None)


def _which(found: ServerView, now: ServerView, changes: Sequence[LaunchChange]) -> LaunchChange | None:
    """The launch whose flags these are; the original counts too."""
    flags = launch_flags(now.argv)
    return next((c for c in (*changes, ORIGINAL) if launch_flags(apply_change(found.argv, c)) == flags), None)


def _keep(run: Run, action: str, facts: Facts, view: ServerView, words: str) -> str:
    return run.record(
        action=action,
        source="recognise",
        summary=f"process {view.ref.pid if view.ref else '?'} {words}",
        artefact="facts-now.json",
        content=facts.model_dump_json(by_alias=True),
        data={"argv": list(view.argv)},
    )
