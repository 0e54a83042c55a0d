"""Each event as one line of text: for plain output, timelines and the review."""

from __future__ import annotations

from typing import assert_never

from specdoctor.core import events as ev
from specdoctor.core import person_events as pe
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Risk
from specdoctor.render.clean import one_line
from specdoctor.render.figures import TODO_WORDS, duration, move_words, paths_words, server_words


def event_line(event: ev.Event) -> str:
    """One clean line that says what happened, with the ids of what it rests on."""
    return one_line(_words(event))


def worth_showing(event: ev.Event) -> bool:
    """Whether somebody who looks on line by line wants to see the event; the rest can be asked for afterwards."""
    if isinstance(event, ev.ActionStarted):
        return event.risk > Risk.READ
    if isinstance(event, ev.Observed):
        return event.observation.stance in ("supports", "refutes")
    return not isinstance(event, ev.TodoChanged | ev.EvidenceRecorded)


def is_checkpoint(event: ev.Event) -> bool:
    """Whether the event is a step of the investigation that a report's timeline names."""
    return worth_showing(event) and not isinstance(
        event,
        ev.Observed
        | ev.ActionStarted
        | ev.ApprovalAsked
        | ev.NoteAdded
        | ev.MoveRefused
        | ev.ModelAsked
        | ev.ProposalRefused
        | pe.PriorSet
        | pe.MoveAsked
        | pe.MoveAnswered,
    )


def cited_by(event: ev.Event) -> tuple[str, ...]:
    """Ids of the evidence that an event rests on; recording an evidence does not cite it."""
    match event:
        case ev.HypothesisClosed() | ev.ActionEnded():
            return event.evidence
        case (
            ev.Observed()
            | ev.BoundComputed()
            | ev.ServerRelaunched()
            | ev.ServerRestored()
            | ev.ControlCompared()
            | ev.ServerSeen()
        ):
            return (event.evidence,)
        case ev.ServerRecognised():
            return (event.evidence,)
        case ev.Measured(measurement=m):
            return (m.evidence,)
        case ev.VerdictReached(causes=causes):
            return tuple(e for c in causes for e in c.evidence)
        case _:
            return ()


def _cited(ids: tuple[str, ...]) -> str:
    return f" ({' '.join(ids)})" if ids else ""


def _words(event: ev.Event) -> str:
    match event:
        case ev.RunStarted() | ev.RunResumed() | ev.VerdictReached() | ev.RunEnded():
            return _run(event)
        case ev.ClaimStated(claim=claim):
            return f"told: {claim.text} (taken at its word until measured)"
        case ev.NoteAdded(text=text, by=by):
            return f"note by {by}: {text}"
        case ev.ModelAsked() | ev.ProposalRefused() | ev.ExperimentChosen():
            return _proposed(event)
        case ev.HypothesisOpened() | ev.HypothesisClosed() | ev.TodoChanged():
            return _hypothesis(event)
        case ev.MoveRefused() | ev.ApprovalAsked() | ev.ApprovalAnswered():
            return _permission(event)
        case ev.ActionStarted() | ev.ActionEnded():
            return _action(event)
        case ev.EvidenceRecorded() | ev.Observed() | ev.Measured() | ev.BoundComputed():
            return _finding(event)
        case ev.ServerRelaunched() | ev.ServerRestored() | ev.ControlCompared() | ev.ServerSeen() | ev.HostReleased():
            return _server(event)
        case ev.ServerRecognised(summary=summary, server=server, evidence=evidence):
            return f"server pid {server.pid} {summary}{_cited((evidence,))}"
        case pe.PersonAct():
            return _person(event)
        case _:
            assert_never(event)


def _run(event: ev.RunStarted | ev.RunResumed | ev.VerdictReached | ev.RunEnded) -> str:
    match event:
        case ev.RunStarted(run=run, target=target, settings=settings):
            return f"run {run} on {target}" + (f": {settings.symptom}" if settings.symptom else "")
        case ev.RunResumed(lost=lost):
            return "run resumed" + (f"; without a known end: {', '.join(lost)}" if lost else "")
        case ev.VerdictReached(verdict=verdict, headline=headline):
            return f"verdict {verdict}: {headline}"
        case ev.RunEnded(exit_code=code, reason=reason):
            return f"run ended, exit code {code}: {reason}"


def _person(event: pe.PersonEvent) -> str:
    match event:
        case pe.SymptomTold(text=text, by=by):
            return f"told by {by}: {text}"
        case pe.PriorSet(hypothesis=hypothesis, prior=prior, by=by):
            return f"{hypothesis} held for {prior:.0%} likely by {by}; it orders the tests and decides nothing"
        case pe.HypothesisTakenUp(hypothesis=hypothesis, by=by):
            return f"{hypothesis} open again, by {by}"
        case pe.PauseSet(paused=paused, by=by):
            return f"paused by {by}" if paused else f"goes on, by {by}"
        case pe.MoveAsked(ask=ask, text=text, by=by):
            return f"{ask} asked for by {by}: {text}"
        case pe.MoveAnswered(ask=ask, why=why):
            return f"{ask}: {why}"


def _hypothesis(event: ev.HypothesisOpened | ev.HypothesisClosed | ev.TodoChanged) -> str:
    if isinstance(event, ev.TodoChanged):
        return f"{event.hypothesis} todo {event.todo}: {TODO_WORDS[event.status]}"
    if isinstance(event, ev.HypothesisClosed):
        return f"{event.hypothesis} {event.status}: {event.because}{_cited(event.evidence)}"
    h = event.hypothesis
    expects = f"; predicts {h.prediction.sentence}" if h.prediction else ""
    return f"{h.id} {h.status}{f' {h.cause}' if h.cause else ''}: {h.claim}{expects}"


