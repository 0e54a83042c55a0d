"""How far two starts of the same server lie apart on this host: seen in this run, or on record from earlier ones."""

from __future__ import annotations

import math
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping

from specdoctor.analysis.interval import LEVEL, NORMAL_95
from specdoctor.analysis.stats import DEFAULT_LAUNCH_SD
from specdoctor.analysis.student import t_quantile
from specdoctor.core.launch import START_MARK
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Frozen
from specdoctor.core.redact import secret_name

FEWEST_STARTS = 3
"""Starts of one launch before their own spread is taken in place of the assumed one."""

RECORD = "starts on record"
"""The source of the evidence that holds what earlier runs say of this server's starts."""

CHANGES_WITH_A_START = ("server.started", "container.started_at", "container.id")
_OF_THE_DAY = (*CHANGES_WITH_A_START, "host.boot_id", "host.booted_at")
_OF_THE_MEASUREMENT = ("workload.", "args.launch", "args.speculation")
_TOLD_BY_DIGEST = ("model.config.", "draft.config.", "draft.tensors.")
"""What earlier versions recorded no more of than a digest."""


class StartsOnRecord(Frozen):
    """Speeds of equal starts in earlier runs, pooled: squares of the deviations of log speed from the mean of their
    group (one launch, one workload, one state of the system), and the degrees of freedom that these have.
    """

    squares: float
    df: int
    starts: int
    launches: int
    runs: int


class LaunchSpread(Frozen):
    """Relative standard deviation between starts, and what it rests on (`starts` 0: assumed).

    `df` are the degrees of freedom behind `sd`. `earlier`: starts of them that earlier runs made. `assumed`: the
    `starts` of this run lie closer together than is assumed, and so few do not lower it.
    """

    sd: float = DEFAULT_LAUNCH_SD
    starts: int = 0
    df: int | None = None
    earlier: int = 0
    assumed: bool = False

    @property
    def words(self) -> str:
        if not self.starts:
            return f"{self.sd:.0%} between starts (assumed)"
        if self.assumed:
            return f"{self.sd:.0%} between starts (assumed; the {self.starts} seen lie closer)"
        if not self.earlier:
            return f"{self.sd:.0%} between starts (seen in {self.starts})"
        return (
            f"{self.sd:.1%} between starts (seen in {self.starts} on this host, {self.earlier} of them in earlier runs)"
        )

    @property
    def reckoned(self) -> float:
        """What enters an interval that takes the spread for known: more where few starts tell it (t over normal)."""
        return self.sd if self.df is None else self.sd * t_quantile(LEVEL, float(self.df)) / NORMAL_95


def same_starts(ledger: Ledger) -> tuple[Measurement, ...]:
    """Measurements of the launch as found, one for each start of it: as found, started again, put back."""
    again = {r.change.key for r in ledger.relaunches if r.change.repeats}
    found = [m for m in ledger.measurements if m.source in ("bench", "control") and m.throughput is not None]
    ours = [m for m in found if m.launch_key == "original" or m.launch_key in again]
    latest = {(m.launch_key, m.source): m for m in ours if m.concurrency == ledger.settings.concurrency}
    return tuple(latest.values())


def launch_spread(ledger: Ledger) -> LaunchSpread:
    """Where earlier runs measured enough equal starts on this host, theirs and this run's, pooled. Else from three
    starts in this run on their own spread, where it is above the assumed one; else the assumed one.
    """
    recorded = spread_on_record(ledger)
    if recorded is not None:
        return recorded
    logs = _own(ledger)
    if len(logs) < FEWEST_STARTS:
        return LaunchSpread()
    seen = statistics.stdev(logs)
    return LaunchSpread(sd=max(seen, DEFAULT_LAUNCH_SD), starts=len(logs), assumed=seen < DEFAULT_LAUNCH_SD)


def spread_on_record(ledger: Ledger) -> LaunchSpread | None:
    """From what earlier runs measured of equal starts, with those of this run; None where they are too few."""
    found = next((e for e in ledger.evidence.values() if e.source == RECORD), None)
    record = None if found is None else StartsOnRecord.model_validate(found.data)
    if record is None or record.df < FEWEST_STARTS - 1:
        return None
    logs = _own(ledger)
    own = statistics.variance(logs) * (len(logs) - 1) if len(logs) > 1 else 0.0
    df = record.df + max(len(logs) - 1, 0)
    counted = record.starts + (len(logs) if len(logs) > 1 else 0)
    sd = math.sqrt((record.squares + own) / df)
    return LaunchSpread(sd=sd, starts=counted, df=df, earlier=record.starts)


def _own(ledger: Ledger) -> list[float]:
    return [math.log(m.throughput.value) for m in same_starts(ledger) if m.throughput is not None]


def starts_on_record(
    runs: Iterable[tuple[str, Iterable[Measurement]]], *, state: Mapping[str, str]
) -> StartsOnRecord | None:
    """What earlier runs (by id, with their measurements) tell of starts of the server whose fingerprint `state` is.

    Only those of the same host, GPUs, software and arguments count; speculation may be another one, for each launch is
    compared with itself. Several measurements of one start are one value. None where no launch was started twice.
    """
    wanted = _lasting(state)
    groups: dict[tuple[tuple[str, str], ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    seen: dict[tuple[tuple[str, str], ...], set[str]] = defaultdict(set)
    for run, measurements in runs:
        for m in measurements:
            start = m.fingerprint.get("server.started", "").partition(" ticks")[0]
            if m.source not in ("bench", "control") or m.throughput is None or not start:
                continue
            if m.stopped or m.throughput.value <= 0.0 or _lasting(m.fingerprint) != wanted:
                continue
            group = tuple(sorted(_unmarked(m.fingerprint).items()))
            groups[group][start].append(math.log(m.throughput.value))
            seen[group].add(run)
    several = {group: [statistics.fmean(logs) for logs in starts.values()] for group, starts in groups.items()}
    several = {group: values for group, values in several.items() if len(values) > 1}
    if not several:
        return None
    return StartsOnRecord(
        squares=sum(statistics.variance(values) * (len(values) - 1) for values in several.values()),
        df=sum(len(values) - 1 for values in several.values()),
        starts=sum(len(values) for values in several.values()),
        launches=len(several),
        runs=len(set().union(*(seen[group] for group in several))),
    )


def _unmarked(fingerprint: Mapping[str, str]) -> dict[str, str]:
    """A measurement's facts without which start of its launch it was."""
    kept = {k: v for k, v in fingerprint.items() if k not in CHANGES_WITH_A_START}
    launch = re.sub(rf"(?:^|; ){START_MARK}:=\d+", "", kept.get("args.launch", ""))
    return {**kept, "args.launch": launch or "as found"}


def _lasting(fingerprint: Mapping[str, str]) -> dict[str, str]:
    """What makes it the same server on the same host, however and whenever it was started; no secrets, which a store
    masks whatever their value.
    """
    return {
        k: v
        for k, v in fingerprint.items()
        if k not in _OF_THE_DAY
        and not k.startswith((*_OF_THE_MEASUREMENT, *_TOLD_BY_DIGEST))
        and not secret_name(k.rpartition(".")[2])
    }
