"""Is a drafter's training the limit? A test of it alone says how many tokens training accounts for."""

from __future__ import annotations

from specdoctor.analysis.acceptance import chain_from_conditional
from specdoctor.analysis.cycle import estimated_break_even
from specdoctor.analysis.symptom import Symptom
from specdoctor.core.hypothesis import Observation, Prediction
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement, on_prompts
from specdoctor.core.model import Risk
from specdoctor.core.moves import Bench, OpenHypothesis
from specdoctor.planners.state import slower_confirmed

SHORT = "mixed"
"""The built-in prompts that stay far below the positions any drafter knows."""
PROMPTS, DATA = "TRAIN-1", "TRAIN-2"
"""Other prompts than those of the training; too little data, or not the target's own answers."""
MARGIN, OTHER_TEXTS = 0.05, 0.15
"""Accepted drafts within this share of those of the drafter alone count as the same, on prompts of its training and on
others, which may be harder (heuristic).
"""
NOTHING_ACCEPTED = 1.02
"""Tokens a cycle at most, where speculation can only lose: drafting costs more than two per cent (named heuristic)."""
WITHIN_REACH = 0.8
"""Acceptance per draft that a well-trained drafter can have: what needs more, more training does not bring."""


def on_training_prompts(ledger: Ledger, symptom: Symptom) -> list[Bench]:
    """The server as found with prompts of the training, once, where a loss is in question."""
    seen = _tested(ledger, PROMPTS)
    concurrency = ledger.settings.concurrency
    if seen is None or not seen.sources or not ledger.granted(Risk.LOAD) or not symptom.asks_about_speed:
        return []
    where = seen.sources[0].where
    tried = any(a.started.move.get("prompts") == where for a in ledger.actions.values())
    if tried or ledger.measured("original", concurrency=concurrency) is None:
        return []
    return [Bench(concurrency=concurrency, prompts=where, why="does it accept more on prompts of its own training?")]


def in_training_template(ledger: Ledger, symptom: Symptom) -> list[Bench]:
    """The server as found with its prompts in the drafter's own chat template, once, where that is another one."""
    seen = _templates(ledger)
    concurrency = ledger.settings.concurrency
    can = ledger.granted(Risk.LOAD) and ledger.settings.form == "generate" and symptom.asks_about_speed
    if seen is None or not can or ledger.measured("original", concurrency=concurrency) is None:
        return []
    where = seen.sources[0].where
    if any(a.started.move.get("template") == where for a in ledger.actions.values()):
        return []
    return [Bench(concurrency=concurrency, template=where, why="does it accept more in the template of its training?")]


def template_rival(ledger: Ledger) -> list[OpenHypothesis]:
    """Another template explains the loss where in the drafter's own one speculation gives what none gives."""
    seen, off = _templates(ledger), ledger.baseline(ledger.settings.concurrency)
    if seen is None:
        return []
    key = on_prompts("original", template=seen.sources[0].where)
    return _pays_under(ledger, seen, off, key, "in the template of its training")


def _pays_under(
    ledger: Ledger, seen: Observation, off: Measurement | None, key: str, label: str
) -> list[OpenHypothesis]:
    """What was seen explains the loss if the server as found, measured so, reaches what no speculation gives."""
    if off is None or off.throughput is None or not slower_confirmed(ledger):
        return []
    if ledger.measured(key, concurrency=ledger.settings.concurrency) is None:
        return []
    prediction = Prediction(
        metric="throughput_tok_s",
        op=">=",
        value=off.throughput.value,
        under=key,
        under_label=label,
        concurrency=ledger.settings.concurrency,
        value_from=f"without speculation, {off.evidence}",
    )
    return [
        OpenHypothesis(
            key=seen.rival_key,
            cause=seen.cause,
            claim=seen.claim,
            answers="explains",
            about=seen.about,
            prediction=prediction,
            decides=seen.decides,
            todo=((f"benchmark it {label}", "high"),),
            why=f"check {seen.check}",
        )
    ]


def on_short_prompts(ledger: Ledger, symptom: Symptom) -> list[Bench]:
    """The server as found with short prompts, once, where the drafter knows fewer positions than the run's may take."""
    concurrency = ledger.settings.concurrency
    own = ledger.settings.prompt_file not in (None, SHORT)
    asked = own and ledger.granted(Risk.LOAD) and symptom.asks_about_speed
    if not asked or _few_positions(ledger) is None or ledger.measured("original", concurrency=concurrency) is None:
        return []
    if any(a.started.move.get("prompts") == SHORT for a in ledger.actions.values()):
        return []
    return [Bench(concurrency=concurrency, prompts=SHORT, why="does it accept more within the positions it knows?")]


