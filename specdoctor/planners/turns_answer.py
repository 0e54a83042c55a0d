"""What a comparison of two launches in turns came to, as the conclusion of its run."""

from __future__ import annotations

from specdoctor.analysis.turns import TurnsOutcome, turns_outcome
from specdoctor.core.errors import EXIT_INCONCLUSIVE, EXIT_OK
from specdoctor.core.launch import LaunchChange
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Verdict
from specdoctor.core.ports import Advice, Briefing, Conclusion


def turns_conclusion(briefing: Briefing) -> Conclusion | None:
    """Which of the two launches is faster, or that it is not clear; None where the server is down."""
    ledger = briefing.ledger
    if briefing.scene is None or briefing.scene.view.state == "down":
        return None
    if not ledger.relaunches:
        refused = [r.why for r in ledger.standing_refusals]
        return Conclusion(
            exit_code=EXIT_INCONCLUSIVE,
            verdict=Verdict.NOT_ENOUGH_EVIDENCE,
            headline=f"nothing was compared: {refused[-1] if refused else 'the other launch was not started'}",
        )
    second = ledger.relaunches[0].change
    found = turns_outcome(ledger, second)
    clear = found.verdict != "inconclusive"
    return Conclusion(
        exit_code=EXIT_OK if clear else EXIT_INCONCLUSIVE,
        verdict=Verdict.ANSWERED if clear else Verdict.NOT_ENOUGH_EVIDENCE,
        headline=_headline(found, second.label, ledger.settings.concurrency),
        lines=tuple(_lines(found, second.label)),
        missing=() if clear else (f"which is faster: {found.power}; next: {found.next_step}",),
        advice=_advice(found, second),
    )


def _headline(found: TurnsOutcome, second: str, concurrency: int) -> str:
    words = {"better": "faster than", "worse": "slower than"}
    said = words.get(found.verdict, "not told apart from" if found.verdict == "inconclusive" else "as fast as")
    ratio = f" ({found.ratio} times its speed)" if found.ratio is not None else ""
    return f"{second} is {said} the server as found{ratio} at concurrency {concurrency}"


def _lines(found: TurnsOutcome, second: str) -> list[tuple[str, str]]:
    """Both sides start by start, with the evidence."""
    sides = ((label, arm) for label, arm in (("as found", found.first), (second, found.second)) if arm)
    return [("measured", f"{label}: {_speeds(arm)}  {' '.join(m.evidence for m in arm)}") for label, arm in sides]


def _speeds(arm: tuple[Measurement, ...]) -> str:
    speeds = ", ".join(f"{m.throughput.value:.4g}" for m in arm if m.throughput is not None)
    return f"{speeds} tok/s in {len(arm)} start{'s' if len(arm) > 1 else ''}"


def _advice(found: TurnsOutcome, second: LaunchChange) -> Advice | None:
    """The other launch where it is faster; None where the one found is to be left."""
    if found.verdict != "better" or not found.second:
        return None
    return Advice(change=second, evidence=found.second[-1].evidence, why=f"{second.label} is faster, start by start")
