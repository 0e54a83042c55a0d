"""Old against new: is the engine that runs slower than another installation of it, on one host in one session?"""

from __future__ import annotations

from specdoctor.core.estimate import Estimate
from specdoctor.core.hypothesis import Operator
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Status
from specdoctor.core.moves import OpenHypothesis
from specdoctor.core.ports import Briefing
from specdoctor.planners.experiments import OLD_NEW, other_install_change
from specdoctor.planners.launch_tests import as_found, launch_and_bench, throughput_under


def old_against_new(briefing: Briefing) -> list[OpenHypothesis]:
    """The claim that the other installation undoes the loss; once it is known what is lost.

    Where speculation loses, the other engine would have to bring back what no speculation gives; else more than now.
    """
    ledger = briefing.ledger
    change, slower = other_install_change(briefing), ledger.by_key("symptom:slower")
    if change is None or (slower is not None and slower.status is Status.OPEN):
        return []
    threshold = _threshold(ledger, lost=slower is not None and slower.status is Status.SUPPORTED)
    if threshold is None:
        return []
    figure, op, value_from = threshold
    return [
        OpenHypothesis(
            key=OLD_NEW,
            cause="VER-1",
            claim=f"the engine that runs is slower than the one of {change.label}, "
            f"which brings {op} {figure.value:.4g} tok/s",
            answers="explains",
            prediction=throughput_under(
                change,
                op=op,
                value=figure.value,
                value_from=value_from,
                concurrency=ledger.settings.concurrency,
            ),
            priority="high",
            decides=f"launch {change.label} and benchmark it",
            todo=launch_and_bench(change.label),
            why="both engines must be measured in one state of the system",
        )
    ]


def _threshold(ledger: Ledger, *, lost: bool) -> tuple[Estimate, Operator, str] | None:
    concurrency = ledger.settings.concurrency
    found, off = ledger.measured("original", concurrency=concurrency), ledger.baseline(concurrency)
    if lost and off is not None and off.throughput is not None:
        return off.throughput, ">=", f"without speculation, {off.evidence}"
    if found is not None and found.throughput is not None:
        return found.throughput, ">", as_found(found)
    return None
