"""A finished run as a playbook: its actions as steps, its claims with their predictions, and what it found.

Changes are written in the most portable way that comes to the same launch on the host of the run: without speculation,
the remedy of a cause, a speculation setting, the other installation, and flags last.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from specdoctor.core.clean import one_line
from specdoctor.core.errors import EngineError, UsageError
from specdoctor.core.events import ActionStarted, ServerRelaunched
from specdoctor.core.hypothesis import Hypothesis, Prediction
from specdoctor.core.launch import ORIGINAL, LaunchChange
from specdoctor.core.ledger import Ledger
from specdoctor.core.ledger_view import ActionEntry
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import DECIDED, Frozen, Risk
from specdoctor.core.ports import Briefing
from specdoctor.core.recorded import Recorded, RecordedFigure
from specdoctor.planners.playbook import change_of
from specdoctor.planners.playbook_schema import (
    AS_FOUND,
    BenchStep,
    Budgets,
    CauseExpectation,
    Change,
    CheckStep,
    ComputeStep,
    Expectation,
    FigureName,
    HypothesisExpectation,
    Load,
    Playbook,
    PromptName,
    RelaunchStep,
    RestoreStep,
    StatedHypothesis,
    StatedPrediction,
    Step,
    VerdictExpectation,
    WatchStep,
)

OWN_QUESTIONS = ("tune", "turns")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")
_METRICS = typing.get_args(FigureName)
_OPS = (">=", ">", "<=", "<")


class Written(Frozen):
    """A playbook, a remark for each of its steps (empty: none), and what of the run no step can say."""

    playbook: Playbook
    remarks: tuple[str, ...]
    left_out: tuple[str, ...]


def playbook_of(briefing: Briefing, recorded: Recorded) -> Written:
    """The playbook of a run. Raises UsageError for one that has nothing to repeat."""
    ledger = briefing.ledger
    if ledger.settings.planner in OWN_QUESTIONS:
        raise UsageError(
            f"run {ledger.run} was a search with a question of its own ({ledger.settings.planner})",
            next_step="repeat it with the command that made it: specdoctor tune, or bench --against-launch",
        )
    writer = _Writer(briefing)
    writer.write()
    if not writer.steps or ledger.verdict is None:
        raise UsageError(
            f"run {ledger.run} did nothing that could be repeated, or did not end",
            next_step=f"go on with it first: specdoctor investigate --resume {ledger.run}",
        )
    settings = ledger.settings
    symptom = one_line(settings.symptom)
    playbook = Playbook(
        title=f"As in run {ledger.run}" + (f": {_first_sentence(symptom)}" if symptom else ""),
        about=f"Written from run {ledger.run} on {recorded.target}, {recorded.at}.",
        allow=typing.cast(Any, writer.tier.word),
        symptom=symptom,
        budgets=Budgets(restarts=settings.max_restarts, minutes=max(settings.max_minutes, 1.0)),
        load=Load(
            concurrency=settings.concurrency,
            requests=settings.requests,
            prompts=settings.prompt_file or "mixed",
            form=settings.form,
        ),
        steps=tuple(writer.steps),
        expect=tuple(_expectations(ledger, writer.steps)),
        recorded=recorded.model_copy(update={"figures": tuple(_repeated(recorded, writer.steps))}),
    )
    return Written(playbook=playbook, remarks=tuple(writer.remarks), left_out=tuple(writer.left_out))


def _first_sentence(text: str) -> str:
    """What a title has room for: it is not cut within a sentence."""
    return _SENTENCE_END.split(text, maxsplit=1)[0].rstrip(".;")


class _Writer:
    """Goes through the actions of a run in order."""

    def __init__(self, briefing: Briefing) -> None:
        self._briefing = briefing
        self._ledger = briefing.ledger
        self._labels = {ORIGINAL.key: AS_FOUND}
        self.steps: list[Step] = []
        self.remarks: list[str] = []
        self.left_out: list[str] = []
        self.tier = Risk.READ

    def write(self) -> None:
        for action in self._ledger.actions.values():
            done = action.ended is not None and action.ended.outcome == "done"
            made = self._step(action, done=done)
            if isinstance(made, str):
                self.left_out += [made] if made else []
            else:
                self.steps.append(made)
                self.remarks.append(_remark(action))
                self.tier = max(self.tier, action.started.risk)

    def _step(self, action: ActionEntry, *, done: bool) -> Step | str:
        """The step of an action; else why there is none, empty where the loop does it by itself."""
        move = action.started.move
        match action.started.what:
            case "relaunch":
                return self._relaunch(action.started)
            case _ if not done:
                return f"{action.started.action} {action.started.what}: it came to no end"
            case "checks":
                names = tuple(str(n) for n in _list(move.get("names")))
                return CheckStep(check=names or ("all",))
            case "watch":
                seen = any(isinstance(s, WatchStep) for s in self.steps)
                return "" if seen else WatchStep(watch=float(str(move.get("seconds") or 5.0)))
            case "compute":
                return ComputeStep(compute="typed" if move.get("basis") == "typed" else "measured")
            case "bench":
                return self._bench(action.started)
            case "restore":
                return RestoreStep() if self._changed() else ""
            case _:
                return ""

    def _changed(self) -> bool:
        """Whether a step has started another launch that no later one has put back."""
        made = [s for s in self.steps if isinstance(s, RelaunchStep | RestoreStep)]
        return bool(made) and isinstance(made[-1], RelaunchStep)

    def _measured_then(self, action: str) -> bool:
        """Whether a launch was measured by a step before the next start; an interrupted one was not."""
        made = list(self._ledger.actions.values())
        for entry in made[[a.started.action for a in made].index(action) + 1 :]:
            if entry.started.what in ("relaunch", "restore"):
                return False
            ended = entry.ended is not None and entry.ended.outcome == "done"
            if entry.started.what == "bench" and ended and isinstance(self._bench(entry.started), BenchStep):
                return True
        return False

    def _bench(self, started: ActionStarted) -> Step | str:
        move = started.move
        if move.get("control"):
            return ""
        label = self._labels.get(str(move.get("launch_key")))
        prompts = str(move.get("prompts") or "")
        if label is None or move.get("wide") or move.get("template") or prompts not in ("", *_prompt_names()):
            return f"{started.action} bench: {one_line(started.why) or 'no step can say it'}"
        clients = int(str(move.get("concurrency") or 1))
        own = clients == self._ledger.settings.concurrency
        return BenchStep(
            bench=label, concurrency=None if own else clients, prompts=typing.cast(Any, prompts) if prompts else None
        )

    def _relaunch(self, started: ActionStarted) -> Step | str:
        made = next((r for r in self._ledger.relaunches if r.outcome.action == started.action), None)
        if made is None or made.outcome.status in ("refused", "undone"):
            return f"{started.action} relaunch: it was not made"
        if made.change.key in self._labels:
            return f"{started.action} relaunch: a second start of {self._labels[made.change.key]}"
        label = self._label(made.change)
        hypothesis = next(
            (h for name in started.hypotheses if (h := self._ledger.hypotheses.get(name)) and h.prediction), None
        )
        stated = self._stated(hypothesis) if hypothesis is not None else None
        change = self._change(made, hypothesis, label)
        if hypothesis is None or stated is None or change is None:
            return f"{started.action} relaunch, {one_line(made.change.label)}: no step can say it"
        self._labels[made.change.key] = label
        if not self._measured_then(started.action):
            del self._labels[made.change.key]
            came = made.outcome.reason if made.outcome.status != "ready" else "interrupted"
            return f"{started.action} relaunch, {label}: it was not measured ({one_line(came) or made.outcome.status})"
        return RelaunchStep(relaunch=label, change=change, hypothesis=stated)

    def _label(self, change: LaunchChange) -> str:
        label, taken = one_line(change.label), set(self._labels.values())
        return label if label not in taken else f"{label} ({len(taken)})"

    def _stated(self, hypothesis: Hypothesis) -> StatedHypothesis | None:
        """The claim with its prediction, against another launch where its value is that launch's own figure."""
        foretold = hypothesis.prediction
        if foretold is None or foretold.metric not in _METRICS or foretold.op not in _OPS or foretold.value is None:
            return None
        than = self._reference(foretold)
        return StatedHypothesis(
            claim=one_line(hypothesis.claim),
            cause=hypothesis.cause,
            answers=hypothesis.answers,
            prediction=StatedPrediction(
                metric=typing.cast(Any, foretold.metric),
                op=typing.cast(Any, foretold.op),
                value=None if than else foretold.value,
                than=than,
            ),
        )

    def _reference(self, foretold: Prediction) -> str | None:
        for m in self._ledger.measurements:
            figure = _figure(m, foretold.metric)
            same = figure == foretold.value and m.concurrency == self._ledger.settings.concurrency
            if same and m.source == "bench" and m.launch_key in self._labels:
                return self._labels[m.launch_key]
        return None

    def _change(self, made: ServerRelaunched, hypothesis: Hypothesis | None, label: str) -> Change | None:
        """The first way to say it that comes to the same launch on the host of the run."""
        for given in _ways(made, hypothesis):
            try:
                change = Change.model_validate(given)
                step = RelaunchStep(relaunch=label, change=change, hypothesis=_ANY)
                found = change_of(step, self._briefing)
            except (ValidationError, EngineError):
                continue
            # Without what was read, nothing but the flags themselves is certain to be the same launch.
            if found is None and self._briefing.scene is None and ("flags" in given or "remove" in given):
                return change
            if found is not None and found.key == made.change.key:
                return change
        return None


