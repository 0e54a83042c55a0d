"""How far two starts of the same server lie apart on this host, as far as this run has seen several of them."""

from __future__ import annotations

import math
import statistics

from specdoctor.analysis.stats import DEFAULT_LAUNCH_SD
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Frozen

FEWEST_STARTS = 3
"""Starts of one launch before their own spread is taken in place of the assumed one."""


class LaunchSpread(Frozen):
    """Relative standard deviation between starts, and what it rests on (`starts` 0: assumed)."""

    sd: float = DEFAULT_LAUNCH_SD
    starts: int = 0

    @property
    def words(self) -> str:
        return f"{self.sd:.0%} between starts " + (f"(seen in {self.starts})" if self.starts else "(assumed)")


def same_starts(ledger: Ledger) -> tuple[Measurement, ...]:
    """Measurements of the launch as found, one for each start of it: as found, started again, put back."""
    again = {r.change.key for r in ledger.relaunches if r.change.repeats}
    found = [m for m in ledger.measurements if m.source in ("bench", "control") and m.throughput is not None]
    ours = [m for m in found if m.launch_key == "original" or m.launch_key in again]
    latest = {(m.launch_key, m.source): m for m in ours if m.concurrency == ledger.settings.concurrency}
    return tuple(latest.values())


def launch_spread(ledger: Ledger) -> LaunchSpread:
    """From three starts on their own spread, where it is above the assumed one; else the assumed one."""
    values = [m.throughput.value for m in same_starts(ledger) if m.throughput is not None]
    if len(values) < FEWEST_STARTS:
        return LaunchSpread()
    seen = statistics.stdev(map(math.log, values))
    return LaunchSpread(sd=max(seen, DEFAULT_LAUNCH_SD), starts=len(values))
