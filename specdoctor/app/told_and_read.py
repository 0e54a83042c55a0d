"""What a person says against what the files say: what they contradict is named, and never believed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from specdoctor.analysis.symptom import Symptom
from specdoctor.app.triage_fact import Fact
from specdoctor.core.hypothesis import Claim

TOLERANCE = 0.10
"""Relative gap that rounding and the choice of a mean explain (heuristic, as for the identity of the figures)."""
NOISE = 0.05
"""A gain or loss within this is neither (the spread between two starts, assumed)."""
_SLOWER = re.compile(
    r"\bslower\b|\bloses?\b|\bregress|\bworse\b|\bbelow\b|\bhurts?\b|\bhalf\b|\bhalves\b|\bless than\b", re.I
)
_FASTER = re.compile(r"\bfaster\b(?<!not faster)(?<!no faster)|\bgains?\b|\bspeeds? (?:it )?up\b", re.I)
_FACTS = {
    ("throughput_tok_s", "with speculation"): ("throughput_tok_s", "tok/s with speculation"),
    ("throughput_tok_s", "baseline"): ("baseline_tok_s", "tok/s without speculation"),
    ("accept_length", "with speculation"): ("accept_length", "tokens a cycle"),
    ("step_ms", "with speculation"): ("step_ms", "ms a cycle"),
}


def contradictions(symptom: Symptom, facts: Mapping[str, Fact], gains: Sequence[float] = ()) -> tuple[str, ...]:
    """Sentences, one for each claim that the files contradict; none where they agree or say nothing of it.

    `gains` are all speed-ups that the files give: a word is contradicted by all of them, or not at all.
    """
    return tuple(dict.fromkeys((*_of_figures(symptom, facts), *_of_words(symptom, facts, gains))))


def _of_figures(symptom: Symptom, facts: Mapping[str, Fact]) -> Iterator[str]:
    at = _number(facts, "measured_at_running_requests")
    other_load = symptom.clients > 1 and at is not None and at != symptom.clients
    for claim in symptom.claims:
        if claim.metric == "throughput_tok_s" and claim.role == "unknown" and not other_load:
            yield from _of_no_side(claim, facts)
        name, unit = _FACTS.get((claim.metric, claim.role), ("", ""))
        read = _number(facts, name)
        if read is None or (other_load and claim.metric != "accept_length") or _near(claim, read):
            continue
        load = f" at {at:g} running requests" if at is not None and at > 1 and claim.metric != "accept_length" else ""
        yield (
            f"told {claim.value:g} {unit}, read {read:g}{load} [{facts[name].place or 'computed'}]: another load, "
            "another window, or not of this server"
        )


def _of_no_side(claim: Claim, facts: Mapping[str, Fact]) -> Iterator[str]:
    """A speed that is told without its side differs where it is near neither of both that were read."""
    now, plain = _number(facts, "throughput_tok_s"), _number(facts, "baseline_tok_s")
    if now is None or plain is None or _near(claim, now) or _near(claim, plain):
        return
    place = facts["throughput_tok_s"].place or "computed"
    yield f"told {claim.value:g} tok/s, read {now:g} with speculation and {plain:g} without [{place}]"


def _near(claim: Claim, read: float) -> bool:
    return abs(claim.value - read) <= TOLERANCE * max(abs(read), 1e-9)


def _of_words(symptom: Symptom, facts: Mapping[str, Fact], gains: Sequence[float]) -> Iterator[str]:
    speedup = _number(facts, "speedup")
    if speedup is None:
        return
    place = facts["speedup"].place or "computed"
    at, ran = _number(facts, "measured_at_running_requests"), _number(facts, "running_requests_max")
    of = f" at {at:g} running request{'s' if at > 1 else ''} of up to {ran:g}" if at and ran and ran > at else ""
    least, most = min((speedup, *gains)), max((speedup, *gains))
    if least > 1 + NOISE and _SLOWER.search(symptom.text) and "regression" not in symptom.complaints:
        yield f"told that it is slower, read {speedup:.3g} times the speed without speculation{of} [{place}]"
    if most < 1 - NOISE and _FASTER.search(symptom.text) and "slow" not in symptom.complaints:
        yield f"told that it is faster, read {speedup:.3g} of the speed without speculation{of} [{place}]"


def _number(facts: Mapping[str, Fact], name: str) -> float | None:
    value = facts[name].value if name in facts else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
