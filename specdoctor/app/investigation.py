"""From start to end of a run: start or resume, drive the loop, put the server back on every way out."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pydantic import TypeAdapter

from specdoctor import __version__
from specdoctor.analysis.symptom import read_symptom
from specdoctor.app import attending, graph, guarding, others, returned, started_anew, steps, verdict, verdict_lines
from specdoctor.app.actions import carry_out
from specdoctor.app.by_hand import awaited
from specdoctor.app.launching import restore_order
from specdoctor.app.run import Run
from specdoctor.core import events as ev
from specdoctor.core.errors import (
    EXIT_APPROVAL,
    EXIT_INCONCLUSIVE,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_OUTSIDE,
    ConnectionLost,
    PolicyError,
    ServerGone,
    ServerHeld,
    SpecdoctorError,
    StoreError,
    TargetError,
)
from specdoctor.core.model import Risk, Verdict
from specdoctor.core.moves import Move, Recognise, Restore, Snapshot
from specdoctor.core.policy import Refused, decide
from specdoctor.core.resuming import resume_line
from specdoctor.core.run_settings import RunSettings

_move: TypeAdapter[Move] = TypeAdapter(Move)


def going_on(run: Run) -> str:
    """The command that goes on with a run."""
    return resume_line(run.ledger)


def start(run: Run, settings: RunSettings, *, by: str = "") -> None:
    """Write the first event of a new run. A number of clients in the symptom counts where none was asked for."""
    told = read_symptom(settings.symptom).clients
    if "concurrency" not in settings.model_fields_set and told > 1:
        settings = settings.model_copy(update={"concurrency": told})
    target = run.operations.target
    run.emit(ev.RunStarted(run=run.id, target=target, settings=settings, tool_version=__version__, by=by))


def resume(
    run: Run, *, allow: Risk | None = None, max_restarts: int | None = None, max_minutes: float | None = None
) -> None:
    """Rebuild from the events; `investigate` then goes on with what was started and has no end."""
    run.load()
    lost = tuple(a.started.action for a in run.ledger.open_actions())
    run.emit(ev.RunResumed(lost=lost, allow=allow, max_restarts=max_restarts, max_minutes=max_minutes))


def _take_up(run: Run) -> None:
    """Finish what was started before and has no end, under its own action id.

    What was put back by hand comes first, then restarts, then what the guard of the host did meanwhile: a benchmark
    of a launch that is gone is not taken up. Last comes whether it is still the same server.
    """
    ledger = run.ledger
    if any(a.started.what == "relaunch" for a in ledger.actions.values()) and not ledger.released:
        returned.take_note(run)
        for started in [a.started for a in ledger.unsettled()]:
            _finish(run, started)
        guarding.take_note(run)
    attending.hold(run)
    anew = started_anew.why_look_again(run)
    for started in [a.started for a in ledger.open_actions()]:
        if started.what == "bench" and (anew or not _measurable(run, started)):
            why = "the launch that it measured does not run any more"
            run.emit(ev.ActionEnded(action=started.action, outcome="unknown", summary=why, duration_s=0.0))
        elif not anew:
            _finish(run, started)
    if anew:
        _read_anew(run, anew)


def _read_anew(run: Run, why: str) -> None:
    """Go on with a server that others have started anew: it is read again, in place of what was under way."""
    for started in [a.started for a in run.ledger.open_actions()]:
        run.emit(ev.ActionEnded(action=started.action, outcome="unknown", summary=why, duration_s=0.0))
    run.emit(ev.NoteAdded(text=why, by="specdoctor"))
    carry_out(run, Snapshot(why=why))


def _measurable(run: Run, started: ev.ActionStarted) -> bool:
    current = run.ledger.current_launch
    return current is not None and current.key == started.move.get("launch_key")


def _finish(run: Run, started: ev.ActionStarted) -> None:
    try:
        carry_out(run, _move.validate_python(started.move), action=started.action)
    except ConnectionLost:
        raise
    except TargetError as error:
        run.emit(ev.NoteAdded(text=f"{started.action} could not be finished: {error.message}", by="specdoctor"))
    steps.judge(run)


def investigate(run: Run, *, checkpoints: Path | None) -> int:
    """Drive a started or resumed run to its end and return the exit code.

    Whatever goes wrong on the way, a changed server is put back before this returns, unless the host is out of reach;
    then the run stays resumable and says so. Raises nothing that it can turn into an ended run.
    """
    try:
        if run.ledger.pause is not None and run.ledger.paused and not run.desk.attended:
            put_back(run, why="paused")
            return _end(run, EXIT_APPROVAL, f"paused by {run.ledger.pause.by}; go on at a terminal: {going_on(run)}")
        _take_up(run)
        if run.ledger.resumes and run.scene is not None and awaited(run):
            carry_out(run, Recognise(why="has somebody started what was left to be started by hand?"))
        finished = graph.drive(run, checkpoints=checkpoints)
    except KeyboardInterrupt:
        put_back(run, why="interrupted")
        return _end(run, EXIT_INTERRUPTED, "interrupted by the user")
    except ConnectionLost as lost:
        return _end(run, EXIT_OUTSIDE, f"{lost.message}; go on with: {going_on(run)}")
    except StoreError:
        put_back(run, why="the run cannot be recorded")
        raise
    except TargetError as error:
        put_back(run, why="the target failed")
        if isinstance(error, ServerHeld) and run.ledger.resumes:
            return _end(run, EXIT_APPROVAL, f"{error.message}; {error.next_step}, then: {going_on(run)}")
        _conclude(run)
        step = error.next_step
        if isinstance(error, ServerGone):
            step = f"once a server with the same words runs there, go on with: {going_on(run)}"
        return _end(run, EXIT_OUTSIDE, f"{error.message}; {step}" if step else error.message)
    if not finished:
        put_back(run, why="nobody could be asked")
        _conclude(run)
        return _end(run, EXIT_APPROVAL, f"waits for permission; go on with: {going_on(run)}")
    _release(run)
    return _end(run, _exit_code(run), "finished")


def put_back(run: Run, *, why: str) -> None:
    """Restore the original if anything was changed; a failure here is recorded and said, never swallowed."""
    try:
        if run.ledger.changed:
            returned.take_note(run)
        _settle(run, why)
        if run.ledger.changed:
            guarding.take_note(run)
        if not run.ledger.changed:
            _release(run)
            return
        move = Restore(why=f"put the original back: {why}")
        if isinstance(decide(move, run.ledger, run.situation), Refused):
            return
        carry_out(run, move)
    except StoreError as error:
        raise _put_back_unrecorded(run, error) from error
    except SpecdoctorError as error:
        run.emit(ev.NoteAdded(text=f"the original could not be put back: {error.message}", by="specdoctor"))
        return
    _release(run)


def _put_back_unrecorded(run: Run, error: StoreError) -> StoreError:
    """Nothing can be written any more (a full disk): the server is put back all the same; the error says how it is."""
    step = f"make room, then: {going_on(run)}"
    if run.scene is None or not any(a.started.what == "relaunch" for a in run.ledger.actions.values()):
        return type(error)(f"{error.message}; the server was not changed", tried=error.tried, next_step=step)
    try:
        outcome = run.operations.restore(restore_order(run, f"unrecorded-{run.ledger.count}"), lambda _: None)
        run.back_unrecorded = outcome.proved
        if outcome.proved:
            with suppress(TargetError, PolicyError):  # what is left there is told by status
                run.operations.release(run.id)
    except SpecdoctorError as failure:
        why = failure.message
    else:
        if outcome.proved:
            return type(error)(f"{error.message}; the server was put back", tried=error.tried, next_step=step)
        why = outcome.reason or outcome.status
    return StoreError(f"{error.message}; THE SERVER IS NOT AS IT WAS: {why}", tried=error.tried, next_step=step)


def _settle(run: Run, why: str) -> None:
    """End what has no end yet. A start is waited for: the host carries it out whether or not anybody looks on."""
    for started in [a.started for a in run.ledger.unsettled()]:
        carry_out(run, _move.validate_python(started.move), action=started.action)
    for started in [a.started for a in run.ledger.open_actions()]:
        run.emit(ev.ActionEnded(action=started.action, outcome="unknown", summary=why, duration_s=0.0))


def _release(run: Run) -> None:
    """Leave nothing behind once the server is as it was."""
    touched = any(a.started.what == "relaunch" for a in run.ledger.actions.values())
    if not touched or run.ledger.changed or run.ledger.released:
        return
    try:
        others.take_note(run)
        ledger = run.ledger
        if ledger.changed:  # neither what was put back nor what others started runs any more
            return
        removed = run.operations.release(run.id)
    except ConnectionLost:
        raise
    except TargetError as error:
        run.emit(ev.NoteAdded(text=f"the server is as it was; {error.message}", by="specdoctor"))
        return
    run.emit(ev.HostReleased(removed=removed))


def _conclude(run: Run) -> None:
    """The verdict as far as the evidence goes, also for a run that had to stop early."""
    if run.ledger.started is not None:
        run.emit(verdict.reach(run))


def _exit_code(run: Run) -> int:
    """What a run that came to its end returns: its planner's own answer, where it has one, else the verdict."""
    if run.ledger.changed or run.ledger.restored is False:
        return EXIT_OUTSIDE
    concluded = run.conclusion()
    if concluded is not None:
        return concluded.exit_code
    if run.scene is not None and run.scene.view.state == "down":
        return EXIT_OUTSIDE
    reached = run.ledger.verdict
    if reached is None or reached.verdict is Verdict.NOT_ENOUGH_EVIDENCE:
        return EXIT_INCONCLUSIVE
    return EXIT_OK


def _end(run: Run, exit_code: int, reason: str) -> int:
    if run.ledger.changed:
        reason = f"{reason}; THE SERVER IS {verdict_lines.how_it_is(run.ledger)}"
        exit_code = EXIT_INTERRUPTED if exit_code == EXIT_INTERRUPTED else EXIT_OUTSIDE
    run.emit(ev.RunEnded(exit_code=exit_code, reason=reason))
    return exit_code
