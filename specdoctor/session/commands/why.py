"""/why H3: what a claim says, predicts and rests on; /why alone: what the run does now, and for which reason."""

from __future__ import annotations

from collections.abc import Iterator

from specdoctor.core import events as ev
from specdoctor.core.hypothesis import Hypothesis
from specdoctor.core.model import DECIDED, Risk, Status
from specdoctor.render.figures import bound_words, bounds_on, evidence_ids, result
from specdoctor.render.layout import labels
from specdoctor.render.lines import event_line
from specdoctor.session.command import Command, Outcome, any_hypothesis, hypothesis_of
from specdoctor.session.view import View

USAGE = "/why H3, or /why for what goes on now"
_ANSWERS = {
    "symptom": "is what was complained of true here?",
    "exists": "is it so on this server?",
    "explains": "would undoing it remove what was complained of?",
}
_MOST = 4


def _run(view: View, typed: str) -> Outcome:
    if not typed.strip():
        return Outcome(_now(view))
    h = hypothesis_of(view, typed.strip(), usage=USAGE)
    return Outcome(labels([row for row in _rows(view, h) if row[1]], label_width=11, width=view.width))


def _rows(view: View, h: Hypothesis) -> Iterator[tuple[str, str]]:
    ledger = view.ledger
    yield f"{h.id}", f"{h.status.value}  {f'{h.cause}: ' if h.cause else ''}{h.claim}"
    yield "asks", _ANSWERS[h.answers]
    yield "predicts", h.prediction.sentence if h.prediction is not None else "nothing that could be measured"
    yield "so far", result(h, ledger)
    for bound in bounds_on(h, ledger):
        yield "arithmetic", f"{bound_words(bound)} ({bound.evidence})"
    if h.because:
        yield ("decided" if h.status in DECIDED else "set aside"), h.because
    yield "evidence", f"{evidence_ids(h.evidence)}   (/evidence {h.evidence[0]})" if h.evidence else ""
    said = [o for o in ledger.observations if h.cause is not None and o.observation.cause == h.cause]
    for o in said[-_MOST:]:
        yield "", f"{o.evidence} {o.observation.check} {o.observation.stance}: {o.observation.claim}"
    for entry in [a for a in ledger.actions.values() if h.id in a.started.hypotheses][-_MOST:]:
        yield "tested", event_line(entry.ended if entry.ended is not None else entry.started)
    under = h.prediction.under if h.prediction is not None else ""
    for refusal in [r for r in ledger.standing_refusals if under and r.move == f"relaunch {under}"][-1:]:
        yield "not done", refusal.why
    if h.status not in DECIDED:
        yield "would tell", h.decides
        yield "ranked", next((c.choice.words for c in reversed(ledger.choices) if _among(h, c)), "")
        yield "likely", _likely(view, h)


def _among(h: Hypothesis, chosen: ev.ExperimentChosen) -> bool:
    """Whether a launch that tests the claim was among those chosen from."""
    return any(option.tests == h.id for option in chosen.choice.options)


def _likely(view: View, h: Hypothesis) -> str:
    """How likely it is held for, and by whom; it orders the tests."""
    told = next((e for e in reversed(view.history) if e.kind == "prior.set" and e.hypothesis == h.id), None)
    return f"{h.prior:.0%}{f', said {told.by}' if told is not None else ''}; it orders the tests and decides nothing"


def _now(view: View) -> str:
    """What goes on, and the reason that was given for it."""
    ledger = view.ledger
    rows: list[tuple[str, str]] = []
    doing = view.doing
    if doing is not None:
        rows += [("now", event_line(doing))]
        rows += [("for", f"{h.id} {h.claim}") for n in doing.hypotheses if (h := ledger.hypotheses.get(n)) is not None]
    if ledger.choices and doing is not None and doing.risk is not Risk.READ:
        rows += [("this next", ledger.choices[-1].choice.words)]
    if view.question is not None:
        rows += [("asks", event_line(view.question)), ("", "/approve, /deny; /commands shows what would be run")]
    if ledger.paused and ledger.pause is not None:
        rows += [("paused", f"by {ledger.pause.by}; /go lets it go on")]
    done = [e for e in view.history if isinstance(e, ev.ActionEnded)]
    rows += [("last", event_line(done[-1]))] if done else []
    waiting = [h for h in ledger.hypotheses.values() if h.status is Status.OPEN and h.decides]
    rows += [("open", f"{h.id} {h.claim}; would tell: {h.decides}") for h in waiting[:_MOST]]
    return labels(rows, label_width=11, width=view.width) if rows else "nothing goes on yet"


command = Command("why", "/why [H3]", "What a claim rests on; alone: what goes on.", _run, any_hypothesis)
