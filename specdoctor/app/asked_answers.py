"""A few answers of the launch that runs, kept whole, and what was kept so far as sets to be compared."""

from __future__ import annotations

from specdoctor.app.run import Run
from specdoctor.core.answer_sets import AnswerKind, AnswerSet, GivenAnswer, in_answers
from specdoctor.core.measurement import BenchPlan, BenchRecord, Measurement
from specdoctor.core.ports import Scene

PROMPTS = 8
TOKENS = 64
_KINDS: tuple[AnswerKind, ...] = ("greedy", "greedy again", "sampled")


def answer_plan(plan: BenchPlan, kind: AnswerKind, *, temperature: float) -> BenchPlan:
    """One client, each of the first prompts once, answers of equal length at most."""
    return plan.model_copy(
        update={
            "concurrency": 1,
            "requests": min(PROMPTS, len(plan.prompt_set.prompts)),
            "max_new_tokens": min(TOKENS, plan.max_new_tokens),
            "warmup": 1,
            "warmup_most": 1,
            "own_command": (),
            "temperature": temperature,
            "keep": "choices" if kind == "greedy again" else "text",
        }
    )


def answer_figures(measurement: Measurement, kind: AnswerKind) -> dict[str, object]:
    """What a measurement of this kind says of itself."""
    return {
        "source": "answers",
        "launch_key": in_answers(measurement.launch_key, kind),
        "launch": in_answers(measurement.launch, kind),
    }


def with_answers(run: Run, scene: Scene) -> Scene:
    """The scene with the answers that this run has asked for, read back from what it has stored."""
    kept = [m for m in run.ledger.measurements if m.source == "answers"]
    return scene.model_copy(update={"answers": tuple(_set(run, m) for m in kept)}) if kept else scene


def _set(run: Run, m: Measurement) -> AnswerSet:
    told = run.ledger.evidence[m.evidence]
    assert told.artefact is not None
    record = BenchRecord.model_validate_json(run.store.artefact(run.id, told.artefact))
    move = run.ledger.actions[told.action].started.move if told.action is not None else {}
    kind = next(k for k in _KINDS if k == move.get("answers"))
    good = [r for r in record.requests if r.ok and r.text is not None]
    tokens = sum(max((r.completion_tokens or 0) - 1, 0) for r in good)  # the first of each comes from the prompt
    return AnswerSet(
        kind=kind,
        speculative=m.spec.on,
        launch=m.launch,
        answers=tuple(GivenAnswer(prompt=r.prompt, text=r.text or "", choices=r.choices) for r in good),
        temperature=float(str(move.get("temperature") or 0.0)),
        accept_length=m.accept_length if m.spec.on else None,
        cycles=round(tokens / m.accept_length.value) if m.spec.on and m.accept_length is not None else None,
        where=told.artefact,
        evidence=m.evidence,
    )
