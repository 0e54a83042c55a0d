"""What the nodes of the loop do: plan, gate, act, judge, report. Plain functions over a run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from specdoctor.app import attending, guarding, others, returned, started_anew, verdict
from specdoctor.app.actions import carry_out
from specdoctor.app.by_hand import lines_for
from specdoctor.app.control import control_move
from specdoctor.app.judging import judge as decided_by
from specdoctor.app.questions import batch_of, commands, without_remark
from specdoctor.app.run import Run
from specdoctor.core import events as ev
from specdoctor.core.errors import ConnectionLost, ServerGone, TargetError
from specdoctor.core.hypothesis import TodoStatus
from specdoctor.core.model import DECIDED, Frozen, Risk, Status
from specdoctor.core.moves import Bench, Finish, Move, Relaunch, Restore, Snapshot, Watch, risk_of
from specdoctor.core.person_events import MoveAnswered
from specdoctor.core.policy import Refused, decide
from specdoctor.core.ports import Answer, Batch

TRAFFIC_FRESH_S = 60.0
"""How long a look at the traffic counts; load or a restart after that looks again."""
LOOK_AGAIN_S = 2.0
ENDED_BY_OTHERS = (
    "the test launch is gone: it ended by itself, or others ended or restarted it; what was cut off counts for "
    "nothing, and the original is put back"
)

STALLED_AFTER = 3
"""Rounds in which nothing at all happened before the run is ended; a planner in a circle must not run for ever."""


class Planned(Frozen):
    """What a round will do: moves, or the reason to stop."""

    moves: tuple[Move, ...]
    halt: str | None = None


def plan(run: Run) -> Planned:
    """Ask the planner. Nothing proposed, or a finish, ends the run; but never with the server changed.

    When the original could not be put back the run ends too: trying again at once would only fail again.
    """
    attending.hold(run)
    if run.ledger.restore_failed:
        return Planned(moves=(), halt="the original could not be put back")
    proposed = list(run.planner.propose(run.briefing))
    finish = next((m for m in proposed if isinstance(m, Finish)), None)
    working = tuple(m for m in proposed if not isinstance(m, Finish))
    if working and not _stalled(run):
        return Planned(moves=working)
    if run.ledger.changed:
        return Planned(moves=(Restore(why="put the original back before the verdict"),))
    control = control_move(run)
    if control is not None:
        return Planned(moves=(control,))
    if finish is not None:
        return Planned(moves=(), halt=finish.why)
    return Planned(moves=(), halt="the planner has nothing more to propose" if not working else "no move is accepted")


def _stalled(run: Run) -> bool:
    return len(run.ledger.refusals) >= STALLED_AFTER and _same_tail(run.ledger.refusals)


def _same_tail(refusals: Sequence[ev.MoveRefused]) -> bool:
    return len({(r.move, r.why) for r in refusals[-STALLED_AFTER:]}) == 1


def name_of(move: Move) -> str:
    """How a refusal names a move."""
    if isinstance(move, Relaunch):
        return f"relaunch {move.change.key}"
    return "control" if isinstance(move, Bench) and move.control else move.kind


def gate(run: Run, moves: Sequence[Move]) -> tuple[list[Move], Batch | None]:
    """Policy on each move; those that need a yes make one question."""
    passed: list[Move] = []
    asking: list[Move] = []
    for move in moves:
        _look_again(run, move)
        outcome = decide(move, run.ledger, run.situation)
        if isinstance(outcome, Refused):
            _refuse(run, move, outcome)
        elif risk_of(move) > Risk.READ and run.ledger.settings.dry_run:
            said = commands(run, move)
            lines = tuple(map(without_remark, said))
            run.emit(ev.NoteAdded(text=f"dry run, would do: {' ; '.join(said)}", by="policy", lines=lines))
            _refuse(run, move, Refused(why="dry run"))
        else:
            passed.append(move)
            _told_why(run, move)
            if outcome.needs_approval:
                asking.append(move)
    if not asking:
        return passed, None
    batch = batch_of(run, asking)
    lines = tuple(map(without_remark, batch.commands))
    run.emit(ev.ApprovalAsked(batch=batch.id, risk=batch.risk, text=batch.text, lines=lines))
    return passed, batch


def _told_why(run: Run, move: Move) -> None:
    """Write down why this launch comes next, once, before anybody is asked about it."""
    if not isinstance(move, Relaunch) or move.choice is None:
        return
    if not run.ledger.choices or run.ledger.choices[-1].choice != move.choice:
        run.emit(ev.ExperimentChosen(choice=move.choice))


def _look_again(run: Run, move: Move) -> None:
    """Before load or a restart, see again whether others use the server, unless that was just seen."""
    ledger = run.ledger
    if risk_of(move) is Risk.READ or isinstance(move, Restore) or ledger.settings.with_traffic:
        return
    seen = [a.ended.at for a in ledger.actions.values() if a.started.what == "watch" and a.ended is not None]
    if not seen or run.clock.now() - max(seen) < TRAFFIC_FRESH_S or ledger.current_server is None:
        return
    look = Watch(seconds=min(ledger.settings.watch_s, LOOK_AGAIN_S), why="do others use it by now?")
    try:
        carry_out(run, look)
    except ServerGone:
        if not _gone(run, look):
            raise
        carry_out(run, look)


def _refuse(run: Run, move: Move, refused: Refused) -> None:
    """Record a refusal; a launch that a person may make instead comes with the lines to paste.

    Where a person asked for the move, that is answered with it.
    """
    for ask in [ask for ask in run.ledger.asks.values() if ask.mark == getattr(move, "why", "")]:
        run.emit(MoveAnswered(ask=ask.ask, why=refused.why, by="policy"))
    lines = lines_for(run, move.change) if isinstance(move, Relaunch) and refused.by_hand else None
    if lines is None or not isinstance(move, Relaunch):
        why = refused.why + (f"; {refused.next_step}" if refused.next_step else "")
        run.emit(ev.MoveRefused(move=name_of(move), why=why))
        return
    why = f"{refused.why}; run it by hand{f' ({lines.first})' if lines.first else ''}"
    run.emit(ev.MoveRefused(move=name_of(move), why=why, change=move.change, start=lines.start, back=lines.back))


def answered(run: Run, moves: Sequence[Move], batch: Batch, answer: Answer) -> list[Move]:
    """Record the answer; without a yes the moves that needed it are dropped."""
    run.emit(ev.ApprovalAnswered(batch=batch.id, granted=answer.granted, scope=answer.scope, by=answer.by))
    if answer.granted:
        return [move for move in moves if not _pointless(run, move)]
    kept: list[Move] = []
    for move in moves:
        outcome = decide(move, run.ledger, run.situation)
        if not isinstance(outcome, Refused) and outcome.needs_approval:
            _refuse(run, move, Refused(why=f"not allowed ({answer.by})"))
        else:
            kept.append(move)
    return kept


def _pointless(run: Run, move: Move) -> bool:
    """Whether a restart lost its reason while the person thought about it: all that it was to test was set aside."""
    if not isinstance(move, Relaunch) or not run.desk.attended:
        return False
    tested = [h for name in move.hypotheses if (h := run.ledger.hypotheses.get(name)) is not None]
    if any(h.status is not Status.PARKED for h in tested):
        return False
    _refuse(run, move, Refused(why=f"{', '.join(h.id for h in tested)} was set aside meanwhile"))
    return True


def act(run: Run, moves: Sequence[Move]) -> None:
    """Carry out the round's moves in order, judging after each; a person may pause the run before any of them."""
    for move in moves:
        attending.hold(run)
        if _pointless(run, move):
            continue
        _todo(run, move, TodoStatus.IN_PROGRESS)
        if not _carried_out(run, move):
            return
        _todo(run, move, TodoStatus.COMPLETED)
        judge(run)


