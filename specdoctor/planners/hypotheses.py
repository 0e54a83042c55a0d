"""What the rules put on the list: faults that were read, what undoing them would bring, the symptom."""

from __future__ import annotations

from specdoctor.analysis.symptom import Role, Symptom
from specdoctor.core.hypothesis import Observation, Operator, Prediction
from specdoctor.core.launch import LaunchChange
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Risk, Status
from specdoctor.core.moves import OpenHypothesis
from specdoctor.core.ports import Briefing
from specdoctor.planners.experiments import OFF, baseline_change, remedy_change
from specdoctor.planners.launch_tests import as_found, faster_than_found, launch_and_bench
from specdoctor.planners.starts import KEY as STARTS
from specdoctor.planners.starts import next_start
from specdoctor.planners.state import slower_confirmed


def findings(ledger: Ledger) -> list[OpenHypothesis]:
    """Each fault that a check found by reading, with the reading it predicts."""
    out: list[OpenHypothesis] = []
    for o in ledger.observed():
        if o.stance != "supports" or o.reading is None:
            continue
        out.append(
            OpenHypothesis(
                key=f"exists:{o.cause}:{o.reading.subject}",
                cause=o.cause,
                claim=o.claim,
                answers="exists",
                prediction=o.reading,
                priority="high" if o.binds else "low",
                about=o.about,
                todo=((f"read {o.reading.subject}", "high"),),
                why=f"check {o.check}",
            )
        )
    return out


def excluded(ledger: Ledger, symptom: Symptom) -> list[OpenHypothesis]:
    """Where somebody says that something changed: each suspect that what was read excludes, so that it is ruled out."""
    if "regression" not in symptom.complaints:
        return []
    return [
        OpenHypothesis(
            key=f"claimed:{o.cause}:{o.reading.subject}",
            cause=o.cause,
            claim=o.against,
            answers="explains",
            prediction=o.reading,
            about=o.about,
            todo=((f"read {o.reading.subject}", "high"),),
            why=f"check {o.check}",
        )
        for o in ledger.observed()
        if o.stance == "refutes" and o.reading is not None and o.against
    ]


def explaining(briefing: Briefing, symptom: Symptom) -> list[OpenHypothesis]:
    """For each binding fault: would undoing it remove the symptom? The threshold is typed, or measured as found.

    A fault that is read and costs acceptance explains a loss once the loss was measured, and nothing before.
    """
    ledger = briefing.ledger
    out: list[OpenHypothesis] = []
    for o in ledger.observed():
        if o.stance != "supports" or not o.binds:
            continue
        if o.slows == "all alike" and not _pays(ledger, symptom):
            continue
        if o.remedy is None:
            if o.explains and o.reading is not None and (o.about == "symptom" or o.slows or slower_confirmed(ledger)):
                out.append(_read_explanation(o))
            continue
        if o.explains:
            out.append(_read_explanation(o))
        change = remedy_change(briefing, o.remedy)
        prediction = _explanation(briefing, symptom, o, change) if change is not None else None
        if prediction is None:
            continue
        claim = f"undoing it ({o.remedy.label}) brings {prediction.op} {prediction.value:.4g} tok/s"
        out.append(
            OpenHypothesis(
                key=f"explains:{o.cause}:{o.remedy.label}",
                cause=o.cause,
                claim=claim,
                answers="explains",
                prediction=prediction,
                priority="high",
                decides=f"launch with {o.remedy.label} and benchmark it",
                todo=(
                    ("what does arithmetic say before a restart?", "high"),
                    (f"launch with {o.remedy.label}", "medium"),
                    ("benchmark it with the same prompts", "medium"),
                ),
                why=o.claim,
            )
        )
    return out


def explained_by_reading(ledger: Ledger) -> list[OpenHypothesis]:
    """Faults that no launch undoes and that cost acceptance by what was read: they explain a loss that was measured."""
    if not slower_confirmed(ledger):
        return []
    found = [o for o in ledger.observed() if o.stance == "supports" and o.binds and o.explains and o.remedy is None]
    return [_read_explanation(o) for o in found if o.reading is not None and o.about == "accept_length"]


