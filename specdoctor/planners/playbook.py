"""The scripted planner: the steps of a playbook as moves of the same loop that rules use.

Like every planner it keeps nothing in mind: which steps are done is read from the ledger, so that a killed replay can
be resumed.
"""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.analysis.symptom import read_symptom
from specdoctor.core.hypothesis import Prediction
from specdoctor.core.launch import ORIGINAL, LaunchChange
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Status
from specdoctor.core.moves import (
    Bench,
    Compute,
    Finish,
    Move,
    Note,
    OpenHypothesis,
    Relaunch,
    Restore,
    RunChecks,
    Snapshot,
    Watch,
)
from specdoctor.core.ports import Briefing, Conclusion
from specdoctor.core.server import SpecSetting
from specdoctor.planners.expectations import exit_code, outcomes
from specdoctor.planners.experiments import OFF, other_install_change, remedy_change
from specdoctor.planners.fixed_cost import fixed_cost
from specdoctor.planners.hypotheses import excluded, explained_by_reading, findings
from specdoctor.planners.playbook_keys import hypothesis_key
from specdoctor.planners.playbook_schema import (
    AS_FOUND,
    BenchStep,
    Change,
    CheckStep,
    ComputeStep,
    Playbook,
    RelaunchStep,
    RestoreStep,
    Step,
    WatchStep,
)
from specdoctor.planners.rival_tests import measured_claims
from specdoctor.planners.rules import blocked
from specdoctor.planners.trained_limits import trained_limits


