"""Is the speed settled by each start? The same launch once more, until two states are seen or the restarts are used."""

from __future__ import annotations

from specdoctor.core.hypothesis import Prediction
from specdoctor.core.launch import START_MARK, LaunchChange
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Status
from specdoctor.core.moves import OpenHypothesis
from specdoctor.planners.launch_tests import launch_and_bench

KEY = "explains:ENV-6:starts"


def starts_claim(ledger: Ledger) -> list[OpenHypothesis]:
    """The claim that equal starts differ, where somebody says so and the server was measured as found."""
    seen = next((o for o in ledger.observed("ENV-6") if o.stance == "suggests"), None)
    if seen is None or ledger.measured("original", concurrency=ledger.settings.concurrency) is None:
        return []
    return [
        OpenHypothesis(
            key=KEY,
            cause="ENV-6",
            claim=seen.claim,
            answers="explains",
            prediction=Prediction(
                metric="start_states",
                op=">=",
                value=2,
                under_label="the same launch, started several times",
                concurrency=ledger.settings.concurrency,
            ),
            priority="high",
            decides=f"{seen.decides}; more starts than were allowed here",
            todo=launch_and_bench("the same again"),
            why=f"check {seen.check}",
        )
    ]


def next_start(ledger: Ledger) -> tuple[LaunchChange, str] | None:
    """The next start of the same launch, and the hypothesis it tests; None when decided or not claimed."""
    claim = ledger.by_key(KEY)
    if claim is None or claim.status is not Status.OPEN or ledger.settings.max_restarts - ledger.restarts < 2:
        return None
    made = sum(1 for r in ledger.relaunches if r.change.repeats and r.outcome.status == "ready")
    number = made + 2
    return LaunchChange(label=f"the same, start {number}", set_env={START_MARK: str(number)}), claim.id
