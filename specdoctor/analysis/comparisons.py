"""Two launches of one run side by side: what their ratio is, what this design could have seen, what more would take.

One launch stands for each arm, so the spread between starts enters every ratio of speeds.
"""

from __future__ import annotations

from typing import Literal

from specdoctor.analysis.attribution import Arm, Part, attribute
from specdoctor.analysis.figure import FigureError
from specdoctor.analysis.interval import NORMAL_95, Estimate
from specdoctor.analysis.launch_spread import LaunchSpread, launch_spread
from specdoctor.analysis.power import Design, needed
from specdoctor.analysis.symptom import read_symptom
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Frozen
from specdoctor.core.software import software_words

MARGIN = 0.10
"""A ratio's interval within 1 +- this much says "no difference" where nothing is known to be at stake (heuristic)."""

About = Literal["speculation", "installs"]
Outcome = Literal["better", "worse", "no difference", "inconclusive"]


class Compared(Frozen):
    """The second launch over the first. `visible` is the smallest relative difference that one start of each shows.

    `at_stake` is the relative difference that somebody claims or that would explain the loss; `starts_needed` are the
    starts of each side for that much, None where it would have shown.
    """

    about: About
    first: str
    second: str
    first_software: str
    second_software: str
    throughput: Estimate
    cycle: Estimate | None
    outcome: Outcome
    visible: float
    at_stake: float | None
    starts_needed: int | None
    spread: str
    evidence: tuple[str, ...]

    @property
    def power_words(self) -> str:
        """The power statement."""
        said = f"one start of each at {self.spread} shows {self.visible:.0%} or more"
        if self.at_stake is None:
            return said
        if self.starts_needed is None:
            return f"{said}; the {self.at_stake:.0%} in question would have shown"
        return f"{said}; the {self.at_stake:.1%} in question takes {self.starts_needed} starts of each"

    @property
    def words(self) -> str:
        cycle = f", cycle {self.cycle}" if self.cycle is not None else ""
        ratio = f"throughput {self.throughput}{cycle} times that of {self.first}"
        size = f" of {self.at_stake:.0%}" if self.outcome == "no difference" and self.at_stake is not None else ""
        ran = f" ({self.second_software}, against {self.first_software})" if self.about == "installs" else ""
        return f"{self.second}{ran}: {ratio}: {self.outcome}{size}; {self.power_words}"


def comparisons(ledger: Ledger) -> tuple[Compared, ...]:
    """Speculation against none, and the other installation against the one that runs, as far as both were measured."""
    if ledger.started is None:
        return ()
    concurrency, spread = ledger.settings.concurrency, launch_spread(ledger)
    found, off = ledger.measured("original", concurrency=concurrency), ledger.baseline(concurrency)
    installs = {r.change.key for r in ledger.relaunches if r.change.other_software}
    others = [m for m in ledger.measurements if m.concurrency == concurrency and m.launch_key in installs]
    out = []
    if found is not None and off is not None and found.spec.on:
        out.append(_compared("speculation", off, found, at_stake=_claimed(ledger), spread=spread))
    if found is not None and others:
        out.append(_compared("installs", found, others[-1], at_stake=_lost(found, off), spread=spread))
    return tuple(c for c in out if c is not None)


def _compared(
    about: About, first: Measurement, second: Measurement, *, at_stake: float | None, spread: LaunchSpread
) -> Compared | None:
    try:
        parts = attribute(_arm(first), _arm(second), launch_sd=spread.reckoned).parts
    except FigureError:
        return None
    ratio = next((p for p in parts if p.name == "throughput"), None)
    if ratio is None:
        return None
    cycle = next((p for p in parts if p.name == "cycle"), None) if about == "installs" else None
    visible = max(ratio.ratio.high / ratio.ratio.value - 1.0, NORMAL_95 * spread.reckoned * 2.0**0.5)
    shown = at_stake is None or abs(at_stake) >= visible
    return Compared(
        about=about,
        first=first.launch,
        second=second.launch,
        first_software=software_words(first.fingerprint),
        second_software=software_words(second.fingerprint),
        throughput=ratio.ratio,
        cycle=cycle.ratio if cycle is not None else None,
        outcome=_outcome(ratio, at_stake),
        visible=visible,
        at_stake=None if at_stake is None else abs(at_stake),
        starts_needed=None if shown or at_stake is None else needed(Design(cv=spread.sd), abs(at_stake)),
        spread=spread.words,
        evidence=(first.evidence, second.evidence),
    )


def _arm(m: Measurement) -> Arm:
    return Arm(
        label=m.launch, throughput=m.throughput, accept_length=m.accept_length, step=m.step, fingerprint=m.fingerprint
    )


def _outcome(part: Part, at_stake: float | None) -> Outcome:
    """Equivalence by the whole interval within the margin: what is at stake, either way."""
    if part.changed:
        return "better" if part.change == "higher" else "worse"
    if part.change == "not judged":
        return "inconclusive"
    margin = abs(at_stake) if at_stake is not None else MARGIN
    return "no difference" if 1.0 - margin < part.ratio.low and part.ratio.high < 1.0 + margin else "inconclusive"


def _claimed(ledger: Ledger) -> float | None:
    """The relative difference that was typed between with and without; None where nobody says one."""
    symptom = read_symptom(ledger.settings.symptom).at(ledger.settings.concurrency)
    off, now = symptom.figure("throughput_tok_s", "baseline"), symptom.figure("throughput_tok_s", "with speculation")
    return None if off is None or now is None or off <= 0 or now == off else now / off - 1.0


def _lost(found: Measurement, off: Measurement | None) -> float | None:
    """How much faster another engine would have to be to bring back what no speculation gives."""
    if off is None or off.throughput is None or found.throughput is None:
        return None
    return max(off.throughput.value / found.throughput.value - 1.0, 0.0) or None
