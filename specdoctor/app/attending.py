"""Attending to the person at the keyboard, from the thread of the run: each wish becomes an event, or a reason why not.

Looked for between moves, while a long operation tells how far it is, while a question stands and while the run is
paused; so an event is only ever written by the thread that drives the run.
"""

from __future__ import annotations

from specdoctor.analysis.symptom import read_symptom
from specdoctor.app.run import Run
from specdoctor.core import events as ev
from specdoctor.core import person_events as pe
from specdoctor.core import wishes
from specdoctor.core.clean import one_line
from specdoctor.core.errors import LedgerError
from specdoctor.core.model import DECIDED, Status
from specdoctor.core.operations import Progress
from specdoctor.core.ports import Answer, Batch
from specdoctor.core.typed_secrets import redact_typed

LOOK_S = 0.2
"""How long one look for a wish lasts where there is nothing else to do."""


def attend(run: Run) -> None:
    """Take in every wish that is there, without waiting."""
    while (request := run.desk.next(within_s=0.0)) is not None:
        _take(run, request)


def progress(run: Run, action: str, step: Progress) -> None:
    """Show how far an operation is, and take in what was typed meanwhile."""
    run.progress(action, step)
    attend(run)


def hold(run: Run) -> None:
    """Stay here while the run is paused and somebody is there to let it go on."""
    attend(run)
    while run.ledger.paused and run.desk.attended:
        request = run.desk.next(within_s=LOOK_S)
        if request is not None:
            _take(run, request)


def asked(run: Run, batch: Batch) -> Answer | None:
    """Put a question to the person, and attend to everything else they type until it is answered.

    None where nobody can be asked: then the run waits, and can be resumed.
    """
    if not _there(run):
        return run.approver.ask(batch)
    while _there(run):
        request = run.desk.next(within_s=LOOK_S)
        if isinstance(request, wishes.Reply):
            if request.batch == batch.id:
                return Answer(granted=request.granted, scope=request.scope, by=run.desk.who)
            run.desk.say(f"{request.batch} is not asked any more")
        elif request is not None:
            _take(run, request)
    return None


def _there(run: Run) -> bool:
    return run.desk.attended


def _take(run: Run, request: wishes.Request) -> None:
    """One wish as events; what the ledger's rules do not allow is said and leaves no trace."""
    try:
        _granted(run, request)
    except LedgerError as error:
        run.desk.say(error.message)


def _granted(run: Run, request: wishes.Request) -> None:
    who, ledger = run.desk.who, run.ledger
    match request:
        case wishes.Note(text=text):
            run.emit(ev.NoteAdded(text=_words(text), by=who))
        case wishes.Told(text=text):
            _tell(run, _words(text))
        case wishes.Prior(hypothesis=name, prior=prior):
            run.emit(pe.PriorSet(hypothesis=name, prior=prior, by=who))
        case wishes.Drop(hypothesis=name, why=why):
            _drop(run, name, _words(why))
        case wishes.TakeUp(hypothesis=name):
            run.emit(pe.HypothesisTakenUp(hypothesis=name, by=who))
        case wishes.Hold(on=on):
            if on is not ledger.paused:
                run.emit(pe.PauseSet(paused=on, by=who))
        case wishes.Asked(text=text, wish=wish):
            run.emit(pe.MoveAsked(ask=ledger.next_id("Q"), text=_words(text), wish=_clean(wish), by=who))
        case wishes.Reply():
            run.desk.say("nothing is asked")


def _words(text: str) -> str:
    """What was typed, as it may stand in the record: one line without secrets."""
    return redact_typed(one_line(text))[: wishes.MOST_WORDS]


def _clean(wish: wishes.Wish) -> wishes.Wish:
    if isinstance(wish, wishes.ClaimWish):
        return wish.model_copy(update={"text": _words(wish.text)})
    return wish


def _tell(run: Run, text: str) -> None:
    """More of the symptom; its figures are claims, as those of the first sentence are when the server is first read."""
    run.emit(pe.SymptomTold(text=text, by=run.desk.who))
    if run.ledger.server is not None:
        for claim in read_symptom(text).claims:
            run.emit(ev.ClaimStated(claim=claim))


def _drop(run: Run, name: str, why: str) -> None:
    """Set a claim aside. What evidence has decided stays decided."""
    h = run.ledger.hypotheses.get(name)
    if h is None:
        raise LedgerError(f"no hypothesis {name}")
    if h.status in DECIDED:
        raise LedgerError(f"{name} is {h.status} by evidence; that cannot be dropped")
    if h.status is Status.PARKED:
        raise LedgerError(f"{name} is set aside already")
    because = f"dropped by {run.desk.who}" + (f": {why}" if why else "")
    run.emit(ev.HypothesisClosed(hypothesis=name, status=Status.PARKED, because=because, evidence=()))
