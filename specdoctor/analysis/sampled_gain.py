"""Speculation against none where both were asked for sampled answers too: greedy figures do not speak for those."""

from __future__ import annotations

import re
from dataclasses import dataclass

from specdoctor.core.answer_sets import in_answers
from specdoctor.core.hypothesis import Hypothesis
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement

MATERIAL = 1.05
"""Less than the assumed spread between two starts, 5 %, is called neither a gain nor a loss."""
_HEAT = re.compile(r"\btemperature (\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class SampledLoss:
    """Sampled, the launch as found is slower (`now`) than without speculation (`off`); greedily it is not."""

    now: Measurement
    off: Measurement
    greedy: Measurement
    greedy_off: Measurement

    @property
    def temperature(self) -> str:
        """The temperature of the sampled answers, as text."""
        found = _HEAT.search(self.now.prompt_set)
        return found[1] if found else "above 0"

    @property
    def accepts_less(self) -> bool:
        """Whether clearly fewer drafts are accepted than greedily."""
        mine, greedy = self.now.accept_length, self.greedy.accept_length
        return mine is not None and greedy is not None and mine.high < greedy.low

    @property
    def evidence(self) -> tuple[str, ...]:
        return (self.now.evidence, self.off.evidence, self.greedy.evidence, self.greedy_off.evidence)


def sampled_loss(ledger: Ledger) -> SampledLoss | None:
    """A loss at the sampling that was measured on both sides, which the greedy figures do not show."""
    concurrency = ledger.settings.concurrency
    greedy, greedy_off = ledger.measured("original", concurrency=concurrency), ledger.baseline(concurrency)
    if greedy is None or greedy_off is None or not greedy.spec.on or _slower(greedy, greedy_off):
        return None
    now = _sampled(ledger, "original", concurrency)
    off = _sampled(ledger, greedy_off.launch_key, concurrency)
    if now is None or off is None or off.spec.on or not _slower(now, off):
        return None
    return SampledLoss(now=now, off=off, greedy=greedy, greedy_off=greedy_off)


def ruled_claim(ledger: Ledger, h: Hypothesis) -> str:
    """What was ruled out: of greedy requests alone, where sampled ones were seen to lose."""
    return f"{h.claim}, greedily" if h.key == "symptom:slower" and sampled_loss(ledger) is not None else h.claim


def _sampled(ledger: Ledger, launch_key: str, concurrency: int) -> Measurement | None:
    key = in_answers(launch_key, "sampled")
    kept = (m for m in reversed(ledger.measurements) if m.launch_key == key and m.concurrency == concurrency)
    return next(kept, None)


def _slower(one: Measurement, other: Measurement) -> bool:
    if one.throughput is None or other.throughput is None:
        return False
    return one.throughput.value * MATERIAL < other.throughput.value and one.throughput.high < other.throughput.low
