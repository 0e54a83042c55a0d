"""What a search for the fastest setting came to, as the conclusion of its run."""

from __future__ import annotations

from specdoctor.analysis.launches import MeasuredLaunch
from specdoctor.analysis.tune_space import candidates, change_for
from specdoctor.analysis.tuned import Tuned, TunedAt, tuned
from specdoctor.core.errors import EXIT_INCONCLUSIVE, EXIT_OK
from specdoctor.core.model import Verdict
from specdoctor.core.ports import Advice, Briefing, Conclusion


def tune_conclusion(briefing: Briefing) -> Conclusion | None:
    """The best setting by number of clients, sure or not; None where the server is down."""
    if briefing.scene is None or briefing.scene.view.state == "down":
        return None
    found = tuned(briefing.ledger, candidates(briefing))
    return Conclusion(
        exit_code=EXIT_OK if found.sure else EXIT_INCONCLUSIVE,
        verdict=Verdict.ANSWERED if found.sure else Verdict.NOT_ENOUGH_EVIDENCE,
        headline=_headline(found),
        lines=(
            *(line for result in found.results for line in _lines(result)),
            *(("with", f"every launch was measured with {fault}") for fault in found.faults if found.results),
        ),
        missing=tuple(_missing(result) for result in found.results if not result.sure),
        advice=_advice(briefing, found),
    )


def _headline(found: Tuned) -> str:
    if not found.results:
        return "no setting was measured"
    return "the fastest is " + "; ".join(f"{_choice(result)} {_at(result)}" for result in found.results)


def _choice(result: TunedAt) -> str:
    if result.best is None:
        return "not known"
    name = result.best.label if result.best.on else "off"
    return name if result.confirmed else f"{name} (not confirmed)"


def _at(result: TunedAt) -> str:
    return f"at concurrency {result.concurrency}"


def _lines(result: TunedAt) -> list[tuple[str, str]]:
    """The choice of one number of clients, and what it was measured against."""
    seen = "; ".join(f"{_name(m)} {m.figures.throughput.with_unit()}" for m in result.measured)
    cited = " ".join(dict.fromkeys(m.evidence for m in result.measured))
    return [("best", f"{_at(result)}: {result.words}"), ("because", result.why), ("measured", f"{seen}  {cited}")]


def _name(launch: MeasuredLaunch) -> str:
    return launch.figures.setting.label + (" (as found)" if launch.as_found else "")


def _missing(result: TunedAt) -> str:
    if result.best is None:
        return f"{_at(result)}: {result.why}"
    return f"{_at(result)}: a fresh start of {result.best.label} after it was chosen, measured there"


def _advice(briefing: Briefing, found: Tuned) -> Advice | None:
    """The launch of the best setting at the first number of clients; None where it is the one found, or not known."""
    result = found.results[0] if found.results else None
    if result is None or result.best is None:
        return None
    seen = [m for m in result.measured if m.figures.setting == result.best]
    change = change_for(briefing, result.best)
    if change is None or not seen or any(m.as_found for m in seen):
        return None
    why = f"the fastest setting {_at(result)}" + ("" if result.sure else ", not confirmed by a fresh start")
    return Advice(change=change, evidence=seen[-1].evidence, why=why)
