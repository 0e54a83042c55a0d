"""What a playbook expected against what its replay found: pure functions of the ledger."""

from __future__ import annotations

import operator
from collections.abc import Callable

from specdoctor.core.errors import EXIT_INCONCLUSIVE, EXIT_MISMATCH, EXIT_OK
from specdoctor.core.estimate import Estimate
from specdoctor.core.hypothesis import JUDGES
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement, on_prompts
from specdoctor.core.model import DECIDED, Frozen, Role
from specdoctor.planners.playbook_keys import hypothesis_key
from specdoctor.planners.playbook_schema import (
    AS_FOUND,
    CauseExpectation,
    Expectation,
    FigureExpectation,
    HypothesisExpectation,
    Playbook,
    RelaunchStep,
    VerdictExpectation,
)

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}


class Outcome(Frozen):
    """One expectation, whether it was met (None: nothing was found that could tell), and by what."""

    expected: str
    met: bool | None
    because: str
    evidence: tuple[str, ...] = ()


def outcomes(playbook: Playbook, ledger: Ledger) -> tuple[Outcome, ...]:
    """Every expectation of the playbook judged, in its order."""
    return tuple(_outcome(expectation, playbook, ledger) for expectation in playbook.expect)


def exit_code(found: tuple[Outcome, ...]) -> int:
    """0 all met, 1 one was not met, 3 none failed but one could not be judged."""
    if any(o.met is False for o in found):
        return EXIT_MISMATCH
    return EXIT_INCONCLUSIVE if any(o.met is None for o in found) else EXIT_OK


def _outcome(expectation: Expectation, playbook: Playbook, ledger: Ledger) -> Outcome:
    match expectation:
        case FigureExpectation():
            return _figure(expectation, ledger)
        case HypothesisExpectation():
            return _hypothesis(expectation, playbook, ledger)
        case CauseExpectation():
            return _cause(expectation, ledger)
        case VerdictExpectation():
            return _verdict(expectation, ledger)


def _verdict(e: VerdictExpectation, ledger: Ledger) -> Outcome:
    expected = f"verdict {' or '.join(e.verdict)}"
    reached = ledger.verdict
    if reached is None:
        return Outcome(expected=expected, met=None, because="no verdict was reached")
    if ledger.server is None or cut_short(ledger):
        why = "the run was cut short" if ledger.server is not None else "no server was read"
        return Outcome(expected=expected, met=None, because=f"{why}: its verdict {reached.verdict} says nothing")
    return Outcome(expected=expected, met=reached.verdict in e.verdict, because=f"it is {reached.verdict}")


def cut_short(ledger: Ledger) -> bool:
    """Whether the run ended before its playbook did: what was not done by then says nothing."""
    return ledger.ended is not None and ledger.ended.exit_code not in (EXIT_OK, EXIT_MISMATCH, EXIT_INCONCLUSIVE)


def _measured(ledger: Ledger, label: str, concurrency: int, prompts: str | None) -> Measurement | None:
    """The latest benchmark of the launch with this label, with so many clients; `prompts` None: the run's own."""
    keys = [r.change.key for r in ledger.relaunches if r.change.label == label]
    key = "original" if label == AS_FOUND else keys[-1] if keys else None
    if key is None:
        return None
    return ledger.measured(on_prompts(key, prompts) if prompts else key, concurrency=concurrency)


def _read(
    ledger: Ledger, label: str, metric: str, concurrency: int, prompts: str | None = None
) -> tuple[Estimate | None, str]:
    """A figure of a launch with its evidence, or nothing and why."""
    found = _measured(ledger, label, concurrency, prompts)
    if found is None:
        return None, f"{label} was not measured" + (f" with prompts {prompts}" if prompts else "")
    figures = {"throughput_tok_s": found.throughput, "accept_length": found.accept_length, "step_ms": found.step}
    figure = figures[metric]
    return figure, found.evidence if figure is not None else f"no {metric} was measured of {label} ({found.evidence})"


