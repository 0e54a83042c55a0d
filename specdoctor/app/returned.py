"""The server was put back while a run was away, and what the run had left on the host is gone: `specdoctor restore`.

The way back is gone with it, so what was compared then is compared once more, by what can be read.
"""

from __future__ import annotations

from specdoctor.app.by_hand import running_now
from specdoctor.app.run import FACTS_ARTEFACT, Run
from specdoctor.core import events as ev
from specdoctor.core.errors import TargetError
from specdoctor.core.facts import Facts, ProcessFacts
from specdoctor.core.launch import LaunchOutcome, RestoreOutcome
from specdoctor.core.moves import Relaunch
from specdoctor.core.operations import SnapshotRequest
from specdoctor.core.reach import spoken
from specdoctor.core.server import ServerView

PARTS = ("cwd", "env", "user", "cpus_allowed", "mems_allowed", "nice", "umask", "limits")
"""What is compared of the process: it is recorded with every reading."""
MADE_ANEW = frozenset({"INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MANAGERPID"})
"""Variables in which systemd numbers each start."""
WHY = "what the run had left on the host was removed, and the server put back, while it was away"


def take_note(run: Run) -> bool:
    """Record, once, that the server was put back by other hands. True when it was.

    Raises TargetError where the run's way back is gone and the server is not as it was found.
    """
    ledger = run.ledger
    if run.scene is None or not (ledger.changed or ledger.unsettled()) or run.operations.state(run.id).way_back:
        return False
    found = run.scene.view
    port = found.ref.port if found.ref is not None else None
    facts = run.operations.snapshot(SnapshotRequest(ports=(port,) if port else (), logs=ledger.settings.extra_logs))
    now = running_now(run.engine.servers(facts), port) if run.engine is not None else None
    equal = compared(run.scene.facts, found, facts, now)
    if now is not None and now.ref == ledger.current_server and all(equal.values()):
        return False  # nothing has touched it: the order never reached the host
    _record(run, facts, now, equal)
    return True


def _record(run: Run, facts: Facts, now: ServerView | None, equal: dict[str, bool]) -> None:
    summary = f"process {now.ref.pid}: {WHY}" if now is not None and now.ref is not None else "no server runs"
    evidence = run.record(
        action=None,
        source="returned",
        summary=summary,
        artefact=f"now-{FACTS_ARTEFACT}",
        content=facts.model_dump_json(by_alias=True),
        data={"equal": dict(equal)},
    )
    if now is None or now.ref is None or not all(equal.values()):
        parts = ", ".join(part for part, same in equal.items() if not same)
        state = f"is not as it was found ({parts})" if now is not None else "does not run"
        raise TargetError(
            f"{spoken(run.operations.target)}: the way back of run {run.id} is gone from the host, "
            f"and the server {state}",
            tried="the server on its port, and the folder of the run on the host",
            next_step="put it back yourself, then resume again; or begin a new run",
        )
    outcome = RestoreOutcome(action="hand", status="restored", server=now.ref, equal=equal, reason=WHY)
    for started in [entry.started for entry in run.ledger.unsettled()]:
        _undone(run, started, evidence)
    run.emit(ev.ServerRestored(outcome=outcome, evidence=evidence, by="hand"))


def _undone(run: Run, started: ev.ActionStarted, evidence: str) -> None:
    """A start or a restoration of which nobody can tell any more how far it came."""
    told = any(r.outcome.action == started.action for r in run.ledger.relaunches)
    if started.what == "relaunch" and not told:
        move = Relaunch.model_validate(started.move)
        outcome = LaunchOutcome(action=started.action, status="undone", server=None, reason=WHY)
        run.emit(ev.ServerRelaunched(change=move.change, spec=None, outcome=outcome, evidence=evidence))
    entry = run.ledger.actions[started.action]
    if entry.ended is None or entry.ended.outcome == "unknown":
        run.emit(
            ev.ActionEnded(
                action=started.action,
                outcome="failed" if started.what == "relaunch" else "done",
                summary=f"undone: {WHY}",
                duration_s=0.0,
                evidence=(evidence,),
            )
        )


def _process(facts: Facts, view: ServerView | None) -> ProcessFacts | None:
    pid = view.ref.pid if view is not None and view.ref is not None else None
    return next((p for p in facts.processes if p.pid == pid), None)


def _part(process: ProcessFacts, part: str) -> object:
    if part != "env":
        return getattr(process, part)
    return {name: value for name, value in process.env.items() if name not in MADE_ANEW}


def compared(before: Facts, found: ServerView, after: Facts, now: ServerView | None) -> dict[str, bool]:
    """By part: whether it is as it was; a part that neither reading shows is left out."""
    if now is None:
        return {"server": False}
    one, other = _process(before, found), _process(after, now)
    equal = {"argv": found.argv == now.argv, "state": now.state == "running"}
    if one is not None and other is not None:
        pairs = {part: (_part(one, part), _part(other, part)) for part in PARTS}
        equal |= {part: a == b for part, (a, b) in pairs.items() if a or b}
    return equal
