"""The launches of a run as the search for the best setting sees them: one row a launch, in the order measured."""

from __future__ import annotations

from specdoctor.analysis.draft_setting import OFF, DraftSetting
from specdoctor.analysis.launch_figures import LaunchFigures, WideStep
from specdoctor.analysis.wide_steps import wide_steps
from specdoctor.core.launch import ORIGINAL
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Frozen
from specdoctor.core.server import SpecSetting

AS_FOUND = ORIGINAL.key


class MeasuredLaunch(Frozen):
    """One start of the server, measured at one concurrency; `key` is that of its change, "original" as found."""

    key: str
    figures: LaunchFigures
    evidence: str
    requests: int

    @property
    def as_found(self) -> bool:
        return self.key == AS_FOUND


def setting_of(spec: SpecSetting) -> DraftSetting:
    """The effective speculation of a launch as a setting of the search."""
    if not spec.on:
        return OFF
    return DraftSetting(draft_steps=spec.draft_steps, topk=max(spec.topk, 1), draft_tokens=spec.draft_tokens)


def measured_launches(ledger: Ledger, concurrency: int) -> tuple[MeasuredLaunch, ...]:
    """Each start that was benchmarked at this concurrency and gave figures, by its last benchmark there."""
    found: dict[str, MeasuredLaunch] = {}
    for m in ledger.measurements:
        if m.source != "bench" or m.concurrency != concurrency:
            continue
        figures = _figures(m, wide=wide_steps(ledger, m.launch_key, concurrency) if not m.spec.on else ())
        if figures is not None:
            launch = MeasuredLaunch(key=m.launch_key, figures=figures, evidence=m.evidence, requests=m.requests)
            found[m.launch_key] = launch
    return tuple(found.values())


def _figures(m: Measurement, *, wide: tuple[WideStep, ...]) -> LaunchFigures | None:
    if m.step is None or m.throughput is None or min(m.step.value, m.throughput.value) <= 0.0:
        return None
    return LaunchFigures(
        setting=setting_of(m.spec),
        step=m.step,
        throughput=m.throughput,
        accept_length=m.accept_length,
        conditional=m.conditional,
        wide=wide,
    )


def concurrencies(ledger: Ledger) -> tuple[int, ...]:
    """The numbers of clients that this run measured with, the smallest first."""
    return tuple(sorted({m.concurrency for m in ledger.measurements if m.source == "bench"}))
