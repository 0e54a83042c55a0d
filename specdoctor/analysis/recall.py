"""Figures from memory: what was measured once, in a state of the system that nobody can look at any more.

A recalled figure is compared with what is measured now and never used in a test.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Literal

from specdoctor.analysis.dated import DatedFigure, dated_by, figure_for, moment_of
from specdoctor.analysis.figure import FigureError, positive
from specdoctor.core.estimate import Estimate
from specdoctor.core.faults import unknown_word
from specdoctor.core.hypothesis import Claim
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Frozen

ClaimStatus = Literal["other-state", "tested", "open"]
_WORD = re.compile(r"^(?P<name>[a-z_]+)=(?P<value>[^=\s]+)$")
_KINDS: dict[str, tuple[str, str]] = {
    "baseline": ("throughput_tok_s", "baseline"),
    "spec": ("throughput_tok_s", "with speculation"),
    "accept_length": ("accept_length", "with speculation"),
    "cycle_ms": ("step_ms", "with speculation"),
    "step_ms": ("step_ms", "baseline"),
    "verify_ms": ("verify_ms", "with speculation"),
}
_FORMATS = ("%Y-%m-%d", "%d %b %Y", "%d %B %Y", "%b %d %Y", "%B %d %Y", "%d %b", "%d %B", "%b %d", "%B %d")
_DATES = tuple(
    re.compile(pattern)
    for pattern in (
        r"\d{4}-\d{2}-\d{2}",
        r"\d{1,2}\s+[A-Za-z]{3,9}(?:\s+\d{4})?",
        r"\b[A-Z][a-z]{2,8}\s+\d{1,2}(?:\s+\d{4})?",
    )
)


def read_recall(text: str, recalled_at: str) -> tuple[Claim, ...]:
    """Claims of `baseline=89 spec=94 verify_ms=19`; `recalled_at` says when, in the person's own words.

    Raises FigureError naming every word at fault: a number without a role is asked about, never guessed.
    """
    claims: list[Claim] = []
    faults: list[str] = []
    for word in text.split():
        match = _WORD.match(word)
        if match is None:
            faults.append(_without_role(word))
        elif match["name"] not in _KINDS:
            faults.append(unknown_word("figure", match["name"], list(_KINDS)))
        else:
            try:
                value = positive(match["name"], float(match["value"]))
            except (ValueError, FigureError):
                faults.append(f"{match['name']} is {match['value']!r}, expected a number above 0")
                continue
            metric, role = _KINDS[match["name"]]
            claims.append(
                Claim.model_validate(
                    {"metric": metric, "role": role, "value": value, "text": word, "recalled_at": recalled_at}
                )
            )
    if faults:
        raise FigureError("; ".join(faults), next_step=f"write it as NAME=NUMBER, with NAME one of {', '.join(_KINDS)}")
    return tuple(claims)


def _without_role(word: str) -> str:
    number = word.strip("~.,;")
    if re.fullmatch(r"\d+(?:\.\d+)?", number):
        return f"is {number} the baseline or with speculation? write baseline={number} or spec={number}"
    return f"{word!r} is no figure with a role"


def recalled_before(recalled_at: str, *, now: float) -> float | None:
    """The latest moment that `before 25 Feb` or `2026-02-24` can mean, seconds since the epoch; None if unclear.

    A day without a year is the last such day before `now`.
    """
    for text in (match.group(0) for pattern in _DATES for match in pattern.finditer(recalled_at)):
        day = _day(text, now)
        if day is not None:
            return day if "before" in recalled_at.lower() else day + 86_400.0
    return None


def _day(text: str, now: float) -> float | None:
    """Its beginning in UTC, seconds since the epoch; None for words that name no day."""
    for form in _FORMATS:
        dated = "%Y" in form
        words, whole = (text, form) if dated else (f"{text} {datetime.fromtimestamp(now, UTC).year}", f"{form} %Y")
        try:
            day = datetime.strptime(words, whole).replace(tzinfo=UTC)
        except ValueError:
            continue
        if not dated and day.timestamp() > now:
            day = day.replace(year=day.year - 1)
        return day.timestamp()
    return None


class RecalledFigure(Frozen):
    """A recalled figure beside what is measured now; `why` says what its status rests on.

    `dated`: what an older log of the host shows of it. It is then a measurement with a date, and still in no test.
    """

    claim: Claim
    measured: float | None
    status: ClaimStatus
    why: str
    dated: DatedFigure | None = None


def place_recalled(
    claim: Claim,
    *,
    measured: tuple[float, float, float] | None,
    state_began: tuple[str, float] | None,
    now: float,
    dated: DatedFigure | None = None,
) -> RecalledFigure:
    """Whether a recalled figure belongs to the present state.

    `measured` is value, low and high of the same quantity now; `state_began` names what started last of host, container
    and server, and when. A figure from before that start, or outside the interval of what is measured, belongs to
    another state of the system; what agrees stays open, for agreement proves nothing about the state it was taken in.
    An older log that shows the figure (`dated`) tells the state by its date.
    """
    value = measured[0] if measured else None
    status, why = _by_memory(claim, measured, state_began, now)
    if dated is not None:
        told = dated.words if dated.agrees else f"{dated.words}, not {claim.value:g}"
        why = f"{told}; {why}"
        if dated.agrees and dated.state != "unclear":
            status = "other-state" if dated.state == "earlier" else "open"
    return RecalledFigure(claim=claim, measured=value, status=status, why=why, dated=dated)


def _by_memory(
    claim: Claim, measured: tuple[float, float, float] | None, state_began: tuple[str, float] | None, now: float
) -> tuple[ClaimStatus, str]:
    """What the memory alone and the present figure tell."""
    before = recalled_before(claim.recalled_at or "", now=now)
    if state_began is not None and before is not None and before <= state_began[1]:
        return "other-state", f"{state_began[0]} has started since"
    if measured is None:
        return "open", "nothing like it was measured in this run"
    if not measured[1] <= claim.value <= measured[2]:
        return "other-state", f"measured now: {measured[0]:.4g} ({measured[1]:.4g}-{measured[2]:.4g})"
    return "open", "agrees with what is measured now"


def recalled_figures(ledger: Ledger) -> tuple[RecalledFigure, ...]:
    """The recalled figures of a run beside what it measured, at the concurrency of the run."""
    concurrency = ledger.settings.concurrency
    found, off = ledger.measured("original", concurrency=concurrency), ledger.baseline(concurrency)
    began = state_began(found or off)
    now = ledger.last_at
    return tuple(
        place_recalled(
            claim,
            measured=_range(_measured(claim, found, off)),
            state_began=began,
            now=now,
            dated=dated_by(
                claim, ledger.earlier, began=began, before=recalled_before(claim.recalled_at or "", now=now)
            ),
        )
        for claim in ledger.recalled
    )


def _measured(claim: Claim, found: Measurement | None, off: Measurement | None) -> Estimate | None:
    """The figure of this run that a recalled one speaks of."""
    source = off if claim.role == "baseline" else found
    return None if source is None else figure_for(claim, source)


def _range(figure: Estimate | None) -> tuple[float, float, float] | None:
    return None if figure is None else (figure.value, figure.low, figure.high)


def state_began(measurement: Measurement | None) -> tuple[str, float] | None:
    """What of container and host started last before this measurement, and when (seconds since the epoch).

    A server's own start is no new state: it is restarted to be measured.
    """
    if measurement is None:
        return None
    starts: list[tuple[float, str]] = []
    for key, what in (("container.started_at", "the container"), ("host.booted_at", "the host")):
        at = moment_of(measurement.fingerprint.get(key, ""))
        if at is not None:
            starts.append((at, what))
    if not starts:
        return None
    at_s, what = max(starts)
    return what, at_s
