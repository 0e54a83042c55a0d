"""What a person told and nothing measured accounts for: faster with speculation is not always healthy."""

from __future__ import annotations

from specdoctor.analysis.symptom import Symptom, read_symptom
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement

FURTHER = 1.10
"""A typed speed that is so much above all that was measured was not reached here."""
NOTHING_ACCEPTED = 1.02
"""Tokens a cycle at most, with which no cycle is cheaper by the token than a step: it holds one, and drafting."""


def unexplained(ledger: Ledger) -> tuple[str, ...]:
    """What still has to be measured before the complaint can be called unfounded; empty where nothing has."""
    symptom = read_symptom(ledger.settings.symptom)
    return (
        *_nothing_accepted(ledger),
        *_slower_in_use(ledger, symptom),
        *_not_reached(ledger, symptom),
        *_other_load(ledger, symptom),
    )


def _nothing_accepted(ledger: Ledger) -> list[str]:
    """Faster with speculation although no draft is accepted, which the machine has made and not speculation."""
    concurrency = ledger.settings.concurrency
    now, off = ledger.measured("original", concurrency=concurrency), ledger.baseline(concurrency)
    if now is None or off is None or not now.spec.on or now.accept_length is None:
        return []
    if now.throughput is None or off.throughput is None or now.accept_length.high > NOTHING_ACCEPTED:
        return []
    if now.throughput.low <= off.throughput.high:
        return []
    with_it, without = now.throughput.with_unit(), off.throughput.with_unit()
    where = (
        f"why it was faster with speculation ({with_it}, {now.evidence}) than without ({without}, {off.evidence}) "
        "although next to no draft is accepted: then a cycle brings one token and costs a step and the drafting; "
        "something else kept the machine busy during one of the two: measure both again while nothing else runs there"
    )
    return [where]


def _slower_in_use(ledger: Ledger, symptom: Symptom) -> list[str]:
    """The users' own requests, or other ones than the benchmark's, run slower than without speculation."""
    baseline = ledger.baseline(ledger.settings.concurrency)
    if baseline is None or baseline.throughput is None:
        return []
    out = []
    for m in ledger.measurements:
        seen = m.source in ("log", "traffic") or (m.source in ("answers", "prompts") and "slow" in symptom.complaints)
        if not seen or not m.spec.on or m.throughput is None or m.concurrency != baseline.concurrency:
            continue
        if m.throughput.high < baseline.throughput.low:
            without = f"{baseline.throughput.with_unit()} of the benchmark without speculation ({baseline.evidence})"
            out.append(
                f"why {_named(m)} get {m.throughput.with_unit()} ({m.evidence}), less than the {without}: measure both "
                f"{_alike(m)}"
            )
    return out


def _alike(m: Measurement) -> str:
    """How both sides are measured with such requests; a prompts file sets no temperature."""
    heat = "specdoctor bench TARGET --temperature 1, on this launch and on one without speculation"
    if "(sampled)" in m.launch:
        return f"sampled: {heat}"
    return f"with requests like those (--prompts FILE; it sets no temperature) or, if they are sampled: {heat}"


def _named(m: Measurement) -> str:
    return "the requests in its log" if m.source in ("log", "traffic") else m.launch


def _not_reached(ledger: Ledger, symptom: Symptom) -> list[str]:
    """A speed that was told, for instance of earlier, and that no launch comes near to."""
    told = [
        c.value
        for c in symptom.at(ledger.settings.concurrency).claims
        if c.metric == "throughput_tok_s" and c.role != "wished"
    ]
    measured = [
        m.throughput.high
        for m in ledger.measurements
        if m.source in ("bench", "log", "traffic") and m.throughput is not None
    ]
    if not told or not measured or max(told) <= FURTHER * max(measured):
        return []
    where = (
        f"where the {max(told):g} tok/s that you typed were seen: nothing measured here comes near (at most "
        f"{max(measured):.4g}): give versions, hardware and load of then (--recall, --recalled-at), or a run of then "
        "to specdoctor compare"
    )
    return [where]


def _other_load(ledger: Ledger, symptom: Symptom) -> list[str]:
    """A complaint of many users, measured with one."""
    if not (symptom.speaks_of_load and symptom.complaints and ledger.settings.concurrency == 1):
        return []
    if any(m.concurrency > 1 and m.source == "bench" for m in ledger.measurements):
        return []
    return ["whether it pays under load, of which you speak: one client was measured; measure more (--concurrency N)"]