class PlaybookPlanner:
    """Proposes the steps of a playbook in order, one at a time; each claim goes on the list before its launch."""

    name = "playbook"

    def __init__(self, playbook: Playbook) -> None:
        self.playbook = playbook

    def propose(self, briefing: Briefing) -> Sequence[Move]:
        """Open what can be predicted by now, else the next step that is not done, else put back and finish."""
        ledger, scene = briefing.ledger, briefing.scene
        if scene is None:
            return [] if ledger.reading_tried else [Snapshot(why="read everything once before the first step")]
        opening = self._opening(briefing)
        if opening:
            return opening
        _, move = self._next(briefing)
        if move is not None:
            return [move]
        if ledger.changed:
            return [Restore(why="the playbook is at its end: put the original back")]
        return [Finish(why="the playbook is at its end")]

    def _next(self, briefing: Briefing) -> tuple[int, Move | None]:
        """The next step that is not done, by its index and as a move; None after the last."""
        down = briefing.scene is not None and briefing.scene.view.state == "down"
        for index, step in enumerate(self.playbook.steps):
            if down and not isinstance(step, CheckStep | ComputeStep):
                continue
            move = self._move(step, index, briefing)
            if move is not None:
                return index, move
        return len(self.playbook.steps), None

    def steps_left(self, briefing: Briefing) -> bool:
        """Whether anything but putting the original back is left to do."""
        if briefing.scene is None or self._opening(briefing):
            return True
        index, move = self._next(briefing)
        later = (step for step in self.playbook.steps[index + 1 :] if not isinstance(step, RestoreStep))
        return move is not None and (not isinstance(move, Restore) or any(later))

    def conclude(self, briefing: Briefing) -> Conclusion:
        """Whether what the playbook expects was met; it is asked when the last step is done."""
        return Conclusion(exit_code=exit_code(outcomes(self.playbook, briefing.ledger)))

    def _opening(self, briefing: Briefing) -> list[Move]:
        """Faults that the checks found, and claims of later steps whose threshold is known by now."""
        ledger = briefing.ledger
        told = read_symptom(ledger.settings.symptom)
        known = (
            *findings(ledger),
            *excluded(ledger, told),
            *explained_by_reading(ledger),
            *trained_limits(ledger),
            *fixed_cost(ledger),
            *measured_claims(briefing, told),
        )
        moves = [m for m in known if ledger.by_key(m.key) is None]
        for step in self.playbook.steps:
            if isinstance(step, RelaunchStep) and ledger.by_key(hypothesis_key(step)) is None:
                opened = self._stated(step, briefing)
                moves += [opened] if opened is not None else []
        return list({m.key: m for m in moves}.values())

    def _stated(self, step: RelaunchStep, briefing: Briefing) -> OpenHypothesis | None:
        """The step's hypothesis with its prediction in figures; None as long as its reference is not measured."""
        change = change_of(step, briefing)
        stated = step.hypothesis
        threshold = self._threshold(step, briefing)
        if change is None or threshold is None:
            return None
        value, source = threshold
        engine, scene = briefing.engine, briefing.scene
        return OpenHypothesis(
            key=hypothesis_key(step),
            cause=stated.cause,
            claim=stated.claim,
            answers=stated.answers,
            prediction=Prediction(
                metric=stated.prediction.metric,
                op=stated.prediction.op,
                value=value,
                under=change.key,
                under_label=step.relaunch,
                concurrency=briefing.ledger.settings.concurrency,
                value_from=source,
                setting=engine.effective_spec(scene.view, change) if engine and scene else None,
            ),
            priority="high",
            decides=f"launch {step.relaunch} and benchmark it",
            todo=((f"launch {step.relaunch}", "high"), ("benchmark it with the same prompts", "medium")),
            why=f"playbook: {self.playbook.title}",
        )

    def _threshold(self, step: RelaunchStep, briefing: Briefing) -> tuple[float, str] | None:
        """The value that the prediction is about, and where it comes from."""
        predicted = step.hypothesis.prediction
        if predicted.value is not None:
            return predicted.value, "by the playbook"
        than = predicted.than or AS_FOUND
        key = self._key(than, briefing)
        found = briefing.ledger.measured(key, concurrency=briefing.ledger.settings.concurrency) if key else None
        if found is None:
            return None
        figures = {"throughput_tok_s": found.throughput, "accept_length": found.accept_length, "step_ms": found.step}
        figure = figures[predicted.metric]
        return None if figure is None else (figure.value, f"{than}, {found.evidence}")

    def _key(self, label: str, briefing: Briefing) -> str | None:
        """The key of the launch with this label; None where its change does not apply to this server."""
        if label == AS_FOUND:
            return ORIGINAL.key
        step = next(s for s in self.playbook.steps if isinstance(s, RelaunchStep) and s.relaunch == label)
        change = change_of(step, briefing)
        return change.key if change is not None else None

    def _move(self, step: Step, index: int, briefing: Briefing) -> Move | None:
        """What the step comes to now; None when it is done, refused, or does not apply."""
        ledger = briefing.ledger
        match step:
            case CheckStep():
                move: Move = RunChecks(names=step.names, why=self._why(index))
            case WatchStep():
                move = Watch(seconds=step.watch, why=self._why(index))
            case ComputeStep():
                move = Compute(basis=step.compute, why=self._why(index))
            case RestoreStep():
                return Restore(why=self._why(index)) if ledger.changed else None
            case BenchStep():
                return self._bench(step, index, briefing)
            case RelaunchStep():
                return self._relaunch(step, briefing)
        return move if _taken(ledger, move) <= self._earlier(index, step) else None

    def _bench(self, step: BenchStep, index: int, briefing: Briefing) -> Move | None:
        ledger = briefing.ledger
        current, key = ledger.current_launch, self._key(step.bench, briefing)
        if current is None or current.key != key or blocked(ledger, "bench"):
            return None
        concurrency = step.concurrency or ledger.settings.concurrency
        testing = tuple(h.id for h in ledger.hypotheses.values() if h.prediction and h.prediction.under == key)
        move = Bench(
            launch_key=current.key,
            concurrency=concurrency,
            hypotheses=testing,
            prompts=step.prompts or "",
            why=self._why(index),
        )
        return move if _taken(ledger, move) <= self._earlier(index, step) else None

    def _relaunch(self, step: RelaunchStep, briefing: Briefing) -> Move | None:
        ledger = briefing.ledger
        change = change_of(step, briefing)
        if change is None:
            return _said_once(ledger, f"{step.relaunch}: left out, {_why_not(step, briefing)}")
        move = Relaunch(change=change, why=step.hypothesis.claim)
        if _taken(ledger, move) or blocked(ledger, "relaunch"):
            return None
        hypothesis = ledger.by_key(hypothesis_key(step))
        if hypothesis is None:
            return _said_once(ledger, f"{step.relaunch}: left out, what its prediction compares with was not measured")
        if hypothesis.status is not Status.OPEN:
            return _said_once(ledger, f"{step.relaunch}: left out, {hypothesis.id} is {hypothesis.status} without it")
        return move.model_copy(update={"hypotheses": (hypothesis.id,)})

    def _earlier(self, index: int, step: Step) -> int:
        """How many steps before this one are the same: that many times it was done for them."""
        return sum(1 for other in self.playbook.steps[:index] if other == step)

    def _why(self, index: int) -> str:
        return f"step {index + 1} of {len(self.playbook.steps)}"


