"""A chain whose late positions are seldom accepted, by the server's own counts: does a shorter one serve faster?"""

from __future__ import annotations

from specdoctor.analysis.symptom import Symptom
from specdoctor.core.errors import EngineError
from specdoctor.core.launch import LaunchChange
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement
from specdoctor.core.moves import OpenHypothesis
from specdoctor.core.ports import Briefing
from specdoctor.planners.launch_tests import faster_than_found, launch_and_bench

KEY = "explains:CFG-4:idle-positions"
SOUND_FIRST = 0.6
"""Where the first position is accepted less often the drafter is in question, not the length of its chain."""
PAYS = 0.2
"""A position accepted in fewer cycles than this seldom pays for its drafting and verifying (named heuristic)."""
AT_LEAST = 2


def idle_positions(briefing: Briefing, symptom: Symptom) -> list[OpenHypothesis]:
    """That a chain without its idle positions is faster than the server as found."""
    ledger = briefing.ledger
    now, change = _measured(ledger), shorter_chain(briefing)
    if now is None or now.throughput is None or change is None or not symptom.asks_about_speed:
        return []
    kept = pays(now)
    assert kept is not None
    shares = ", ".join(f"{share:.2f}" for share in marginal(now))
    return [
        OpenHypothesis(
            key=KEY,
            cause="CFG-4",
            claim=f"positions {kept + 1} to {now.spec.draft_steps} are seldom accepted ({shares}): {kept} are faster",
            answers="explains",
            prediction=faster_than_found(now, now.throughput, change),
            priority="high",
            decides=f"launch with {kept} drafts and benchmark it",
            todo=launch_and_bench(f"with {kept} drafts"),
            why="late positions cost as much as early ones",
        )
    ]


def shorter_chain(briefing: Briefing) -> LaunchChange | None:
    """The launch with a chain of those positions that pay; None where all do, or their shares are not known."""
    scene, engine, now = briefing.scene, briefing.engine, _measured(briefing.ledger)
    kept = pays(now) if now is not None else None
    if scene is None or engine is None or now is None or kept is None:
        return None
    setting = now.spec.model_copy(update={"draft_steps": kept, "draft_tokens": kept + 1})
    try:
        return engine.change_spec(scene.view, setting, label=f"{kept} drafts")
    except EngineError:
        return None


def pays(now: Measurement) -> int | None:
    """How many of a chain's positions pay where the others are idle; None where that cannot be said."""
    shares, steps = marginal(now), now.spec.draft_steps
    if now.spec.topk > 1 or len(shares) < 1 or shares[0] < SOUND_FIRST:
        return None
    if len(shares) < steps and shares[-1] >= PAYS:
        return None
    kept = sum(share >= PAYS for share in shares)
    return kept if steps - kept >= AT_LEAST else None


def marginal(now: Measurement) -> list[float]:
    """The share of all cycles that accept each position, as far as enough cycles got there."""
    out: list[float] = []
    for conditional in now.conditional:
        out.append((out[-1] if out else 1.0) * conditional.value)
    return out


def _measured(ledger: Ledger) -> Measurement | None:
    return ledger.measured("original", concurrency=ledger.settings.concurrency)
