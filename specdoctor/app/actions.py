"""Carrying out moves: each one starts with an event, does one thing through a port, and ends with an event."""

from __future__ import annotations

from collections.abc import Callable

from specdoctor.app.bench_action import bench
from specdoctor.app.by_hand import recognise
from specdoctor.app.launching import relaunch, restore
from specdoctor.app.outcome import Outcome
from specdoctor.app.reading import compute, run_checks, snapshot
from specdoctor.app.run import Run
from specdoctor.app.watching import watch
from specdoctor.core import events as ev
from specdoctor.core.errors import ConnectionLost, LedgerError, ServerGone, TargetError
from specdoctor.core.hypothesis import Hypothesis, TodoItem
from specdoctor.core.model import Status
from specdoctor.core.moves import (
    Bench,
    Compute,
    Move,
    Note,
    OpenHypothesis,
    Park,
    Recognise,
    Relaunch,
    Restore,
    RunChecks,
    Snapshot,
    Watch,
    risk_of,
)


def carry_out(run: Run, move: Move, *, action: str | None = None) -> None:
    """Do one move. `action` re-attaches to an action that was started before the run was interrupted."""
    match move:
        case OpenHypothesis():
            _open(run, move)
        case Park():
            h = run.ledger.hypotheses[move.hypothesis]
            run.emit(ev.HypothesisClosed(hypothesis=h.id, status=Status.PARKED, because=move.why, evidence=h.evidence))
        case Note():
            run.emit(ev.NoteAdded(text=move.text, by=run.planner.name, lines=move.lines))
        case Snapshot():
            _act(run, move, action, snapshot)
        case RunChecks():
            _act(run, move, action, lambda r, a: run_checks(r, a, move))
        case Compute():
            _act(run, move, action, lambda r, a: compute(r, a, move))
        case Watch():
            _act(run, move, action, lambda r, a: watch(r, a, move))
        case Bench():
            _act(run, move, action, lambda r, a: bench(r, a, move))
        case Relaunch():
            _act(run, move, action, lambda r, a: relaunch(r, a, move))
        case Restore():
            _act(run, move, action, restore)
        case Recognise():
            _act(run, move, action, recognise)
        case _:
            raise LedgerError(f"a move of kind {move.kind} is not carried out")


def _act(run: Run, move: Move, action: str | None, do: Callable[[Run, str], Outcome]) -> None:
    """Log the start, do it, log the end; a broken link ends as `unknown`, for nobody knows what happened."""
    began = run.clock.now()
    if action is None:
        action = run.ledger.next_id("A")
        run.emit(
            ev.ActionStarted(
                action=action,
                what=move.kind,
                risk=risk_of(move),
                move=move.model_dump(mode="json"),
                why=getattr(move, "why", ""),
                hypotheses=getattr(move, "hypotheses", ()),
            )
        )
    try:
        outcome, summary, evidence = do(run, action)
    except ConnectionLost as lost:
        _end(run, action, "unknown", f"the connection was lost: {lost.message}", began, ())
        raise
    except TargetError as error:
        again = move.kind == "bench" and isinstance(error, ServerGone)  # it says nothing of that launch
        _end(run, action, "unknown" if again else "failed", error.message, began, ())
        raise
    _end(run, action, outcome, summary, began, evidence)


def _end(run: Run, action: str, outcome: str, summary: str, began: float, evidence: tuple[str, ...]) -> None:
    run.emit(
        ev.ActionEnded(
            action=action,
            outcome=outcome,  # type: ignore[arg-type]  # one of the three words, checked by the model
            summary=summary,
            duration_s=max(run.clock.now() - began, 0.0),
            evidence=evidence,
        )
    )


def _open(run: Run, move: OpenHypothesis) -> None:
    identifier = run.ledger.next_id("H")
    todo = tuple(
        TodoItem(id=f"{identifier}.{i}", content=content, priority=priority)
        for i, (content, priority) in enumerate(move.todo, start=1)
    )
    run.emit(
        ev.HypothesisOpened(
            hypothesis=Hypothesis(
                id=identifier,
                key=move.key,
                cause=move.cause,
                claim=move.claim,
                answers=move.answers,
                prediction=move.prediction,
                priority=move.priority,
                prior=move.prior,
                about=move.about,
                decides=move.decides,
                todo=todo,
            )
        )
    )