def _read_explanation(o: Observation) -> OpenHypothesis:
    """The reading itself shows the symptom at work (requests waiting at a cap, the line a server died on)."""
    return OpenHypothesis(
        key=f"explains:{o.cause}:read",
        cause=o.cause,
        claim=f"this is what is seen: {o.claim}",
        answers="explains",
        prediction=o.reading,
        priority="high",
        about=o.about,
        todo=(("read it in log and arguments", "high"),),
        why=f"check {o.check}",
    )


def _explanation(
    briefing: Briefing, symptom: Symptom, o: Observation, change: LaunchChange | None
) -> Prediction | None:
    ledger, scene, engine = briefing.ledger, briefing.scene, briefing.engine
    if change is None or scene is None or engine is None or o.remedy is None:
        return None
    concurrency = ledger.settings.concurrency
    threshold = _threshold(ledger, symptom, concurrency)
    if threshold is None:
        return None
    value, source, op = threshold
    return Prediction(
        metric="throughput_tok_s",
        op=op,
        value=value,
        under=change.key,
        under_label=o.remedy.label,
        concurrency=concurrency,
        value_from=source,
        setting=engine.effective_spec(scene.view, change),
    )


def _threshold(ledger: Ledger, symptom: Symptom, concurrency: int) -> tuple[float, str, Operator] | None:
    """What undoing a fault must bring: what the user wished, their baseline, else more than it gives as found."""
    if symptom.asks_about_speed:
        roles: tuple[Role, ...] = ("wished", "baseline")
        for role in roles:
            value = symptom.figure("throughput_tok_s", role)
            if value is not None:
                return value, f"typed, {role}", ">="
        off, found = ledger.baseline(concurrency), ledger.measured("original", concurrency=concurrency)
        if off is None or off.throughput is None:
            return None
        if found is not None and found.throughput is not None and found.throughput.value > off.throughput.value:
            return found.throughput.value, as_found(found), ">"
        return off.throughput.value, f"without speculation, {off.evidence}", ">="
    now = ledger.measured("original", concurrency=concurrency)
    if now is not None and now.throughput is not None:
        return now.throughput.value, as_found(now), ">"
    return None


def _pays_as_typed(ledger: Ledger, symptom: Symptom) -> bool:
    """Whether nobody asks about speed and what was measured agrees with the gain that was typed."""
    if symptom.asks_about_speed:
        return False
    now = ledger.measured("original", concurrency=ledger.settings.concurrency)
    typed = symptom.figure("throughput_tok_s", "baseline")
    if typed is None:
        return True
    return now is not None and now.throughput is not None and now.throughput.low > typed


def _pays(ledger: Ledger, symptom: Symptom) -> bool:
    """Whether speculation gains here, by measurement, or as typed where no launch without it may be made."""
    slower = ledger.by_key("symptom:slower")
    if slower is not None and slower.status is not Status.OPEN:
        return slower.status is Status.FALSIFIED
    now = ledger.measured("original", concurrency=ledger.settings.concurrency)
    typed = symptom.figure("throughput_tok_s", "baseline")
    typed_only = ledger.denied(Risk.RESTART) or not ledger.granted(Risk.RESTART)
    return (
        typed_only
        and typed is not None
        and now is not None
        and now.throughput is not None
        and now.throughput.low > typed
    )


def symptom_claim(briefing: Briefing, symptom: Symptom) -> list[OpenHypothesis]:
    """Is it slower with speculation than without, here and now? Predicts the baseline from what was just measured."""
    ledger = briefing.ledger
    now = ledger.measured("original", concurrency=ledger.settings.concurrency)
    change = baseline_change(briefing)
    if change is None or now is None or now.throughput is None or _pays_as_typed(ledger, symptom):
        return []
    starts = ledger.by_key(STARTS)
    if starts is not None and (starts.status is Status.SUPPORTED or next_start(ledger) is not None):
        return []
    return [
        OpenHypothesis(
            key="symptom:slower",
            cause=None,
            claim="this server is slower with speculation than without",
            answers="symptom",
            prediction=faster_than_found(now, now.throughput, change, setting=OFF),
            priority="high",
            decides="launch without speculation and benchmark it",
            todo=launch_and_bench("without speculation"),
            why="the comparison needs both sides in the same state of the system",
        )
    ]
