"""The two sides of a comparison: a measurement of a run, or the result file of a known benchmark tool."""

from __future__ import annotations

from specdoctor.analysis.attribution import Arm
from specdoctor.core.errors import UsageError
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement


def arm_of_run(ledger: Ledger, measurement: str | None = None) -> Arm:
    """One measurement of a run, by its id or its evidence's; without either, the server as it was found.

    The baseline is that of the same run at the same concurrency, where it has one. Raises UsageError for an unknown id
    and for a run that measured nothing.
    """
    found = _named(ledger, measurement) if measurement else _as_found(ledger)
    off = ledger.baseline(found.concurrency)
    return Arm(
        label=f"{ledger.run} {found.id} ({found.launch})",
        throughput=found.throughput,
        accept_length=found.accept_length,
        step=found.step,
        baseline=off.throughput if off is not None and found.concurrency == 1 and found.spec.on else None,
        fingerprint=found.fingerprint,
    )


def _named(ledger: Ledger, measurement: str) -> Measurement:
    found = next((m for m in ledger.measurements if measurement in (m.id, m.evidence)), None)
    if found is None:
        known = ", ".join(f"{m.id} ({m.launch}, {m.evidence})" for m in ledger.measurements) or "none"
        raise UsageError(f"run {ledger.run} has no measurement {measurement!r}", next_step=f"it has: {known}")
    return found


def _as_found(ledger: Ledger) -> Measurement:
    """A bench of the original before what its log tells of others' requests."""
    found = ledger.measured("original") or next(iter(ledger.measurements), None)
    if found is None:
        raise UsageError(
            f"run {ledger.run} measured nothing", next_step="let it measure: specdoctor investigate TARGET --allow load"
        )
    return found