def positions_rival(ledger: Ledger) -> list[OpenHypothesis]:
    """Too few positions explain the loss where speculation pays on prompts that stay within them."""
    seen, off = _few_positions(ledger), ledger.baseline(ledger.settings.concurrency)
    return _pays_under(ledger, seen, off, on_prompts("original", SHORT), "on short prompts") if seen is not None else []


def _few_positions(ledger: Ledger) -> Observation | None:
    return next((o for o in ledger.observed("TRAIN-4") if o.stance == "suggests"), None)


def _templates(ledger: Ledger) -> Observation | None:
    """That two chat templates differ, the drafter's first."""
    found = [o for o in ledger.observed(PROMPTS) if o.stance == "suggests" and o.sources]
    return next((o for o in found if o.sources[0].key == "chat_template"), None)


def trained_limits(ledger: Ledger) -> list[OpenHypothesis]:
    """Each rival of the training that predicts an accept length: it explains the loss if that is what is served.

    What is served is judged on prompts of the training where those were sent, for that is what was tested alone.
    """
    concurrency = ledger.settings.concurrency
    found = ledger.measured("original", concurrency=concurrency)
    if found is None or found.accept_length is None or not (slower_confirmed(ledger) or _cannot_gain(found)):
        return []
    out: list[OpenHypothesis] = []
    for o in ledger.observed():
        if o.stance != "suggests" or o.figure is None or not str(o.cause).startswith("TRAIN-"):
            continue
        on_prompts_of_training = _prompts_key(ledger)
        share = 1.0 - (MARGIN if on_prompts_of_training else OTHER_TEXTS)
        least = 1.0 + share * (o.figure.value - 1.0)
        as_much = found.accept_length.high >= least
        if o.cause == DATA:
            possible = not as_much or _would_pay_trained(found, ledger.baseline(concurrency), o.figure.value)
        else:
            possible = not as_much and (o.cause != PROMPTS or bool(on_prompts_of_training))
        if possible:
            origin = f"{share:.2f} of the drafts that the drafter alone has accepted ({o.figure} tokens a cycle)"
            out.append(_hypothesis(o, least, origin, on_prompts_of_training or "original", concurrency))
    return out


def _cannot_gain(now: Measurement) -> bool:
    """Whether next to nothing is accepted: a cycle then brings one token, as a step does, whatever a host that had
    more to do during one of two benchmarks makes of their speeds.
    """
    return now.spec.on and now.accept_length is not None and now.accept_length.high <= NOTHING_ACCEPTED


def _would_pay_trained(now: Measurement, off: Measurement | None, alone: float) -> bool:
    """Whether the drafter alone falls short of break-even, and one that is trained well would not."""
    if off is None or off.throughput is None or now.step is None or now.spec.draft_steps < 1:
        return False
    needed = max(estimated_break_even(now.step, off.throughput).value, NOTHING_ACCEPTED)  # below it the host was uneven
    steps = now.spec.draft_steps
    return alone < needed <= chain_from_conditional([WITHIN_REACH] * steps).accept_length


def _hypothesis(o: Observation, least: float, origin: str, under: str, concurrency: int) -> OpenHypothesis:
    prediction = Prediction(
        metric="accept_length",
        op=">=",
        value=least,
        under=under,
        under_label="as found" if under == "original" else "on prompts of the training",
        concurrency=concurrency,
        value_from=origin,
    )
    return OpenHypothesis(
        key=o.rival_key,
        cause=o.cause,
        claim=o.claim,
        answers="explains",
        about=o.about,
        prediction=prediction,
        decides=o.decides,
        todo=(("compare what is served with what the drafter gives alone", "high"),),
        why=f"check {o.check}",
    )


def _prompts_key(ledger: Ledger) -> str:
    """The key of the measurement on prompts of the training; empty where none was made."""
    seen = _tested(ledger, PROMPTS)
    key = on_prompts("original", seen.sources[0].where) if seen is not None and seen.sources else ""
    return key if key and ledger.measured(key, concurrency=ledger.settings.concurrency) is not None else ""


def _tested(ledger: Ledger, cause: str) -> Observation | None:
    return next((o for o in ledger.observed(cause) if o.stance == "suggests" and o.figure is not None), None)
