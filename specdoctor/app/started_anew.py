"""Others started the server anew while a run was away that had left it as it was: the run goes on with the new one.

It does so where the new one is the same by all that can be read. Otherwise what was measured belongs to a server that
is gone, and the run ends saying so; it restarts nothing and puts nothing back.
"""

from __future__ import annotations

from specdoctor.app.by_hand import awaited, running_now
from specdoctor.app.returned import compared
from specdoctor.app.run import Run
from specdoctor.app.scene import held_by, on_port, scene_of
from specdoctor.core.errors import TargetError
from specdoctor.core.facts import Facts
from specdoctor.core.operations import SnapshotRequest
from specdoctor.core.reach import spoken
from specdoctor.core.server import ServerRef, ServerView


def why_look_again(run: Run) -> str:
    """Why a resumed run must read its server again before it goes on; empty where that is the one it knows.

    Raises ServerHeld where another run holds it, TargetError where none runs or where the new one is not
    as the first was found.
    """
    ledger, known = run.ledger, run.ledger.current_server
    untouched = not ledger.changed and not ledger.unsettled() and ledger.by_hand is None
    if not (ledger.resumes and untouched and run.scene is not None and known is not None and known.port):
        return ""
    if ledger.settings.facts_file is not None or run.engine is None:
        return ""
    if awaited(run):  # a launch was left to a person: what runs now is recognised, not held against the one found
        return ""
    facts = run.operations.snapshot(SnapshotRequest(ports=(known.port,), logs=ledger.settings.extra_logs))
    target = run.operations.target
    holder = next((lease for lease in facts.leases if lease.port == known.port and lease.run != run.id), None)
    if holder is not None:
        raise held_by(holder, target, found="that run may start and stop it")
    if any((p.pid, p.start_ticks) == (known.pid, known.start_ticks) for p in facts.processes):
        return ""
    views = run.engine.servers(facts)
    if on_port(views, known.port):  # what another run holds is left to it
        scene_of(facts, engines=run.engines, target=target, port=known.port, own_run=run.id)
    now = running_now(views, known.port)
    if now is None or now.ref is None or now.ref.port != known.port:
        raise TargetError(
            f"{spoken(target)}: process {known.pid}, the server of this run, has ended, and none runs "
            f"on port {known.port}",
            tried="the processes of the host and the port",
            next_step=f"start it, then: {_resume(run)}",
        )
    _refuse_another(run, run.scene.facts, run.scene.view, facts, now, known)
    return (
        f"others started the server anew while the run was away: process {known.pid} is gone, process {now.ref.pid} "
        "runs with the same command line and surroundings"
    )


def _refuse_another(
    run: Run, before: Facts, found: ServerView, after: Facts, now: ServerView, known: ServerRef
) -> None:
    """Raises TargetError where the server that runs now is not as the one that was found."""
    differ = [part for part, same in compared(before, found, after, now).items() if not same]
    if not differ:
        return
    pid = now.ref.pid if now.ref is not None else 0
    raise TargetError(
        f"{spoken(run.operations.target)}: others started the server anew while the run was away, and process {pid} is "
        f"not as process {known.pid} was ({', '.join(differ)}); what was measured belongs to that one",
        tried=f"the server on port {known.port}",
        next_step=f"begin a new run for the server as it is now; or start it as it was, then: {_resume(run)}",
    )


def _resume(run: Run) -> str:
    return f"specdoctor investigate --resume {run.id}"
