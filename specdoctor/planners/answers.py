"""Does the server answer as it does without speculation? Asked where the user complains of what it writes.

The launch as found and the one without speculation are asked the same few prompts: greedily, without speculation once
more, and at the user's temperature.
"""

from __future__ import annotations

from specdoctor.analysis.symptom import Symptom
from specdoctor.core.answer_sets import SUBJECT, SUSPICION, AnswerKind
from specdoctor.core.hypothesis import Prediction
from specdoctor.core.ledger import Ledger
from specdoctor.core.moves import Bench, Move, OpenHypothesis, RunChecks
from specdoctor.core.ports import Briefing
from specdoctor.planners.experiments import LOSSY, OFF, baseline_change
from specdoctor.planners.state import benched

CHECK = ("losslessness",)
"""The check that judges what was answered."""

_JUDGE = "are these the answers of the target alone?"
_KINDS: tuple[AnswerKind, ...] = ("greedy", "greedy again", "sampled")
_WHY: dict[AnswerKind, str] = {
    "greedy": "what does it write greedily?",
    "greedy again": "does it write the same twice, and where are two tokens nearly equal?",
    "sampled": "what does it write when it samples, and what becomes of the drafts?",
}


def answers_claim(briefing: Briefing, symptom: Symptom) -> list[OpenHypothesis]:
    """That it answers otherwise than without speculation, once the answers as found are there."""
    change = baseline_change(briefing)
    if change is None or not _asked(briefing.ledger, "original"):
        return []
    return [
        OpenHypothesis(
            key=LOSSY,
            cause=None,
            claim="with speculation this server does not answer as without it",
            answers="symptom",
            prediction=Prediction(
                metric="reading",
                op="!=",
                text="what it gives without speculation",
                subject=SUBJECT,
                under=change.key,
                under_label=change.label,
                setting=OFF,
            ),
            priority="high",
            decides="launch without speculation and ask it the same prompts",
            todo=(("launch without speculation", "high"), ("ask it the same prompts, greedily and sampled", "high")),
            why="verification must leave the text to the target alone",
        )
    ]


def answer_moves(briefing: Briefing, symptom: Symptom) -> list[Move]:
    """What is to be asked of the launch that runs now, once it was measured; then the judgement."""
    ledger, scene, change = briefing.ledger, briefing.scene, baseline_change(briefing)
    current = ledger.current_launch
    if not symptom.asks_about_answers or scene is None or change is None or current is None:
        return []
    if current.key not in ("original", change.key) or not benched(ledger, current.key, ledger.settings.concurrency):
        return []
    asked = _asked(ledger, current.key)
    for kind in _KINDS:
        if kind in asked or (kind == "greedy again" and current.key == "original"):
            continue
        heat = symptom.temperature if kind == "sampled" else 0.0
        return [Bench(launch_key=current.key, answers=kind, temperature=heat, why=_WHY[kind])]
    judged = sum(a.started.move.get("names") == list(CHECK) for a in ledger.actions.values())
    launches = sum(bool(_asked(ledger, key)) for key in ("original", change.key))
    return [RunChecks(names=CHECK, why=_JUDGE)] if judged < launches else []


def suspected_answers(ledger: Ledger) -> list[OpenHypothesis]:
    """What the answers make likely and do not prove, with what would."""
    return [
        OpenHypothesis(
            key=o.rival_key,
            cause=o.cause,
            claim=o.claim,
            answers="explains",
            prediction=Prediction(metric="reading", op="!=", subject=SUSPICION, text="what it gives without it"),
            decides="the same prompts without speculation, greedily and sampled, more of them",
            why=f"check {o.check}",
        )
        for o in ledger.observed()
        if o.check in CHECK and o.stance == "suggests"
    ]


def _asked(ledger: Ledger, launch_key: str) -> set[object]:
    """The kinds of answers that this launch was asked for, whatever came of it."""
    return {
        a.started.move.get("answers")
        for a in ledger.actions.values()
        if a.started.what == "bench"
        and a.started.move.get("launch_key") == launch_key
        and a.started.move.get("answers")
        and a.ended is not None
        and a.ended.outcome != "unknown"
    }