def change_of(step: RelaunchStep, briefing: Briefing) -> LaunchChange | None:
    """The launch change of a step on this server; None where there is nothing to undo, or no speculation to end."""
    scene, engine, change = briefing.scene, briefing.engine, step.change
    if scene is None or engine is None:
        return None
    if change.undo is not None:
        seen = [o for o in briefing.ledger.observed(change.undo) if o.remedy]
        remedies = [o.remedy for stance in ("supports", "suggests") for o in seen if o.stance == stance and o.remedy]
        found = remedy_change(briefing, remedies[0]) if remedies else None
        return found.model_copy(update={"label": step.relaunch}) if found is not None else None
    if change.other_install:
        other = other_install_change(briefing)
        return other.model_copy(update={"label": step.relaunch}) if other is not None else None
    if change.flags is not None or change.remove:
        flags = {flag: _values(value) for flag, value in (change.flags or {}).items()}
        return engine.change_flags(label=step.relaunch, set_flags=flags, remove_flags=change.remove)
    now = scene.view.spec
    if now is None or not now.on:
        return None
    return engine.change_spec(scene.view, _setting(change, now), label=step.relaunch)


def _setting(change: Change, now: SpecSetting) -> SpecSetting:
    """The speculation that a change asks for: what is not said stays, a chain of k steps verifies k + 1 tokens."""
    if change.off or change.draft_steps is None:
        return OFF
    topk = change.topk if change.topk is not None else now.topk
    tokens = change.draft_tokens
    if tokens is None:
        tokens = change.draft_steps + 1 if topk == 1 else now.draft_tokens
    return SpecSetting(algorithm=now.algorithm, draft_steps=change.draft_steps, topk=topk, draft_tokens=tokens)


def _values(value: str | int | float | tuple[str | int | float, ...] | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(str(v) for v in value) if isinstance(value, tuple) else (str(value),)


def _why_not(step: RelaunchStep, briefing: Briefing) -> str:
    if step.change.other_install:
        if briefing.ledger.settings.other_install is not None:
            return "another image takes a server that docker or podman keeps and that may be restarted"
        return "the targets file names no other_install"
    if step.change.undo is not None:
        return f"no check found {step.change.undo} with a change that undoes it"
    if briefing.scene is not None and briefing.scene.view.spec is None:
        return "nothing tells which speculation is in force"
    return "no speculation is in force"


def _said_once(ledger: Ledger, text: str) -> Note | None:
    return None if any(n.text == text for n in ledger.notes) else Note(text=text)


def _taken(ledger: Ledger, move: Move) -> int:
    """How often the ledger shows this very move, done or refused."""
    wanted = move.model_dump(mode="json", exclude={"why", "hypotheses", "choice"})
    done = sum(
        1
        for a in ledger.actions.values()
        if a.started.what == move.kind and {k: v for k, v in a.started.move.items() if k in wanted} == wanted
    )
    name = f"relaunch {move.change.key}" if isinstance(move, Relaunch) else move.kind
    return done + sum(1 for r in ledger.refusals if r.move == name)