def _carried_out(run: Run, move: Move) -> bool:
    """Do one move; False when the guard of the host put the original back meanwhile, so that all must be thought anew.

    A move that failed because of that is no failure of the target.
    """
    try:
        carry_out(run, move)
    except ConnectionLost:
        raise
    except TargetError as error:
        put_back = run.ledger.changed and (guarding.take_note(run) or returned.take_note(run))
        if not (put_back or (isinstance(error, ServerGone) and _gone(run, move))):
            raise
        return False
    if _cut_off(run, move) and _gone(run, move):
        return False
    touched = risk_of(move) is Risk.RESTART or (run.ledger.changed and risk_of(move) > Risk.READ)
    if touched and guarding.take_note(run):
        return False
    last = next(reversed(run.ledger.actions.values())).ended if touched and run.ledger.changed else None
    return last is None or last.outcome == "done" or not returned.take_note(run)


def _cut_off(run: Run, move: Move) -> bool:
    """Whether a benchmark, or a launch, may have come to nothing for want of the process that was found."""
    if run.ledger.changed:
        return False
    if isinstance(move, Bench):
        last = next(reversed(run.ledger.actions.values())).ended
        return last is not None and last.outcome == "unknown"
    return isinstance(move, Relaunch) and run.ledger.relaunches[-1].outcome.status == "refused"


def _gone(run: Run, move: Move) -> bool:
    """Go on where others have restarted the server under the run's hands; False where nothing of the kind was done.

    A test launch that they ended is given up, and the original put back.
    """
    if run.ledger.changed:
        if not isinstance(move, Bench):
            return False
        run.emit(ev.NoteAdded(text=ENDED_BY_OTHERS, by="specdoctor"))
        carry_out(run, Restore(why="the test launch is gone"))
        return True
    why = started_anew.in_the_middle(run)
    if why:
        run.emit(ev.NoteAdded(text=why, by="specdoctor"))
        carry_out(run, Snapshot(why=why))
    return bool(why)


def _todo(run: Run, move: Move, status: TodoStatus) -> None:
    """Move on the todo items that this move works off: those whose words name what it does."""
    words = {"relaunch": "launch ", "bench": "benchmark", "compute": "arithmetic"}.get(move.kind)
    if words is None:
        return
    named = set(getattr(move, "hypotheses", ()))
    for h in list(run.ledger.hypotheses.values()):
        if h.status is not Status.OPEN or (named and h.id not in named) or (not named and move.kind != "compute"):
            continue
        for item in h.todo:
            if words in item.content and item.status in (TodoStatus.PENDING, TodoStatus.IN_PROGRESS):
                run.emit(ev.TodoChanged(hypothesis=h.id, todo=item.id, status=status))
                break


def judge(run: Run) -> None:
    """Close what the evidence decides; the todo items of a decided hypothesis are done or dropped."""
    for closed in decided_by(run.ledger, at=run.clock.now()):
        run.emit(closed)
        h = run.ledger.hypotheses[closed.hypothesis]
        for item in h.todo:
            if item.status in (TodoStatus.PENDING, TodoStatus.IN_PROGRESS):
                by_reading = h.prediction is not None and h.prediction.metric == "reading"
                done = by_reading or item.status is TodoStatus.IN_PROGRESS
                status = TodoStatus.COMPLETED if done and h.status in DECIDED else TodoStatus.CANCELLED
                run.emit(ev.TodoChanged(hypothesis=h.id, todo=item.id, status=status))


def report(run: Run) -> None:
    """Compute the verdict; it stands in the ledger like everything else."""
    with suppress(TargetError):  # the host cannot be asked; the way out will say so
        others.take_note(run)
    run.emit(verdict.reach(run))
