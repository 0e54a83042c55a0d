"""The identity that every figure of decoding must satisfy: tok/s of one request = accept length / step."""

from __future__ import annotations

from collections.abc import Iterator

from specdoctor.app.facts_log import AT_LOAD, speed_facts
from specdoctor.app.facts_tables import chosen
from specdoctor.app.triage_fact import Fact
from specdoctor.core.model import Frozen
from specdoctor.core.ports import Scene

TOLERANCE = 0.10
"""Relative gap between figures of one load that prefill, rounding and the choice of a mean explain (heuristic)."""


class IdentityCheck(Frozen):
    """One way to the same figure: `holds` is None where one of the figures was got from the others."""

    text: str
    holds: bool | None = None


def identity_checks(scene: Scene, facts: dict[str, Fact]) -> tuple[IdentityCheck, ...]:
    """The identity written out with the facts, then each independent way to one of its figures."""
    return (*_written(scene, facts), *_row(scene), *_log_and_table(scene))


def _written(scene: Scene, facts: dict[str, Fact]) -> Iterator[IdentityCheck]:
    """The facts' own figures, by the estimator that they share where they are a log's."""
    of_log = all(n in facts for n in (AT_LOAD, "throughput_tok_s")) and _same_place(facts, AT_LOAD, "throughput_tok_s")
    names = ("throughput_tok_s", AT_LOAD if of_log else "accept_length", "step_ms")
    speed, length, step = (_number(facts, n) for n in names)
    if not speed or not length or not step:
        return
    known = _requests(scene, facts)
    whole = round(known if known is not None else speed * step / (1000 * length))
    at = f" x {whole} requests" if whole > 1 else ""
    shown = 1000 * length / step * max(whole, 1)
    hows = {facts[n].estimator for n in names}
    how = f" ({hows.pop()})" if of_log and len(hows) == 1 else ""
    words = f"{speed:.4g} tok/s = {length:.3g} tokens / {step:.4g} ms{at}{how}"
    if abs(shown - speed) <= TOLERANCE * speed:
        yield IdentityCheck(text=words)
        return
    yield IdentityCheck(
        text=f"{words} gives {shown:.4g} tok/s: they are not of one load, or of one server", holds=False
    )


def _row(scene: Scene) -> Iterator[IdentityCheck]:
    """A row that gives both throughput and time per token."""
    arm = chosen(scene)
    for row in (arm.row, arm.base) if arm is not None else ():
        if row is None or not row.throughput_tok_s or not row.tpot_ms:
            continue
        users = row.concurrency or 1.0
        from_time = 1000 * users / row.tpot_ms
        holds = abs(from_time - row.throughput_tok_s) <= TOLERANCE * row.throughput_tok_s
        said = "agree" if holds else "differ: prefill and waiting are in the one and not in the other"
        both = f"{row.throughput_tok_s:.4g} tok/s and {users:g} / {row.tpot_ms:.4g} ms = {from_time:.4g}"
        text = f"{row.source.where}: {both} {said}"
        yield IdentityCheck(text=text, holds=holds)


def _requests(scene: Scene, facts: dict[str, Fact]) -> float | None:
    """At how many requests the throughput was measured; None where nothing says it."""
    arm = chosen(scene)
    speed = facts["throughput_tok_s"]
    if arm is not None and arm.row.source in speed.sources:
        return arm.row.concurrency
    of_log = "measured_at_running_requests" in facts and _same_place(facts, "measured_at_running_requests", speed.name)
    return _number(facts, "measured_at_running_requests") if of_log else None


def _log_and_table(scene: Scene) -> Iterator[IdentityCheck]:
    """The table's speed and cycle against the log's, where both are of the same load."""
    arm = chosen(scene)
    logged = {fact.name: fact for fact in speed_facts(scene.view)}
    step, users = _number(logged, "step_ms"), _number(logged, "measured_at_running_requests")
    if arm is None or users is None or users != (arm.row.concurrency or 1.0):
        return
    speed, tabled = _number(logged, "throughput_tok_s"), arm.row.throughput_tok_s
    same_cycle = bool(arm.step_ms and step) and abs((arm.step_ms or 0) - (step or 0)) <= TOLERANCE * (step or 0)
    stated = arm.row.concurrency is not None and not same_cycle
    if stated and speed and tabled and abs(tabled - speed) > TOLERANCE * speed:
        at = "one request" if users == 1 else f"{users:g} requests"
        log, table = logged["throughput_tok_s"].place, arm.row.source.where
        said = f"{table} says {tabled:.4g} tok/s at {at}, {log} {speed:.4g}"
        why = "" if tabled > speed else " (prefill and waiting may be in the table's)"
        yield IdentityCheck(text=f"{said}: {tabled / speed:.2f} times, they disagree{why}", holds=False)
    if arm.step_ms is None or not step:
        return
    log = logged["step_ms"].place
    holds = abs(arm.step_ms - step) <= TOLERANCE * step
    said = "agree" if holds else "differ: they are not of the same load, or prefill is in one of them"
    text = f"a cycle of {arm.step_ms:.4g} ms by {arm.row.source.where} and of {step:.4g} ms by {log} {said}"
    yield IdentityCheck(text=text, holds=holds)


def _same_place(facts: dict[str, Fact], one: str, other: str) -> bool:
    return facts[one].place == facts[other].place


def _number(facts: dict[str, Fact], name: str) -> float | None:
    value = facts[name].value if name in facts else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
