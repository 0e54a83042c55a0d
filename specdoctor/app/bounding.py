"""Arithmetic before anything is touched: bounds on what a setting can bring, and the claims they exclude."""

from __future__ import annotations

from typing import Literal

from specdoctor.analysis.bounds import Bound, Refuted, bound_longer_chain, bound_same_steps, judge_claim
from specdoctor.analysis.cycle import estimated_cycle
from specdoctor.analysis.figure import FigureError
from specdoctor.analysis.interval import Estimate, exact, mapped
from specdoctor.analysis.refusal import Refusal
from specdoctor.analysis.symptom import read_symptom
from specdoctor.core import events as ev
from specdoctor.core.hypothesis import Hypothesis
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Frozen, Status
from specdoctor.core.server import SpecSetting


class Known(Frozen):
    """Figures a bound is made of: typed ones, or those measured on the server as found."""

    basis: Literal["typed", "measured"]
    spec: SpecSetting
    cycle: Estimate
    first_acceptance: Estimate | None
    best_later: Estimate | None
    baseline: Estimate | None


def known(ledger: Ledger, spec: SpecSetting | None, basis: Literal["typed", "measured"]) -> Known | None:
    """What is known of the server as found on one basis; None when a bound cannot be made of it."""
    if spec is None or not spec.on or spec.topk != 1 or spec.draft_steps < 1:
        return None
    symptom = read_symptom(ledger.settings.symptom).at(ledger.settings.concurrency)
    typed_baseline = symptom.figure("throughput_tok_s", "baseline")
    baseline = None if typed_baseline is None else exact(typed_baseline, "tok/s")
    if basis == "typed":
        speed, length = (
            symptom.figure("throughput_tok_s", "with speculation"),
            symptom.figure("accept_length", "with speculation"),
        )
        if speed is None or length is None or not 1.0 <= length <= spec.draft_steps + 1:
            return None
        try:
            cycle = estimated_cycle(exact(length, "tokens/cycle"), exact(speed, "tok/s"))
        except FigureError:
            return None
        first = exact(length - 1.0, "fraction") if spec.draft_steps == 1 else None
        typed = cycle.model_copy(update={"estimator": "as typed"})
        return Known(basis=basis, spec=spec, cycle=typed, first_acceptance=first, best_later=None, baseline=baseline)
    found = ledger.measured("original") or next((m for m in reversed(ledger.measurements) if m.source != "bench"), None)
    if found is None or found.step is None or found.concurrency != 1:
        return None
    first = found.conditional[0] if found.conditional else None
    if first is None and spec.draft_steps == 1 and found.accept_length is not None:
        first = mapped(
            found.accept_length, lambda x: min(max(x - 1.0, 0.0), 1.0), unit="fraction", estimator="accept length - 1"
        )
    later = max(found.conditional[1:], key=lambda e: e.high) if len(found.conditional) > 1 else None
    off = ledger.baseline(found.concurrency)
    measured_baseline = off.throughput if off is not None else baseline
    return Known(
        basis=basis, spec=spec, cycle=found.step, first_acceptance=first, best_later=later, baseline=measured_baseline
    )


def computed(ledger: Ledger, facts: Known, *, evidence: str, at: float) -> list[ev.BoundComputed]:
    """Bounds on the present setting and on longer chains, each judged against the claims that speak about them."""
    out: list[ev.BoundComputed] = []
    same = bound_same_steps(steps=facts.spec.draft_steps, cycle=facts.cycle, baseline=facts.baseline)
    if facts.baseline is not None:
        out.append(_same_steps(facts, same, facts.baseline, evidence, at))
    for hypothesis in _longer_chain_claims(ledger, facts.spec):
        prediction = hypothesis.prediction
        if prediction is None or prediction.value is None or facts.first_acceptance is None:
            continue
        steps = prediction.setting.draft_steps if prediction.setting else None
        bound = bound_longer_chain(
            first_acceptance=facts.first_acceptance,
            cycle=facts.cycle,
            steps_now=facts.spec.draft_steps,
            steps=steps,
            best_later=facts.best_later,
            baseline=facts.baseline,
        )
        if not isinstance(bound, Refusal):
            out.append(_longer(facts, bound, hypothesis, evidence, at))
    return out


def _longer_chain_claims(ledger: Ledger, spec: SpecSetting) -> list[Hypothesis]:
    def longer(h: Hypothesis) -> bool:
        p = h.prediction
        if p is None or p.setting is None or p.metric != "throughput_tok_s" or p.op not in (">=", ">"):
            return False
        return p.setting.topk == 1 and p.setting.draft_steps > spec.draft_steps and p.setting.on

    return [h for h in ledger.hypotheses.values() if h.status is Status.OPEN and longer(h)]


def _same_steps(facts: Known, bound: Bound, baseline: Estimate, evidence: str, at: float) -> ev.BoundComputed:
    steps = facts.spec.draft_steps
    break_even = bound.break_even
    never = bound.payoff == "never"
    plural = "step" if steps == 1 else "steps"
    text = (
        f"{steps} {plural}: a cycle takes {facts.cycle.with_unit()}, break-even is an accept length of {break_even}, "
        f"and at most {steps + 1} is possible ({bound.throughput.with_unit()}): "
        + ("it can never pay" if never else "that it pays is not excluded")
    )
    return ev.BoundComputed(
        at=at,
        evidence=evidence,
        basis=facts.basis,
        about=f"{steps} {plural}, as now",
        text=text,
        assumptions=bound.assumptions,
        metric="throughput_tok_s",
        low=bound.throughput.low,
        value=bound.throughput.value,
        high=bound.throughput.high,
        claim=baseline.value,
        refuted=never,
    )


def _longer(facts: Known, bound: Bound, hypothesis: Hypothesis, evidence: str, at: float) -> ev.BoundComputed:
    prediction = hypothesis.prediction
    assert prediction is not None
    assert prediction.value is not None
    judged = judge_claim(bound, prediction.value)
    refuted = isinstance(judged, Refuted)
    then = "refuted, if the typed figures are exact" if facts.basis == "typed" else "refuted"
    text = (
        f"{prediction.under_label}: accept length at most {bound.accept_length}, so at most "
        f"{bound.throughput.with_unit()} even if drafting were free; claim {prediction.op} {prediction.value:g}: "
        + (then if refuted else "not excluded")
    )
    return ev.BoundComputed(
        at=at,
        evidence=evidence,
        basis=facts.basis,
        about=prediction.under_label,
        text=text,
        assumptions=bound.assumptions,
        metric="throughput_tok_s",
        low=bound.throughput.low,
        value=bound.throughput.value,
        high=bound.throughput.high,
        claim=prediction.value,
        refuted=refuted,
        speaks_of=(hypothesis.id,),
        refutes=(hypothesis.id,) if refuted else (),
    )
