"""What older logs of the host show of a recalled figure: when it was seen, and in which state of the system.

A log names no time zone, so its last line may have been written up to 14 hours away from what its stamp says in UTC;
the file's own time is never before that line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from specdoctor.analysis.interval import NORMAL_95
from specdoctor.analysis.stats import DEFAULT_LAUNCH_SD
from specdoctor.core.estimate import Estimate
from specdoctor.core.hypothesis import Claim
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Frozen

ZONE_S = 14 * 3600.0
"""No zone is further from UTC."""
LOG, LAST_LINE, CHANGED = "earlier.log", "earlier.last_line", "earlier.file_changed"
"""Facts in the fingerprint of what was read from an older log; the last line's time is by the stamps, as UTC."""
MOMENT = "%Y-%m-%d %H:%M:%S"

State = Literal["earlier", "present", "unclear"]


class DatedFigure(Frozen):
    """A figure that an older log shows. `at`: its last line, seconds since the epoch, its zone taken for UTC.

    `agrees`: the recalled figure lies within its interval and the assumed spread between two starts. `state`: whether
    the log ended before `since` (the last start of container or host) happened.
    """

    log: str
    at: float
    figure: Estimate
    agrees: bool
    state: State
    since: str
    evidence: str

    @property
    def words(self) -> str:
        n = f" over {self.figure.n} clean decode lines" if self.figure.n else ""
        when = {"earlier": f", before {self.since}", "present": f", after {self.since}", "unclear": ""}[self.state]
        day = datetime.fromtimestamp(self.at, UTC)
        return f"the log of {day.day} {day:%b %Y} ({self.log}) shows {self.figure.with_unit()}{n}{when}"


def moment_of(text: str) -> float | None:
    """Seconds since the epoch of a time in a fingerprint (UTC); None where it is none."""
    try:
        return datetime.strptime(text.removesuffix(" UTC"), MOMENT).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def figure_for(claim: Claim, measurement: Measurement) -> Estimate | None:
    """The figure of a measurement that a recalled one speaks of; a verify alone is not measured."""
    if (claim.role == "baseline") == measurement.spec.on:
        return None
    figures = {
        "throughput_tok_s": measurement.throughput,
        "accept_length": measurement.accept_length,
        "step_ms": measurement.step,
    }
    return figures.get(claim.metric)


def dated_by(
    claim: Claim, earlier: Sequence[Measurement], *, began: tuple[str, float] | None, before: float | None
) -> DatedFigure | None:
    """The older log that tells most of a recalled figure: one that agrees before one that does not, then the newest.

    `before` is the latest moment that the figure can be of, `began` what started last of container and host, and when.
    """
    found: list[DatedFigure] = []
    for m in earlier:
        figure, at = figure_for(claim, m), moment_of(m.fingerprint.get(LAST_LINE, ""))
        if figure is None or at is None or (before is not None and at - ZONE_S > before):
            continue
        found.append(
            DatedFigure(
                log=m.fingerprint.get(LOG, "older log"),
                at=at,
                figure=figure,
                agrees=_agrees(claim.value, figure),
                state=_state(at, moment_of(m.fingerprint.get(CHANGED, "")), began),
                since=f"{began[0]} was started" if began is not None else "",
                evidence=m.evidence,
            )
        )
    return max(found, key=lambda d: (d.agrees, d.at), default=None)


def _agrees(value: float, figure: Estimate) -> bool:
    launch = NORMAL_95 * DEFAULT_LAUNCH_SD * figure.value
    low = figure.value - math.hypot(figure.value - figure.low, launch)
    high = figure.value + math.hypot(figure.high - figure.value, launch)
    return low <= value <= high


def _state(last_line: float, changed: float | None, began: tuple[str, float] | None) -> State:
    if began is None:
        return "unclear"
    if last_line + ZONE_S < began[1] or (changed is not None and changed < began[1]):
        return "earlier"
    return "present" if last_line - ZONE_S > began[1] else "unclear"
