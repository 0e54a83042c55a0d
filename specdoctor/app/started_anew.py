"""Others started the server anew, while a run was away or under its hands: the run goes on with the new one.

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
from specdoctor.core.ledger import Ledger
from specdoctor.core.operations import Progress, SnapshotRequest
from specdoctor.core.reach import spoken
from specdoctor.core.server import ServerRef, ServerView

AWAY = "while the run was away"
MIDDLE = "in the middle of the run"
SAID = f"others started the server anew {MIDDLE}"
MOST_TIMES = 2
APPEARS_S = 20.0
"""How long nothing may be in the place of a server that has ended before it counts as down."""
COMING_S = 1800.0
"""How long a server may be on its way up."""
LOOK_S = 2.0


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
    _refuse_another(run, facts, now, known, AWAY)
    return (
        f"others started the server anew while the run was away: process {known.pid} is gone, process {now.ref.pid} "
        "runs with the same command line and surroundings"
    )


def in_the_middle(run: Run) -> str:
    """Whether others have started the server anew under the run's hands, which had not changed it: how, else empty.

    One that is still coming up is waited for. Raises TargetError where the new one is not as the first was found, or
    where it happens again and again.
    """
    ledger, known = run.ledger, run.ledger.current_server
    unchanged = not ledger.changed and not ledger.unsettled() and ledger.by_hand is None
    if not unchanged or run.scene is None or run.engine is None or known is None or not known.port:
        return ""
    found = _in_its_place(run, known)
    if found is None:
        return ""
    facts, now = found
    pid = now.ref.pid if now.ref is not None else 0
    if len(times_said(ledger)) >= MOST_TIMES:
        raise TargetError(
            f"{spoken(run.operations.target)}: others start the server again and again, by now as process {pid}: "
            "nothing can be measured of it",
            tried=f"the server on port {known.port}, {MOST_TIMES + 1} times",
            next_step=f"see that nobody restarts it meanwhile, then: {_resume(run)}",
        )
    _refuse_another(run, facts, now, known, MIDDLE)
    return (
        f"{SAID}: process {known.pid} is gone, process {pid} runs in its place with the same command line and "
        "surroundings; figures of before belong to another start"
    )


def replaced(run: Run) -> bool:
    """Whether another process runs in the server's place."""
    known = run.ledger.current_server
    return known is not None and run.scene is not None and _in_its_place(run, known) is not None


def times_said(ledger: Ledger) -> list[str]:
    """Each time that others started the server anew in the middle of the run, as it was noted then."""
    return [note.text for note in ledger.notes if note.text.startswith(SAID)]


def _in_its_place(run: Run, known: ServerRef) -> tuple[Facts, ServerView] | None:
    """The server that runs where the known one has ended; None where that one lives, or none comes in its place."""
    assert run.engine is not None
    settings, since = run.ledger.settings, run.clock.now()
    while True:
        facts = run.operations.snapshot(SnapshotRequest(ports=(known.port,), logs=settings.extra_logs))
        if any((p.pid, p.start_ticks) == (known.pid, known.start_ticks) for p in facts.processes):
            return None
        views = run.engine.servers(facts)
        now = running_now(views, known.port)
        if now is not None and now.ref is not None and now.ref.port == known.port:
            scene_of(facts, engines=run.engines, target=run.operations.target, port=known.port, own_run=run.id)
            return facts, now
        coming = any(view.state == "starting" for view in views)
        if run.clock.now() - since > (COMING_S if coming else APPEARS_S):
            return None
        run.progress("anew", Progress(phase="others have ended the server; waiting for the one in its place"))
        run.clock.sleep(LOOK_S)


def _refuse_another(run: Run, after: Facts, now: ServerView, known: ServerRef, when: str) -> None:
    """Raises TargetError where the server that runs now is not as the one that was found."""
    assert run.scene is not None
    differ = [part for part, same in compared(run.scene.facts, run.scene.view, after, now).items() if not same]
    if not differ:
        return
    pid = now.ref.pid if now.ref is not None else 0
    raise TargetError(
        f"{spoken(run.operations.target)}: others started the server anew {when}, and process {pid} is "
        f"not as process {known.pid} was ({', '.join(differ)}); what was measured belongs to that one",
        tried=f"the server on port {known.port}",
        next_step=f"begin a new run for the server as it is now; or start it as it was, then: {_resume(run)}",
    )


def _resume(run: Run) -> str:
    return f"specdoctor investigate --resume {run.id}"
