"""The launches of a run as the search for the best setting sees them: one row a launch, in the order measured."""

from __future__ import annotations

from specdoctor.analysis.draft_setting import OFF, DraftSetting
from specdoctor.analysis.forecast_refusal import two_lengths
from specdoctor.analysis.launch_figures import LaunchFigures, WideStep
from specdoctor.analysis.wide_steps import wide_steps
from specdoctor.core.launch import ORIGINAL
from specdoctor.core.launch_family import AS_FOUND as FAMILY_AS_FOUND
from specdoctor.core.launch_family import LaunchFamily
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Frozen
from specdoctor.core.server import SpecSetting

AS_FOUND = ORIGINAL.key


class MeasuredLaunch(Frozen):
    """One start of the server, measured at one concurrency; `key` is that of its change, "original" as found.

    `family`: what it changes beside the draft length. Only launches of one family are reckoned with together.
    """

    key: str
    figures: LaunchFigures
    evidence: str
    requests: int
    label: str = ""
    family: LaunchFamily = FAMILY_AS_FOUND

    @property
    def as_found(self) -> bool:
        return self.key == AS_FOUND


class MeasuredFamily(Frozen):
    """Launches that differ in the draft length alone, those without speculation too; `name` says what is common."""

    name: str
    family: LaunchFamily
    rows: tuple[MeasuredLaunch, ...]


def setting_of(spec: SpecSetting) -> DraftSetting:
    """The effective speculation of a launch as a setting of the search."""
    if not spec.on:
        return OFF
    return DraftSetting(draft_steps=spec.draft_steps, topk=max(spec.topk, 1), draft_tokens=spec.draft_tokens)


def all_launches(ledger: Ledger, concurrency: int) -> tuple[MeasuredLaunch, ...]:
    """Each start that was benchmarked at this concurrency and gave figures, by its last benchmark there.

    An earlier benchmark of the same start whose accept length clearly differs is kept beside it.
    """
    found: dict[str, list[MeasuredLaunch]] = {}
    for m in ledger.measurements:
        if m.source != "bench" or m.concurrency != concurrency:
            continue
        figures = _figures(m, wide=wide_steps(ledger, m.launch_key, concurrency) if not m.spec.on else ())
        if figures is None:
            continue
        launch = MeasuredLaunch(
            key=m.launch_key,
            figures=figures,
            evidence=m.evidence,
            requests=m.requests,
            label=m.launch,
            family=ledger.family(m.launch_key, on=m.spec.on),
        )
        before = [b for b in found.get(m.launch_key, ()) if two_lengths((b.figures, figures)) is not None]
        found[m.launch_key] = [*before, launch]
    return tuple(launch for launches in found.values() for launch in launches)


def measured_families(ledger: Ledger, concurrency: int) -> tuple[MeasuredFamily, ...]:
    """The launches at this concurrency by what they change beside the draft length, in the order measured."""
    rows = all_launches(ledger, concurrency)
    families = dict.fromkeys(m.family for m in rows if m.figures.setting.on) or dict.fromkeys(m.family for m in rows)
    return tuple(_family(family, rows) for family in families)


def _family(family: LaunchFamily, rows: tuple[MeasuredLaunch, ...]) -> MeasuredFamily:
    own = tuple(m for m in rows if m.family == family or (not m.figures.setting.on and m.family.rest == family.rest))
    changed = "; ".join(part for part in (family.drafter, family.rest) if part)
    first = next((m.label for m in own if m.family == family and m.label), "")
    name = "the drafter as found" if family.as_found else f"{first} ({changed})" if first else changed
    return MeasuredFamily(name=name, family=family, rows=own)


def measured_launches(ledger: Ledger, concurrency: int) -> tuple[MeasuredLaunch, ...]:
    """The launches that differ from the server as found in the draft length alone: what a search goes by."""
    families = measured_families(ledger, concurrency)
    return next((found.rows for found in families if found.family.as_found), ())


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
