"""A target so fast that no acceptance could make up for what a speculative cycle costs by itself."""

from __future__ import annotations

from specdoctor.core.hypothesis import Observation, Prediction
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Status
from specdoctor.core.moves import OpenHypothesis
from specdoctor.planners.state import slower_confirmed

KEY = "explains:LOAD-5:measured"
FAST_TARGET_MS = 3.5
"""A baseline step below this is short against a cycle's fixed work (some 300 tok/s, as public reports of it have)."""


def fixed_cost(ledger: Ledger) -> list[OpenHypothesis]:
    """That a cycle costs more baseline steps than it can ever bring tokens, where no fault was found beside it."""
    concurrency = ledger.settings.concurrency
    now, off = ledger.measured("original", concurrency=concurrency), ledger.baseline(concurrency)
    if not slower_confirmed(ledger) or now is None or off is None or now.step is None or off.step is None:
        return []
    if off.step.value >= FAST_TARGET_MS or now.spec.topk > 1 or now.spec.draft_tokens < 2:
        return []
    if any(o.stance == "supports" and o.binds for o in ledger.observed()):
        return []
    if ledger.settings.other_install is not None:  # the other installation may have the shorter cycle
        return []
    if any(_untested(ledger, o) for o in ledger.observed()):
        return []
    most = now.spec.draft_tokens
    return [
        OpenHypothesis(
            key=KEY,
            cause="LOAD-5",
            claim=f"a cycle costs more than the {most} baseline steps of {off.step.value:.2g} ms that it could save if "
            "every draft were accepted: the target is too fast for it",
            answers="explains",
            about="cycle",
            prediction=Prediction(
                metric="step_ms",
                op=">",
                value=most * off.step.value,
                concurrency=concurrency,
                value_from=f"{most} baseline steps, {off.evidence}",
            ),
            priority="high",
            todo=(("compare one cycle with the baseline steps that it can save", "high"),),
            why="then neither drafter nor acceptance is what loses",
        )
    ]


def _untested(ledger: Ledger, seen: Observation) -> bool:
    """Whether something else may make the cycle long that another launch would tell, and none has told yet."""
    if seen.stance != "suggests" or seen.about != "cycle" or seen.remedy is None:
        return False
    rival = ledger.by_key(seen.rival_key)
    return rival is None or rival.status is Status.OPEN
