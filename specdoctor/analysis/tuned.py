"""What a search for the best setting came to, at each concurrency."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from specdoctor.analysis.draft_setting import OFF, DraftSetting
from specdoctor.analysis.forecast import ASSUMED_SPREAD, Forecast, SettingForecast
from specdoctor.analysis.interval import NORMAL_95, Estimate, between
from specdoctor.analysis.launch_spread import spread_on_record
from specdoctor.analysis.launches import MeasuredLaunch, concurrencies, measured_launches
from specdoctor.analysis.refusal import Refusal
from specdoctor.analysis.search import WITHIN_NOISE, chosen
from specdoctor.analysis.tune_plan import belief_of, confirmed
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Frozen


class TunedAt(Frozen):
    """The outcome at one concurrency.

    `best` is the smallest setting within noise of the fastest, no speculation where nothing beats it; None where
    nothing can be said, for the reason in `why`. `confirmed`: measured after it had been chosen (no speculation:
    measured). `gain` is the measured throughput of `best` over that without speculation.
    """

    concurrency: int
    best: DraftSetting | None
    confirmed: bool
    why: str
    gain: Estimate | None
    predicted: tuple[SettingForecast, ...]
    measured: tuple[MeasuredLaunch, ...]

    @property
    def sure(self) -> bool:
        return self.best is not None and self.confirmed

    @property
    def words(self) -> str:
        """The choice in words, with what it gains, and whether it was confirmed."""
        if self.best is None:
            return f"not known ({self.why})"
        if not self.best.on:
            return "off: no setting beats no speculation by more than the noise"
        doubt = "" if self.confirmed else ", NOT confirmed by a fresh start"
        gain = f", {self.gain} times the throughput without speculation (measured)" if self.gain is not None else ""
        return f"{self.best.label}{gain}{doubt}"


class Tuned(Frozen):
    """The outcome of a search. `launches` counts every test start, the restoring ones not.

    `faults`: what was proved of this drafter or server, costs acceptance, and is repaired by no setting of the search:
    every launch was measured with it.
    """

    launches: int
    spread: float
    results: tuple[TunedAt, ...]
    faults: tuple[str, ...] = ()

    @property
    def sure(self) -> bool:
        """Whether there is an answer at every number of clients, and each is confirmed."""
        return bool(self.results) and all(result.sure for result in self.results)


def starts_made(ledger: Ledger) -> int:
    """Test starts so far, failed ones included; what puts the original back is not one."""
    return sum(1 for r in ledger.relaunches if r.outcome.status not in ("refused", "undone"))


def spread_of(ledger: Ledger) -> float:
    """The relative spread between launches that the run was told, else that on record, else the assumed one."""
    told = ledger.settings.launch_spread
    if told is not None:
        return told
    seen = spread_on_record(ledger)
    return ASSUMED_SPREAD if seen is None else seen.reckoned


def tuned(ledger: Ledger, candidates: Sequence[DraftSetting]) -> Tuned:
    """The outcome as the measurements stand; `candidates` are the settings that may be chosen."""
    spread = spread_of(ledger)
    rows = {b: measured_launches(ledger, b) for b in concurrencies(ledger)}
    results = tuple(_at(found, candidates, concurrency=b, spread=spread) for b, found in rows.items() if found)
    return Tuned(launches=starts_made(ledger), spread=spread, results=results, faults=_faults(ledger))


def _faults(ledger: Ledger) -> tuple[str, ...]:
    """Each in words, with its repair."""
    proved = [o for o in ledger.observed() if o.stance == "supports" and o.binds and o.about == "accept_length"]
    standing = [o for o in proved if o.explains and (o.remedy is None or o.remedy.setting is None)]
    return tuple(
        f"{cause}: {o.claim}; repair it first, then search again{f': {o.fix}' if o.fix else ''}"
        for cause, o in {o.cause: o for o in reversed(standing)}.items()
    )


def _at(
    rows: tuple[MeasuredLaunch, ...], candidates: Sequence[DraftSetting], *, concurrency: int, spread: float
) -> TunedAt:
    belief = belief_of(rows, candidates, concurrency=concurrency, spread=spread)
    has_baseline = any(m.figures.setting == OFF for m in rows)
    predicted: tuple[SettingForecast, ...] = ()
    best: DraftSetting | None
    if isinstance(belief, Refusal):
        best, why = _best_measured(rows) if has_baseline else None, f"no prediction: {belief.reason}"
    else:
        best = chosen(belief, candidates) if has_baseline else None
        why = _why(belief, candidates, best)
        predicted = tuple(belief.of(setting) for setting in belief.settings)
    if not has_baseline:
        why = "no start without speculation was measured"
    is_confirmed = best == OFF or (
        best is not None and confirmed(rows, best, candidates, concurrency=concurrency, spread=spread)
    )
    return TunedAt(
        concurrency=concurrency,
        best=best,
        confirmed=is_confirmed,
        why=why,
        gain=_gain(rows, best, spread) if best is not None and best.on else None,
        predicted=predicted,
        measured=rows,
    )


def _why(belief: Forecast, candidates: Sequence[DraftSetting], best: DraftSetting | None) -> str:
    """What the choice rests on: the best by prediction, how it stands to no speculation, and why another was chosen."""
    speeds = {s: float(belief.mean[belief.settings.index(s)]) for s in candidates}
    top = max(speeds, key=lambda s: speeds[s])
    over = math.exp(speeds[top] - float(belief.mean[belief.settings.index(OFF)]))
    said = f"the fastest by prediction is {top.label}, at {over:.2f} of the throughput without speculation"
    if best is None or best in (top, OFF):
        return said
    return f"{best.label} is the smallest setting within {WITHIN_NOISE:.1%} of the fastest by prediction; {said}"


def _best_measured(rows: Sequence[MeasuredLaunch]) -> DraftSetting:
    return max(rows, key=lambda m: m.figures.throughput.value).figures.setting


def _gain(rows: Sequence[MeasuredLaunch], best: DraftSetting, spread: float) -> Estimate | None:
    """Measured ratio of throughputs over all launches of both; the spread between launches is in its interval."""
    tops = [m.figures.throughput for m in rows if m.figures.setting == best]
    bottoms = [m.figures.throughput for m in rows if m.figures.setting == OFF]
    if not tops or not bottoms:
        return None
    means, variance = [], 0.0
    for launches in (tops, bottoms):
        means.append(statistics.fmean(math.log(t.value) for t in launches))
        within = statistics.fmean((t.width / 2.0 / NORMAL_95 / t.value) ** 2 for t in launches)
        variance += (within + spread**2) / len(launches)
    ratio, half = math.exp(means[0] - means[1]), NORMAL_95 * math.sqrt(variance)
    estimator = f"{len(tops)} over {len(bottoms)} launches, {spread:.1%} between launches"
    low, high = ratio * math.exp(-half), ratio * math.exp(half)
    return between(ratio, low, high, "ratio", estimator=estimator, n=min(len(tops), len(bottoms)))
