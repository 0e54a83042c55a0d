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
from specdoctor.core.hypothesis import Claim, Hypothesis, Observation, TodoItem
from specdoctor.core.launch import ORIGINAL, LaunchChange
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import DECIDED, Risk, Status
from specdoctor.core.server import ServerRef


class ActionEntry:
    """One action: its start, and its end once there is one."""

    def __init__(self, started: ev.ActionStarted) -> None:
        self.started = started
        self.ended: ev.ActionEnded | None = None


class Ledger:
    """Fold of a run's events. Attributes are read by planners, policy, judges and renderers; only `apply` writes."""

    def __init__(self) -> None:
        self.count = 0
        self.started: ev.RunStarted | None = None
        self.allow: Risk = Risk.READ
        self.claims: list[Claim] = []
        self.recalled: list[Claim] = []
        self.hypotheses: dict[str, Hypothesis] = {}
        self.evidence: dict[str, ev.EvidenceRecorded] = {}
        self.observations: list[ev.Observed] = []
        self.measurements: list[Measurement] = []
        self.earlier: list[Measurement] = []
        """What older logs on the host show of other days. Kept apart: no test rests on it."""
        self.bounds: list[ev.BoundComputed] = []
        self.actions: dict[str, ActionEntry] = {}
        self.relaunches: list[ev.ServerRelaunched] = []
        self.restores: list[ev.ServerRestored] = []
        self.control: ev.ControlCompared | None = None
        """The original measured after it was put back, against itself before."""
        self.server: ev.ServerSeen | None = None
        self.refusals: list[ev.MoveRefused] = []
        self.model_calls: list[ev.ModelAsked] = []
        self.proposals_refused: list[ev.ProposalRefused] = []
        self.notes: list[ev.NoteAdded] = []
        self.batches: dict[str, ev.ApprovalAsked] = {}
        self.answers: list[ev.ApprovalAnswered] = []
        self.asks: dict[str, pe.MoveAsked] = {}
        """What a person has asked for and nothing has come of yet."""
        self.asked: dict[str, pe.MoveAsked] = {}
        """Everything that a person has asked for."""
        self.priors_set: dict[str, float] = {}
        """How likely a person holds claims to be, by hypothesis."""
        self.pause: pe.PauseSet | None = None
        """The last word of a person on pausing."""
        self.verdict: ev.VerdictReached | None = None
        self.ended: ev.RunEnded | None = None
        self.released = False
        self.choices: list[ev.ExperimentChosen] = []
        self.resumes = 0
        self.changed = False
        """True while the server may not be as it was found."""
        self.current_launch: LaunchChange | None = ORIGINAL
        """What the running server was started with; None while no server runs or nobody knows."""
        self.current_server: ServerRef | None = None
        """What proves the process that serves now."""
        self.by_hand: ev.ServerRecognised | None = None
        """The launch that a person has made in our place and that runs now; the person puts the original back."""
        self._changed_before = False
        self._refusals_before = 0
        self._relaunches_before = 0
        self._actions_before = 0
        self._answers_before = 0
        self._restores_before = 0
        self._model_calls_before = 0
        self._proposals_before = 0
        self.guard_acted_at: float | None = None
        """When a guard on the host last acted, as far as this run has taken note of it."""
        self.first_at = 0.0
        self.last_at = 0.0

    @property
    def settings(self) -> ev.RunSettings:
        if self.started is None:
            raise LedgerError("the run has not started")
        return self.started.settings

    @property
    def run(self) -> str:
        if self.started is None:
            raise LedgerError("the run has not started")
        return self.started.run

    @property
    def restarts(self) -> int:
        """Every start that specdoctor made, the restoring ones included; those under way count too.

        A run that was killed right after an outcome was told is told it again: an action is one start.
        """
        made = {r.outcome.action for r in self.relaunches if r.outcome.status != "refused"}
        made |= {r.outcome.action for r in self.restores if r.started}
        return len(made) + len(self.unsettled())

    @property
    def downtime_s(self) -> float:
        return sum(r.outcome.downtime_s for r in self.relaunches) + sum(r.outcome.downtime_s for r in self.restores)

    @property
    def restored(self) -> bool | None:
        """None: nothing was ever changed. True: the original is back, proved equal, and not seen to be slower."""
        if not self.changed and all(r.outcome.status == "refused" for r in self.relaunches):
            return None
        return not self.changed and (self.control is None or self.control.equal is not False)

    @property
    def restore_failed(self) -> bool:
        """Whether our last try to put the original back did not succeed; a resumed run may try again."""
        tried = self.restores[self._restores_before :]
        return bool(tried) and not tried[-1].outcome.proved and tried[-1].by != "guard"

    @property
    def reading_tried(self) -> bool:
        """Whether the host was read since the run was last taken up: a run that found no server looks again then."""
        return any(a.started.what == "snapshot" for a in list(self.actions.values())[self._actions_before :])

    @property
    def paused(self) -> bool:
        return self.pause is not None and self.pause.paused

    def open_actions(self) -> list[ActionEntry]:
        return [a for a in self.actions.values() if a.ended is None]

    def unsettled(self) -> list[ActionEntry]:
        """Restarts and restorations without an end, and those whose end the link was too broken to tell."""
        told = {r.outcome.action for r in self.relaunches} | {r.outcome.action for r in self.restores}
        return [
            a
            for name, a in self.actions.items()
            if a.started.what in ("relaunch", "restore")
            and (a.ended is None or (a.ended.outcome == "unknown" and name not in told))
        ]

    def by_key(self, key: str) -> Hypothesis | None:
        return next((h for h in self.hypotheses.values() if h.key == key), None)

    def measured(self, launch_key: str, *, concurrency: int | None = None) -> Measurement | None:
        """The latest bench of a launch at a concurrency (any if None)."""
        for m in reversed(self.measurements):
            if m.launch_key == launch_key and m.source in ("bench", "prompts") and concurrency in (None, m.concurrency):
                return m
        return None

    def baseline(self, concurrency: int) -> Measurement | None:
        """The latest benchmark without speculation at a concurrency."""
        for m in reversed(self.measurements):
            if not m.spec.on and m.source == "bench" and m.concurrency == concurrency:
                return m
        return None

    def settled(self, change: LaunchChange) -> bool:
        """Whether a launch needs no further try: it failed or was measured. An interrupted one may be made again."""
        unmade = ("refused", "undone")
        tried = [r for r in self.relaunches if r.change.key == change.key and r.outcome.status not in unmade]
        return bool(tried) and (tried[-1].outcome.status != "ready" or self.measured(change.key) is not None)

    def refused_starts(self, change: LaunchChange) -> list[ev.ServerRelaunched]:
        """The host's refusals to make this launch, one after the other up to now, since the run was last taken up."""
        tried = [r for r in self.relaunches[self._relaunches_before :] if r.change.key == change.key]
        made = [i for i, r in enumerate(tried, 1) if r.outcome.status != "refused"]
        return tried[made[-1] if made else 0 :]

    def notes_by(self, author: str) -> list[ev.NoteAdded]:
        """The remarks of one author."""
        return [n for n in self.notes if n.by == author]

    def observed(self, cause: str | None = None) -> list[Observation]:
        return [o.observation for o in self.observations if cause is None or o.observation.cause == cause]

    def next_id(self, prefix: str) -> str:
        """The next free id of a kind: H (hypothesis), E (evidence), A (action), M (measurement), B (batch),
        Q (what a person asks for)."""
        sizes = {
            "H": len(self.hypotheses),
            "E": len(self.evidence),
            "A": len(self.actions),
            "M": len(self.measurements) + len(self.earlier),
            "B": len(self.batches),
            "Q": len(self.asked),
        }
        return f"{prefix}{sizes[prefix] + 1}"

    def granted(self, risk: Risk) -> bool:
        """Whether a tier is allowed without another question."""
        if risk <= self.allow:
            return True
        return any(
            a.granted
            and (
                (a.scope == "run" and self.batches[a.batch].risk >= risk)
                or (a.scope == "kind" and self.batches[a.batch].risk is risk)
            )
            for a in self._standing_answers
        )

    def denied(self, risk: Risk) -> bool:
        """Whether somebody said no to this tier or a lower one, and it still holds."""
        return any(not a.granted and self.batches[a.batch].risk <= risk for a in self._standing_answers)

    @property
    def standing_refusals(self) -> list[ev.MoveRefused]:
        """Refusals that still hold: a resume that says anew what is allowed lets everything be proposed again."""
        return self.refusals[self._refusals_before :]

    @property
    def model_tokens(self) -> int:
        """Tokens of the language model so far, prompts and answers."""
        return sum(call.prompt_tokens + call.completion_tokens for call in self.model_calls)

    @property
    def model_cost(self) -> float | None:
        """What the language model cost so far; None where nobody named its prices."""
        costs = [call.cost for call in self.model_calls]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def model_words(self) -> str:
        """What the language model took, in words; empty where none was asked."""
        if not self.model_calls:
            return ""
        about = "about " if any(call.counted == "estimated" for call in self.model_calls) else ""
        cost = f", cost {self.model_cost:.4g}" if self.model_cost is not None else ""
        return f"{about}{self.model_tokens} tokens in {len(self.model_calls)} calls{cost}"

    @property
    def model_calls_now(self) -> list[ev.ModelAsked]:
        """Questions to the language model since the run was last taken up."""
        return self.model_calls[self._model_calls_before :]

    @property
    def proposals_refused_now(self) -> list[ev.ProposalRefused]:
        """Refused proposals since the run was last taken up."""
        return self.proposals_refused[self._proposals_before :]

    @property
    def _standing_answers(self) -> list[ev.ApprovalAnswered]:
        return self.answers[self._answers_before :]

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
                self.ended = event
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

    def _relaunched(self, event: ev.ServerRelaunched) -> None:
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
        if event.acted_at is not None:
            self.guard_acted_at = event.acted_at
        self.changed = not event.outcome.proved
        self.current_launch = ORIGINAL if event.outcome.proved else None
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
