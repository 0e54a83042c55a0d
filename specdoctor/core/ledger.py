"""The ledger: what a run knows, folded from its events.

`Ledger.apply` is the only way in. It refuses what breaks the rules of a run: closing a hypothesis without evidence,
an experiment without a prediction, an action twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import assert_never

from specdoctor.core import events as ev
from specdoctor.core import person_events as pe
from specdoctor.core.errors import LedgerError
from specdoctor.core.hypothesis import Hypothesis, TodoItem
from specdoctor.core.launch import ORIGINAL, LaunchOutcome, RestoreOutcome
from specdoctor.core.ledger_view import ActionEntry, LedgerView
from specdoctor.core.model import DECIDED, Status


class Ledger(LedgerView):
    """Fold of a run's events: what they mean for what the run knows."""

    def apply(self, event: ev.Event) -> None:  # noqa: C901  one branch per kind of event, checked by assert_never
        """Take one event in. Raises LedgerError when it breaks a rule; the ledger is then unchanged."""
        match event:
            case ev.RunStarted():
                if self.started is not None:
                    raise LedgerError("a run starts once")
                self.started, self.allow, self.first_at = event, event.settings.allow, event.at
            case ev.RunResumed(allow=allow):
                self._budget(event)
                self.resumes += 1
                self._restores_before, self._relaunches_before = len(self.restores), len(self.relaunches)
                self._actions_before = len(self.actions)
                self._model_calls_before = len(self.model_calls)
                self._proposals_before = len(self.proposals_refused)
                self.ended = None
                if allow is not None:
                    self.allow = allow
                    self._refusals_before, self._answers_before = len(self.refusals), len(self.answers)
            case ev.ClaimStated(claim=claim):
                (self.claims if claim.recalled_at is None else self.recalled).append(claim)
            case ev.HypothesisOpened(hypothesis=h):
                if h.id in self.hypotheses or self.by_key(h.key) is not None:
                    raise LedgerError(f"{h.id} ({h.key}) is already on the list")
                if h.status is not Status.OPEN:
                    raise LedgerError(f"{h.id} opens as {h.status}; a hypothesis opens undecided")
                self.hypotheses[h.id] = h
                self._settle(lambda ask: ask.key == h.key)
            case ev.HypothesisClosed():
                self._close(event)
            case ev.TodoChanged():
                self._move_todo(event)
            case ev.MoveRefused():
                self.refusals.append(event)
            case ev.ExperimentChosen():
                self.choices.append(event)
            case ev.ModelAsked():
                self.model_calls.append(event)
            case ev.ProposalRefused():
                self.proposals_refused.append(event)
            case ev.ApprovalAsked():
                self.batches[event.batch] = event
            case ev.ApprovalAnswered():
                if event.batch not in self.batches:
                    raise LedgerError(f"an answer to {event.batch}, which was never asked")
                self.answers.append(event)
            case ev.ActionStarted():
                self._start(event)
            case ev.ActionEnded():
                self._end(event)
            case ev.EvidenceRecorded():
                if event.evidence in self.evidence:
                    raise LedgerError(f"evidence {event.evidence} exists")
                self.evidence[event.evidence] = event
            case ev.Observed():
                self._need_evidence((event.evidence,), "an observation")
                self.observations.append(event)
            case ev.Measured(measurement=m):
                self._need_evidence((m.evidence,), "a measurement")
                (self.earlier if m.source == "earlier" else self.measurements).append(m)
            case ev.BoundComputed():
                self._need_evidence((event.evidence,), "a bound")
                self.bounds.append(event)
            case ev.ServerRelaunched():
                self._need_evidence((event.evidence,), "a relaunch")
                self._relaunched(event)
            case ev.ServerRestored():
                self._need_evidence((event.evidence,), "a restore")
                self._restored(event)
            case ev.ControlCompared():
                self._need_evidence((event.evidence,), "a control")
                self.control = event
            case ev.ServerSeen():
                self.server = event
                self.current_server = event.ref
            case ev.ServerRecognised():
                self._need_evidence((event.evidence,), "a launch by hand")
                self.by_hand = event if event.change.key != ORIGINAL.key else None
                self.current_launch, self.current_server = event.change, event.server
            case ev.HostReleased():
                self.released = True
            case ev.NoteAdded():
                self.notes.append(event)
            case pe.PersonAct():
                self._take_word(event)
            case ev.VerdictReached():
                self.verdict = event
            case ev.RunEnded():
                self.ended, self._last_end = event, event.at
            case _:
                assert_never(event)
        self.count += 1
        self.last_at = event.at

    def _budget(self, event: ev.RunResumed) -> None:
        """A resume may widen the budgets; the run's other settings stay as they were begun."""
        given = {"max_restarts": event.max_restarts, "max_minutes": event.max_minutes}
        wider = {name: value for name, value in given.items() if value is not None}
        if self.started is not None and wider:
            self._set(wider)
            self._refusals_before = len(self.refusals)

    def _set(self, update: Mapping[str, object]) -> None:
        """Other settings than the run was begun with."""
        if self.started is None:
            raise LedgerError("the run has not started")
        settings = self.started.settings.model_copy(update=update)
        self.started = self.started.model_copy(update={"settings": settings})

    def _take_word(self, event: pe.PersonEvent) -> None:
        """What a person said or wants. It ranks, adds and asks; it decides nothing."""
        match event:
            case pe.SymptomTold(text=text):
                self._set({"symptom": "; ".join(filter(None, (self.settings.symptom, text)))})
            case pe.PriorSet(hypothesis=name, prior=prior):
                self.hypotheses[name] = self._listed(name).model_copy(update={"prior": prior})
                self.priors_set[name] = prior
            case pe.HypothesisTakenUp(hypothesis=name):
                h = self._listed(name)
                if h.status is not Status.PARKED:
                    raise LedgerError(f"{name} is {h.status}; only what was set aside can be taken up again")
                self.hypotheses[name] = h.model_copy(update={"status": Status.OPEN, "because": ""})
            case pe.PauseSet():
                self.pause = event
            case pe.MoveAsked(ask=ask):
                if ask in self.asked:
                    raise LedgerError(f"{ask} was asked before")
                self.asks[ask] = self.asked[ask] = event
            case pe.MoveAnswered(ask=ask):
                if self.asks.pop(ask, None) is None:
                    raise LedgerError(f"an answer to {ask}, which does not wait for one")
            case _:
                assert_never(event)

    def _listed(self, name: str) -> Hypothesis:
        if name not in self.hypotheses:
            raise LedgerError(f"no hypothesis {name}")
        return self.hypotheses[name]

    def _settle(self, done: Callable[[pe.MoveAsked], bool]) -> None:
        """What a person asked for waits no longer once something came of it."""
        self.asks = {name: ask for name, ask in self.asks.items() if not done(ask)}

    def _need_evidence(self, names: tuple[str, ...], what: str) -> None:
        missing = [n for n in names if n not in self.evidence]
        if missing:
            raise LedgerError(f"{what} cites {', '.join(missing)}, which is not recorded")

    def _close(self, event: ev.HypothesisClosed) -> None:
        h = self.hypotheses.get(event.hypothesis)
        if h is None:
            raise LedgerError(f"no hypothesis {event.hypothesis}")
        if h.status in DECIDED:
            raise LedgerError(f"{h.id} is already {h.status}")
        if event.status is Status.OPEN:
            raise LedgerError(f"{h.id} cannot be closed as open")
        if event.status in DECIDED and not event.evidence:
            raise LedgerError(f"{h.id} cannot be {event.status} without evidence; test it first: {h.decides}")
        self._need_evidence(event.evidence, f"the decision on {h.id}")
        update = {"status": event.status, "because": event.because, "evidence": event.evidence}
        self.hypotheses[h.id] = h.model_copy(update=update)

    def _move_todo(self, event: ev.TodoChanged) -> None:
        h = self.hypotheses.get(event.hypothesis)
        if h is None or all(t.id != event.todo for t in h.todo):
            raise LedgerError(f"no todo item {event.todo} under {event.hypothesis}")
        todo: tuple[TodoItem, ...] = tuple(
            t.model_copy(update={"status": event.status}) if t.id == event.todo else t for t in h.todo
        )
        self.hypotheses[h.id] = h.model_copy(update={"todo": todo})

    def _start(self, event: ev.ActionStarted) -> None:
        if event.action in self.actions:
            raise LedgerError(f"action {event.action} was already started")
        if event.what == "relaunch":
            tested = [self.hypotheses[h] for h in event.hypotheses if h in self.hypotheses]
            if not any(h.prediction is not None for h in tested):
                raise LedgerError("a restart needs a hypothesis that predicts something")
            self._changed_before, self.changed = self.changed, True
            self.released = False
            self.current_launch = None
        self.actions[event.action] = ActionEntry(event)
        self._settle(lambda ask: ask.mark == event.why)

    def _note_down(self, outcome: LaunchOutcome | RestoreOutcome, *, begun: float, at: float, unseen: bool) -> None:
        """Count the time without a server between the last start that came to nothing and this one.

        Where nobody has seen it come back (`unseen`), it counts to the end of the run that had left it down.
        """
        given_way = outcome.status == "undone" and outcome.other is not None
        if outcome.status == "refused" or (outcome.status == "undone" and not given_way):
            return  # what the guard undid, its own restoration counts
        if self.down_since is not None:
            until = self._last_end if unseen and self._last_end is not None else begun
            self.between_s += max(0.0, until - self.down_since)
        stopped = not isinstance(outcome, LaunchOutcome) or outcome.stop_s > 0.0 or self.down_since is not None
        failed = outcome.status in ("failed", "timeout") and stopped
        self.down_since = min(at, begun + outcome.downtime_s) if failed or given_way else None

    def _begun(self, action: str, otherwise: float) -> float:
        entry = self.actions.get(action)
        return entry.started.at if entry is not None else otherwise

    def _relaunched(self, event: ev.ServerRelaunched) -> None:
        begun = self._begun(event.outcome.action, event.at)
        self._note_down(event.outcome, begun=begun, at=event.at, unseen=False)
        self.relaunches.append(event)
        if event.outcome.status == "refused":
            self.changed = self._changed_before
            self.current_launch = self.relaunches[-2].change if self.changed and len(self.relaunches) > 1 else ORIGINAL
        else:
            self.changed = True
            self.current_launch = event.change if event.outcome.status == "ready" else None
            self.current_server = event.outcome.server

    def _restored(self, event: ev.ServerRestored) -> None:
        self.restores.append(event)
        otherwise = event.at if event.acted_at is None else event.acted_at
        begun = self._begun(event.outcome.action, otherwise) if event.started else otherwise
        unseen = event.by == "hand" or (event.by == "specdoctor" and event.outcome.status == "nothing-to-do")
        self._note_down(event.outcome, begun=begun, at=event.at, unseen=unseen)
        if event.acted_at is not None:
            self.guard_acted_at = event.acted_at
        back = event.outcome.proved or event.outcome.left_to_others
        self.changed = not back
        self.current_launch = ORIGINAL if back else None
        self.current_server = event.outcome.server

    def _end(self, event: ev.ActionEnded) -> None:
        entry = self.actions.get(event.action)
        if entry is None:
            raise LedgerError(f"action {event.action} ended without a start")
        if entry.ended is not None and entry.ended.outcome != "unknown":
            raise LedgerError(f"action {event.action} ended twice")
        self._need_evidence(event.evidence, f"the end of {event.action}")
        entry.ended = event


def left_to_do(ledger: Ledger) -> list[ev.MoveRefused]:
    """Launches that were left to a person and have neither been recognised nor measured, each once, newest last."""
    found = {r.change.key: r for r in ledger.refusals if r.change is not None and r.start}
    done = {m.launch_key for m in ledger.measurements}
    running = ledger.by_hand.change.key if ledger.by_hand is not None else None
    return [r for key, r in found.items() if key not in done and key != running]


def fold(events: Iterable[ev.Event], ledger: Ledger | None = None) -> Ledger:
    """All events into a ledger (a new one if none is given)."""
    ledger = ledger or Ledger()
    for event in events:
        ledger.apply(event)
    return ledger
