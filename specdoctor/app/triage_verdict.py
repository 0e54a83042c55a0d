"""What files together say: a cause, nothing to repair, or too little."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from specdoctor.analysis.symptom import Symptom
from specdoctor.app.triage_findings import contradicted
from specdoctor.core.hypothesis import NO_FAULT, Observation
from specdoctor.core.model import Verdict
from specdoctor.core.server import ServerView

_ACCEPTANCE = re.compile(r"accept|position|\bdrafts?\b|\bhead\b", re.IGNORECASE)
SURE_LOSS_BELOW = 1.05
"""An accept length below this loses whatever the cycle costs: it is at least one forward of the target, and drafting
takes time on top (a bound with 5 % left for reading it off a log)."""


def verdict_of(
    view: ServerView, observations: Sequence[Observation], facts: Mapping[str, JsonValue], symptom: Symptom
) -> Verdict:
    """Files can prove a cause or show nothing wrong; whether speculation pays needs figures with and without it.

    A fault that limits the server as it is used answers any complaint but one that it cannot bring about. A complaint
    about figures is answered by the ordinary explanation of those figures, unless something binds.
    """
    complaints, calm = symptom.complaints, symptom.only_asks
    out = contradicted(observations)
    found = [o for o in observations if o.stance == "supports" and o.cause not in out]
    if any(o.explains for o in found) or any(o.binds and answers(o, complaints) for o in found):
        return Verdict.CAUSE
    limited = any(o.binds and o.stance == "suggests" and o.cause not in out for o in observations)
    if nothing_accepted(facts) or limited or any(o.binds for o in found):
        return Verdict.NOT_ENOUGH_EVIDENCE
    asked_only = not complaints and calm and not any(c.metric == "throughput_tok_s" for c in symptom.claims)
    if any(_clears(o, symptom, asked_only=asked_only) for o in observations):
        return Verdict.HEALTHY
    served = view.log is not None and view.log.ready_line is not None and view.log.failure is None
    counted = view.log is None and "accept_length" in facts and "running_requests_max" in facts
    served = served or counted
    return Verdict.HEALTHY if served and asked_only else Verdict.NOT_ENOUGH_EVIDENCE


def _clears(o: Observation, symptom: Symptom, *, asked_only: bool) -> bool:
    """Whether it shows that what was asked about is in order: sound acceptance clears no complaint of another kind."""
    if o.stance != "refutes" or o.against != NO_FAULT:
        return False
    asks_acceptance = not symptom.complaints and bool(_ACCEPTANCE.search(symptom.text))
    return o.about != "accept_length" or asked_only or asks_acceptance or "low-acceptance" in symptom.complaints


def nothing_accepted(facts: Mapping[str, JsonValue]) -> bool:
    """Whether so little is accepted that no cycle can be short enough."""
    length = facts.get("accept_length")
    return isinstance(length, float) and length < SURE_LOSS_BELOW


def answers(o: Observation, complaints: Sequence[str]) -> bool:
    """Whether a fault can bring about what is complained of: what lengthens a cycle lowers no accept length.

    Without a complaint it must be worth repairing by itself; whether another draft length is better, only figures say.
    """
    if not complaints:
        return o.remedy is None or o.remedy.setting is None
    speed = {"slow", "regression", "varies", "queueing"}
    return bool((speed if o.about == "cycle" else speed | {"low-acceptance"}) & set(complaints))