_ANY = StatedHypothesis(claim="-", prediction=StatedPrediction(metric="throughput_tok_s", op=">", value=0.0))


def _ways(made: ServerRelaunched, hypothesis: Hypothesis | None) -> Iterator[dict[str, Any]]:
    change, foretold = made.change, hypothesis.prediction if hypothesis is not None else None
    yield {"off": True}
    if hypothesis is not None and hypothesis.cause is not None:
        yield {"undo": hypothesis.cause}
    for spec in (foretold.setting if foretold is not None else None, made.spec):
        if spec is not None and spec.on:
            yield {"draft_steps": spec.draft_steps, "topk": spec.topk, "draft_tokens": spec.draft_tokens}
    yield {"other_install": True}
    flags = {flag: (values[0] if len(values) == 1 else values or None) for flag, values in change.set_flags.items()}
    yield {"flags": flags or None, "remove": change.remove_flags}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _prompt_names() -> tuple[str, ...]:
    return typing.get_args(PromptName)


def _figure(m: Measurement, metric: str) -> float | None:
    found = {"throughput_tok_s": m.throughput, "accept_length": m.accept_length, "step_ms": m.step}.get(metric)
    return found.value if found is not None else None


def _remark(action: ActionEntry) -> str:
    """Why it was done, and what came of it."""
    ended = one_line(action.ended.summary) if action.ended is not None else "no end is known"
    return ": ".join(part for part in (one_line(action.started.why), ended) if part)


