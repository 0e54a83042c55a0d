"""The two sides of a comparison: a measurement of a run, or the result file of a known benchmark tool."""

from __future__ import annotations

from typing import NamedTuple

from specdoctor.analysis.attribution import Arm
from specdoctor.core.errors import UsageError
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement


class FileSide(NamedTuple):
    """A result file: an arm for each load it holds, at least one."""

    arms: tuple[Arm, ...]


class RunSide(NamedTuple):
    """A run, and which of its measurements, where one was named."""

    ledger: Ledger
    named: str | None


def loads_in_common(*sides: FileSide | RunSide) -> list[int]:
    """Numbers of clients that all sides measured, first the one nearest to what each would show by itself."""
    counts = [_counts(side) for side in sides]
    return [n for n in dict.fromkeys(n for side in counts for n in side) if all(n in side for side in counts)]


def arm_of(side: FileSide | RunSide, like: int | None) -> Arm:
    """The side at `like` clients where it has that, else what it shows by itself."""
    if isinstance(side, RunSide):
        return arm_of_run(side.ledger, side.named, like=like)
    return next((arm for arm in side.arms if _clients(arm) == like), side.arms[0])


def _clients(arm: Arm) -> int | None:
    told = arm.fingerprint.get("workload.concurrency", "")
    return int(told) if told.isdecimal() else None


def _counts(side: FileSide | RunSide) -> list[int]:
    """Numbers of clients of a side, the one that it shows by itself first."""
    if isinstance(side, FileSide):
        return [n for n in map(_clients, side.arms) if n is not None]
    ledger, named = side
    if named:
        return [_named(ledger, named).concurrency]
    found = [m for m in reversed(ledger.measurements) if m.launch_key == "original" and m.source == "bench"]
    return [_as_found(ledger).concurrency, *dict.fromkeys(m.concurrency for m in found)]


def arm_of_run(ledger: Ledger, measurement: str | None = None, *, like: int | None = None) -> Arm:
    """One measurement of a run, by its id or its evidence's; without either, the server as it was found, at the number
    of clients `like` where it was measured at it.

    The baseline is that of the same run at the same concurrency, where it has one. Raises UsageError for an unknown id
    and for a run that measured nothing.
    """
    found = _named(ledger, measurement) if measurement else _as_found(ledger, like)
    off = ledger.baseline(found.concurrency)
    return Arm(
        label=f"{ledger.run} {found.id} ({found.launch}, concurrency {found.concurrency})",
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


def _as_found(ledger: Ledger, like: int | None = None) -> Measurement:
    """A bench of the original before what its log tells of others' requests."""
    found = ledger.measured("original", concurrency=like) if like is not None else None
    found = found or ledger.measured("original") or next(iter(ledger.measurements), None)
    if found is None:
        raise UsageError(
            f"run {ledger.run} measured nothing", next_step="let it measure: specdoctor investigate TARGET --allow load"
        )
    return found
