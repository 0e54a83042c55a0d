"""Two speeds of one launch, then and now: neither of them is a baseline without speculation."""

from __future__ import annotations

import re
from collections.abc import Sequence

from specdoctor.core.hypothesis import Claim

_THEN_AND_NOW = re.compile(
    r"\bused to\b|\blast (?:week|month|year|quarter|time|night)\b|\byesterday\b|\btoday\b|\bpreviously\b|\bearlier\b|"
    r"\bago\b|\bsince\b|\bno longer\b|\b(?:was|were|had|gave|got)\b.*\bnow\b|"
    r"\b(?:dropp?|fell|fall|went|sank|sunk|declin|decreas|degrad|down)\w*\b.*\b(?:from|to)\b|"
    r"\b(?:before|after) (?:the|an?|our|its|that) (?:\w+ ){0,2}(?:updat|upgrad|restart|reboot|mov)",
    re.I | re.S,
)
_NAMES = r"(?:spec\w*|eagle|mtp|nextn|n-?gram|draft\w*)"
_BEGUN = re.compile(
    r"\b(?:turn|switch)\w*(?: [\w-]+){0,2} on\b|\bswitch\w* to\b|\b(?:enabl|activat|introduc|deploy|add(?:ed|ing)\b)|"
    r"\bstart\w* (?:using|to use)\b|\bmov\w* to "
    + _NAMES
    + r"|\b(?:since|before|after|until) (?:(?:we|i|it|the|our) )*(?:us(?:e|ed|ing)\b|try|tried\b|"
    + _NAMES
    + ")",
    re.I,
)
"""Speculation is what has changed: then the figure of before is one without it."""
_SPECULATES = re.compile(rf"\bwith\b|\b{_NAMES}", re.I)


def of_one_launch(text: str, claims: Sequence[Claim]) -> list[Claim]:
    """The claims of a sentence that names no baseline; speeds of then and of now are both with speculation.

    Not so where speculation is named with a later figure only: "we had 90 tok/s, now with EAGLE 56".
    """
    speeds = [c for c in claims if c.metric == "throughput_tok_s" and c.role != "wished"]
    if len(speeds) < 2 or not _THEN_AND_NOW.search(text) or _BEGUN.search(text):
        return list(claims)
    before, _, after = text.partition(speeds[0].text)
    if _SPECULATES.search(after) and not _SPECULATES.search(before):
        return list(claims)
    return [c.model_copy(update={"role": "with speculation"}) if c in speeds else c for c in claims]