def _repeated(recorded: Recorded, steps: Sequence[Step]) -> Iterator[RecordedFigure]:
    """Figures that the steps will measure again."""
    again = {(s.bench, s.prompts or "") for s in steps if isinstance(s, BenchStep)}
    yield from (f for f in recorded.figures if (f.launch, f.prompts) in again)


def _expectations(ledger: Ledger, steps: Sequence[Step]) -> Iterator[Expectation]:
    """How the claims ended, what the verdict named, and the verdict; figures are held by the record instead."""
    labels = {s.relaunch for s in steps if isinstance(s, RelaunchStep)}
    for relaunch in ledger.relaunches:
        entry, label = ledger.actions.get(relaunch.outcome.action), one_line(relaunch.change.label)
        named = entry.started.hypotheses if entry is not None else ()
        tested = [h for name in named if (h := ledger.hypotheses.get(name)) and h.status in DECIDED]
        if tested and label in labels:
            labels.discard(label)
            yield HypothesisExpectation(hypothesis=label, status=(tested[0].status,))
    reached = ledger.verdict
    if reached is not None:
        for cause in reached.causes:
            if cause.status == "supported":
                yield CauseExpectation(cause=cause.cause, status=("supported",), role=(cause.role,))
        yield VerdictExpectation(verdict=(typing.cast(Any, reached.verdict),))
