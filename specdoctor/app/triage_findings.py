"""What checks said of files, as one finding for each cause: with its status, its part in the symptom, its evidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from specdoctor.app.quoting import Quote, quoted
from specdoctor.core.hypothesis import Observation
from specdoctor.core.model import Frozen, Role, Verdict
from specdoctor.knowledge.table import CAUSES

Standing = Literal["supported", "suspected", "falsified"]
_SEVERITY = ("wrong output", "does not start", "loses speed", "misleads")


class Finding(Frozen):
    """One cause: supported by what stands in the files, suspected until `next_check` is made, or contradicted
    by them.
    """

    cause: str | None
    status: Standing
    role: Role
    confidence: Literal["high", "medium", "low"]
    claim: str
    evidence: tuple[Quote, ...]
    next_check: str
    fix: str


def findings_of(
    observations: Sequence[Observation], texts: Mapping[str, str], *, verdict: Verdict
) -> tuple[Finding, ...]:
    """One finding for each cause that was named, the best explanation first, what is ruled out last.

    Where the files show nothing to repair, rivals that were merely possible are left out.
    """
    by_cause: dict[str | None, list[Observation]] = defaultdict(list)
    for o in observations:
        if o.stance in ("supports", "suggests") and (o.cause or o.stance == "supports"):
            by_cause[o.cause].append(o)
        elif o.stance == "refutes" and o.against in CAUSES:
            by_cause[o.against].append(o)
    found = [_finding(cause, said, texts, verdict) for cause, said in by_cause.items()]
    kept = [f for f in found if f.status != "suspected" or _wanted(f, verdict)]
    return tuple(sorted(kept, key=_rank))


def contradicted(observations: Iterable[Observation]) -> frozenset[str]:
    """Causes that something read contradicts."""
    return frozenset(o.against for o in observations if o.stance == "refutes" and o.against in CAUSES)


def _finding(cause: str | None, said: Sequence[Observation], texts: Mapping[str, str], verdict: Verdict) -> Finding:
    against = [o for o in said if o.stance == "refutes"]
    backing = sorted((o for o in said if o.stance == "supports"), key=lambda o: (not o.explains, not o.binds))
    rivals = [o for o in said if o.stance == "suggests"]
    shown = (backing or rivals or against)[0]
    if against and not backing:
        shown = against[0]
    cited = [o for o in said if o.stance == shown.stance]
    evidence = tuple(dict.fromkeys(q for o in cited for s in o.sources if (q := quoted(s, texts)) is not None))
    status = _status(bool(backing), bool(against), bool(evidence) or cause is None)
    return Finding(
        cause=cause,
        status=status,
        role=_role(backing, status, verdict),
        confidence="low" if status == "suspected" else "high" if evidence and not shown.foretold else "medium",
        claim=shown.claim,
        evidence=evidence,
        next_check=shown.decides or (CAUSES[cause].check if cause is not None and status == "suspected" else ""),
        fix=shown.fix if status != "falsified" else "",
    )


def _status(backed: bool, contradicted_too: bool, openable: bool) -> Standing:
    """Supported needs something that can be opened and nothing against it."""
    if backed:
        return "suspected" if contradicted_too or not openable else "supported"
    return "falsified" if contradicted_too else "suspected"


def _role(backing: Sequence[Observation], status: Standing, verdict: Verdict) -> Role:
    """What it has to do with the symptom: only what figures show, or what is seen at work, explains it."""
    if status != "supported":
        return Role.CONTRIBUTES if status == "suspected" else Role.PRESENT
    if any(o.explains and not o.unmeasured for o in backing):
        return Role.EXPLAINS
    if any(o.explains for o in backing):
        return Role.CONTRIBUTES
    return Role.CONTRIBUTES if verdict is Verdict.CAUSE and any(o.binds for o in backing) else Role.PRESENT


def _wanted(finding: Finding, verdict: Verdict) -> bool:
    """Rivals stand where nothing is decided; beside a cause only those that something in the files speaks for."""
    if verdict is Verdict.HEALTHY:
        return False
    return verdict is Verdict.NOT_ENOUGH_EVIDENCE or bool(finding.evidence)


def _rank(finding: Finding) -> tuple[int, int, int, int, int]:
    """Decided before possible, explaining before present, what something speaks for before what is merely possible;
    among equals what does most harm, and rests on most.
    """
    cause = CAUSES.get(finding.cause or "")
    return (
        ("supported", "suspected", "falsified").index(finding.status),
        (Role.EXPLAINS, Role.CONTRIBUTES, Role.PRESENT).index(finding.role),
        int(finding.status == "suspected" and not finding.evidence),
        _SEVERITY.index(cause.severity) if cause is not None else -1,
        -len(finding.evidence),
    )