def _figure(e: FigureExpectation, ledger: Ledger) -> Outcome:
    against = f"that of {e.than}" if e.than is not None else f"{e.value:g}"
    slack = f", give or take {100 * e.tolerance:g} %" if e.tolerance else ""
    expected = f"{e.metric} of {e.of} {e.op} {against}{slack}"
    clients = e.concurrency or ledger.settings.concurrency
    expected += f", {clients} clients" if e.concurrency else ""
    expected += f", prompts {e.prompts}" if e.prompts else ""
    figure, origin = _read(ledger, e.of, e.metric, clients, e.prompts)
    if figure is None:
        return Outcome(expected=expected, met=None, because=origin)
    evidence: tuple[str, ...] = (origin,)
    reference = e.value
    said = ""
    if e.than is not None:
        other, other_origin = _read(ledger, e.than, e.metric, clients)
        if other is None:
            return Outcome(expected=expected, met=None, because=other_origin, evidence=evidence)
        evidence, reference, said = (*evidence, other_origin), other.value, f" against {other.with_unit()}"
    assert reference is not None
    met = _holds(figure.value, e.op, reference, e.tolerance)
    return Outcome(expected=expected, met=met, because=f"measured {figure.with_unit()}{said}", evidence=evidence)


def _holds(value: float, op: str, reference: float, tolerance: float) -> bool:
    """The comparison, granted a slack of `tolerance` times the reference in the expectation's favour."""
    slack = tolerance * abs(reference)
    if op == "==":
        return abs(value - reference) <= slack
    return _COMPARE[op](value, reference - slack if op in (">", ">=") else reference + slack)


def _hypothesis(e: HypothesisExpectation, playbook: Playbook, ledger: Ledger) -> Outcome:
    expected = f"hypothesis of {e.hypothesis} {' or '.join(e.status)}"
    step = next(s for s in playbook.steps if isinstance(s, RelaunchStep) and s.relaunch == e.hypothesis)
    found = ledger.by_key(hypothesis_key(step))
    if found is None:
        notes = [n.text for n in ledger.notes if n.text.startswith(f"{e.hypothesis}:")]
        return Outcome(expected=expected, met=None, because=notes[-1] if notes else "it was never stated")
    words = f"{found.id} is {found.status}" + (f": {found.because}" if found.because else "")
    if found.status not in DECIDED and cut_short(ledger):
        return Outcome(expected=expected, met=None, because=f"the run was cut short; {words}", evidence=found.evidence)
    return Outcome(expected=expected, met=found.status in e.status, because=words, evidence=found.evidence)


def _cause(e: CauseExpectation, ledger: Ledger) -> Outcome:
    role = "" if set(e.role) == set(Role) or e.status == ("absent",) else f" with role {' or '.join(e.role)}"
    expected = f"{e.cause} {' or '.join(e.status)}{role}"
    if ledger.verdict is None:
        return Outcome(expected=expected, met=None, because="no verdict was reached")
    named = next((c for c in ledger.verdict.causes if c.cause == e.cause), None)
    if named is None:
        looked, why = _looked_for(e.cause, ledger)
        if not looked:
            return Outcome(expected=expected, met=None, because=why, evidence=looked)
        words = "the verdict does not name it"
        return Outcome(expected=expected, met="absent" in e.status, because=words, evidence=looked)
    met = named.status in e.status and named.role in e.role
    words = f"the verdict has it as {named.status}, role {named.role}"
    if not met and named.status == "suspected" and cut_short(ledger):
        return Outcome(expected=expected, met=None, because=f"the run was cut short; {words}", evidence=named.evidence)
    return Outcome(expected=expected, met=met, because=words, evidence=named.evidence)


def _looked_for(cause: str, ledger: Ledger) -> tuple[tuple[str, ...], str]:
    """The evidence that was judged with this cause in mind, or none and why: what nobody read is not absent."""
    tested = [h for h in ledger.hypotheses.values() if h.cause == cause and h.status in DECIDED]
    looked = [e for h in tested for e in h.evidence]
    unread: list[str] = []
    for o in ledger.observations:
        told, judges = o.observation, ledger.evidence[o.evidence].data.get(JUDGES)
        if told.cause != cause and (told.cause is not None or not isinstance(judges, list) or cause not in judges):
            continue
        if told.stance == "no-data":
            unread.append(told.claim)
        else:
            looked.append(o.evidence)
    nothing = "nothing that could show it was read"
    return tuple(dict.fromkeys(looked)), "; ".join(dict.fromkeys(unread)) or nothing