def _proposed(event: ev.ModelAsked | ev.ProposalRefused | ev.ExperimentChosen) -> str:
    if isinstance(event, ev.ExperimentChosen):
        return f"why this next: {event.choice.words}"
    if isinstance(event, ev.ProposalRefused):
        return f"refused of the model's proposals: {event.proposal}: {event.why}"
    about = "" if event.counted == "reported" else "about "
    took = f"{about}{event.prompt_tokens} + {event.completion_tokens} tokens, {event.duration_s:.1f} s"
    said = event.error or {"used": f"{len(event.accepted)} accepted", "failed": "no answer"}.get(event.outcome, "")
    return f"asked {event.model} ({event.why}): {event.outcome}{f', {said}' if said else ''}; {took}"


def _permission(event: ev.MoveRefused | ev.ApprovalAsked | ev.ApprovalAnswered) -> str:
    match event:
        case ev.MoveRefused(move=move, why=why, start=start):
            return f"refused to {move_words(move)}: {why}" + (f": {start}" if start else "")
        case ev.ApprovalAsked(batch=batch, risk=risk, text=text):
            return f"{batch} asks to {risk.word}: {text.strip().partition(chr(10))[0]}"
        case ev.ApprovalAnswered(batch=batch, granted=granted, scope=scope, by=by):
            reach = {"kind": " for all of this kind", "run": " for all of this run"}.get(scope, "") if granted else ""
            return f"{batch} {'granted' if granted else 'not granted'} by {by}{reach}"


def _action(event: ev.ActionStarted | ev.ActionEnded) -> str:
    if isinstance(event, ev.ActionStarted):
        tests = f" for {' '.join(event.hypotheses)}" if event.hypotheses else ""
        return f"{event.action} {event.what} begins{tests}" + (f": {event.why}" if event.why else "")
    ending = {"done": "done", "failed": "failed", "unknown": "has an unknown end"}[event.outcome]
    return f"{event.action} {ending} after {duration(event.duration_s)}: {event.summary}{_cited(event.evidence)}"


def _finding(event: ev.EvidenceRecorded | ev.Observed | ev.Measured | ev.BoundComputed) -> str:
    match event:
        case ev.EvidenceRecorded(evidence=evidence, source=source, summary=summary):
            return f"{evidence} from {source}: {summary}"
        case ev.Observed(evidence=evidence, observation=o):
            return f"{o.check} {o.stance} {o.cause or 'no cause'}: {o.claim}{_cited((evidence,))}"
        case ev.Measured(measurement=m):
            failed = f", {m.failed} failed" if m.failed else ""
            return f"{m.id} {m.launch}: {_figures(m)}; {m.requests} requests{failed}{_cited((m.evidence,))}"
        case ev.BoundComputed(text=text, refutes=refutes, evidence=evidence):
            against = f"; against {' '.join(refutes)}" if refutes else ""
            return f"arithmetic, {event.basis} figures: {text}{against}{_cited((evidence,))}"


def _figures(measurement: Measurement) -> str:
    named = (
        ("", measurement.throughput),
        ("accept length ", measurement.accept_length),
        ("step ", measurement.step),
    )
    shown = [
        f"{name}{estimate if estimate.unit == 'tokens/cycle' else estimate.with_unit()}"
        for name, estimate in named
        if estimate is not None
    ]
    return ", ".join(shown) or "no figure"


def _server(
    event: ev.ServerRelaunched | ev.ServerRestored | ev.ControlCompared | ev.ServerSeen | ev.HostReleased,
) -> str:
    match event:
        case ev.ControlCompared(text=text, evidence=evidence):
            return f"the original measured again: {text}{_cited((evidence,))}"
        case ev.ServerRelaunched(change=change, outcome=o, evidence=evidence):
            took = f"ready in {duration(o.start_s)}, {duration(o.downtime_s)} down"
            came = took if o.status == "ready" else f"{o.status}: {o.reason}"
            done = "not started" if o.status == "refused" else "started"
            return f"server {done}, {change.label}: {came}{_cited((evidence,))}"
        case ev.ServerRestored():
            return _restored(event)
        case ev.ServerSeen(ref=ref, state=state):
            name, summary = server_words(event)
            where = f", pid {ref.pid}, port {ref.port}" if ref else ""
            return f"server {name}{where}, {state}: {summary}"
        case ev.HostReleased(removed=removed):
            return "nothing of this run is left on the host" + (f"; removed: {paths_words(removed)}" if removed else "")


def _restored(event: ev.ServerRestored) -> str:
    o = event.outcome
    words = {"guard": "the guard on the host acted: ", "hand": "put back by hand: "}
    guard = words.get(event.by, "")
    if o.other is not None and o.other.same:
        return f"{guard}{o.other.words}; the server is not said to be as it was{_cited((event.evidence,))}"
    if o.status == "nothing-to-do":
        return f"{guard}nothing to restore{_cited((event.evidence,))}"
    compared = ", ".join(name for name, same in o.equal.items() if same)
    if o.proved:
        proof = f" and compared equal ({compared})" if compared else ""
        return f"{guard}original launch restored{proof}, {duration(o.downtime_s)} down{_cited((event.evidence,))}"
    wrong = ", ".join(f"{n} differs" for n, same in o.equal.items() if not same) or o.reason
    return f"{guard}original launch NOT proved restored, {o.status}: {wrong}{_cited((event.evidence,))}"
