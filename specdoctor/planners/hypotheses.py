"""What the rules put on the list: faults that were read, what undoing them would bring, the symptom, the rivals."""

from __future__ import annotations

from specdoctor.analysis.reading import read_tax
from specdoctor.analysis.symptom import Role, Symptom
from specdoctor.core.estimate import Estimate
from specdoctor.core.hypothesis import Hypothesis, Observation, Operator, Prediction, Remedy
from specdoctor.core.launch import LaunchChange
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Frozen, Status
from specdoctor.core.moves import OpenHypothesis
from specdoctor.core.ports import Briefing
from specdoctor.core.server import SpecSetting

OFF = SpecSetting()


class Experiment(Frozen):
    """A launch that would decide something: the change, the hypotheses it tests, and why it comes next."""

    change: LaunchChange
    hypotheses: tuple[str, ...]
    why: str


def asks_about_speed(symptom: Symptom) -> bool:
    """Whether the question is if speculation pays: said, implied by typed figures, or nothing was said at all."""
    return "slow" in symptom.complaints or not symptom.text.strip()


def baseline_change(briefing: Briefing) -> LaunchChange | None:
    """The launch without speculation; None when none is in force or the engine is unknown."""
    scene, engine = briefing.scene, briefing.engine
    if scene is None or engine is None or scene.view.spec is None or not scene.view.spec.on:
        return None
    return engine.change_spec(scene.view, OFF, label="without speculation")


def findings(ledger: Ledger) -> list[OpenHypothesis]:
    """Each fault that a check found by reading, with the reading it predicts."""
    out: list[OpenHypothesis] = []
    for o in ledger.observed():
        if o.stance != "supports" or o.reading is None:
            continue
        out.append(
            OpenHypothesis(
                key=f"exists:{o.cause}:{o.reading.subject}",
                cause=o.cause,
                claim=o.claim,
                answers="exists",
                prediction=o.reading,
                priority="high" if o.binds else "low",
                about=o.about,
                todo=((f"read {o.reading.subject}", "high"),),
                why=f"check {o.check}",
            )
        )
    return out


def remedy_change(briefing: Briefing, remedy: Remedy) -> LaunchChange | None:
    """The launch change of a remedy."""
    scene, engine = briefing.scene, briefing.engine
    if scene is None or engine is None:
        return None
    if remedy.setting is not None:
        return engine.change_spec(scene.view, remedy.setting, label=remedy.label)
    return engine.change_flags(label=remedy.label, set_flags=remedy.set_flags, remove_flags=remedy.remove_flags)


def explaining(briefing: Briefing, symptom: Symptom) -> list[OpenHypothesis]:
    """For each binding fault: would undoing it remove the symptom? The threshold is typed, or measured as found."""
    ledger = briefing.ledger
    out: list[OpenHypothesis] = []
    for o in ledger.observed():
        if o.stance != "supports" or not o.binds:
            continue
        if o.remedy is None:
            if o.explains and o.reading is not None:
                out.append(_read_explanation(o))
            continue
        change = remedy_change(briefing, o.remedy)
        prediction = _explanation(briefing, symptom, o, change) if change is not None else None
        if prediction is None:
            continue
        claim = f"undoing it ({o.remedy.label}) brings {prediction.op} {prediction.value:.4g} tok/s"
        if o.explains:
            out.append(_read_explanation(o))
        out.append(
            OpenHypothesis(
                key=f"explains:{o.cause}:{o.remedy.label}",
                cause=o.cause,
                claim=claim,
                answers="explains",
                prediction=prediction,
                priority="high",
                decides=f"launch with {o.remedy.label} and benchmark it",
                todo=(
                    ("what does arithmetic say before a restart?", "high"),
                    (f"launch with {o.remedy.label}", "medium"),
                    ("benchmark it with the same prompts", "medium"),
                ),
                why=o.claim,
            )
        )
    return out


def _read_explanation(o: Observation) -> OpenHypothesis:
    """The reading itself shows the symptom at work (requests waiting at a cap, the line a server died on)."""
    return OpenHypothesis(
        key=f"explains:{o.cause}:read",
        cause=o.cause,
        claim=f"this is what is seen: {o.claim}",
        answers="explains",
        prediction=o.reading,
        priority="high",
        todo=(("read it in log and arguments", "high"),),
        why=f"check {o.check}",
    )


def _explanation(
    briefing: Briefing, symptom: Symptom, o: Observation, change: LaunchChange | None
) -> Prediction | None:
    ledger, scene, engine = briefing.ledger, briefing.scene, briefing.engine
    if change is None or scene is None or engine is None or o.remedy is None:
        return None
    concurrency = ledger.settings.concurrency
    threshold = _threshold(ledger, symptom, concurrency)
    if threshold is None:
        return None
    value, source, op = threshold
    return Prediction(
        metric="throughput_tok_s",
        op=op,
        value=value,
        under=change.key,
        under_label=o.remedy.label,
        concurrency=concurrency,
        value_from=source,
        setting=engine.effective_spec(scene.view, change),
    )


def _threshold(ledger: Ledger, symptom: Symptom, concurrency: int) -> tuple[float, str, Operator] | None:
    """What undoing a fault must bring: what the user wished, their baseline, else more than it gives as found."""
    if asks_about_speed(symptom):
        roles: tuple[Role, ...] = ("wished", "baseline")
        for role in roles:
            value = symptom.figure("throughput_tok_s", role)
            if value is not None:
                return value, f"typed, {role}", ">="
        off = baseline_measured(ledger, concurrency)
        if off is not None and off.throughput is not None:
            return off.throughput.value, f"without speculation, {off.evidence}", ">="
        return None
    now = ledger.measured("original", concurrency=concurrency)
    if now is not None and now.throughput is not None:
        return now.throughput.value, f"as found, {now.evidence}", ">"
    return None


def baseline_measured(ledger: Ledger, concurrency: int) -> Measurement | None:
    """The latest benchmark without speculation at this concurrency."""
    for m in reversed(ledger.measurements):
        if not m.spec.on and m.source == "bench" and m.concurrency == concurrency:
            return m
    return None


def symptom_claim(briefing: Briefing, symptom: Symptom) -> list[OpenHypothesis]:
    """Is it slower with speculation than without, here and now? Predicts the baseline from what was just measured."""
    ledger = briefing.ledger
    now = ledger.measured("original", concurrency=ledger.settings.concurrency)
    change = baseline_change(briefing)
    if change is None or now is None or now.throughput is None or not asks_about_speed(symptom):
        return []
    typed = symptom.figure("throughput_tok_s", "baseline")
    if typed is not None and now.throughput.low > typed:
        return []
    return [
        OpenHypothesis(
            key="symptom:slower",
            cause=None,
            claim="this server is slower with speculation than without",
            answers="symptom",
            prediction=Prediction(
                metric="throughput_tok_s",
                op=">",
                value=now.throughput.value,
                under=change.key,
                under_label=change.label,
                concurrency=now.concurrency,
                value_from=f"as found, {now.evidence}",
                setting=OFF,
            ),
            priority="high",
            decides="launch without speculation and benchmark it",
            todo=(("launch without speculation", "high"), ("benchmark it with the same prompts", "high")),
            why="the comparison needs both sides in the same state of the system",
        )
    ]


def pending_experiments(briefing: Briefing, symptom: Symptom) -> list[Experiment]:
    """Launches still worth making, the one that decides most first: the baseline, then each remedy."""
    ledger = briefing.ledger
    out: list[Experiment] = []
    slower = ledger.by_key("symptom:slower")
    change = baseline_change(briefing)
    if slower is not None and slower.status is Status.OPEN and change is not None:
        out.append(
            Experiment(change=change, hypotheses=(slower.id,), why="is it slower at all, in this state of the system?")
        )
    if slower is None and asks_about_speed(symptom):
        return []
    for o in ledger.observed():
        if o.stance != "supports" or not o.binds or o.remedy is None:
            continue
        hypothesis = ledger.by_key(f"explains:{o.cause}:{o.remedy.label}")
        remedy = remedy_change(briefing, o.remedy)
        if hypothesis is None or hypothesis.status is not Status.OPEN or remedy is None:
            continue
        if slower is not None and slower.status is Status.FALSIFIED and _reached(ledger, hypothesis):
            continue
        why = f"does undoing it remove the symptom? ({o.claim})"
        out.append(Experiment(change=remedy, hypotheses=(hypothesis.id,), why=why))
    return [e for e in out if not ledger.settled(e.change)]


def would_launch(briefing: Briefing) -> list[str]:
    """The launches that could be tested here, as lines to read: the baseline, then each remedy."""
    scene, engine = briefing.scene, briefing.engine
    if scene is None or engine is None:
        return []
    changes = [baseline_change(briefing)]
    changes += [
        remedy_change(briefing, o.remedy) for o in briefing.ledger.observed() if o.binds and o.remedy is not None
    ]
    known = {c.key: c for c in changes if c is not None}
    return [f"dry run, would then start ({c.label}): {engine.paste_line(scene.view, c)}" for c in known.values()]


def _reached(ledger: Ledger, hypothesis: Hypothesis) -> bool:
    """Whether the server as found already gives what undoing the fault was to bring: then nothing asks for it."""
    prediction = hypothesis.prediction
    now = ledger.measured("original", concurrency=ledger.settings.concurrency)
    if prediction is None or prediction.value is None or now is None or now.throughput is None:
        return False
    return now.throughput.high >= prediction.value


def slower_confirmed(ledger: Ledger) -> bool:
    """Whether the evidence says that speculation loses here."""
    slower = ledger.by_key("symptom:slower")
    return slower is not None and slower.status is Status.SUPPORTED


def explained(ledger: Ledger) -> bool:
    """Whether a supported cause accounts for the symptom."""
    return any(h.answers == "explains" and h.status is Status.SUPPORTED for h in ledger.hypotheses.values())


def rivals(briefing: Briefing, symptom: Symptom) -> list[OpenHypothesis]:
    """What is left to explain a confirmed loss: rivals for the accept length, and for the cycle where it is long.

    Accept length alone never prefers one rival to another; each keeps the test that would decide it.
    """
    ledger = briefing.ledger
    if not slower_confirmed(ledger) or explained(ledger):
        return []
    out = [_rival(o) for o in _suggested(ledger, "accept_length")]
    cycle = long_cycle(ledger)
    if cycle is not None:
        out.append(cycle)
        suggested = _suggested(ledger, "cycle")
        out += [_rival(o) for o in suggested]
        out += _standing_cycle_rivals(briefing, {o.cause for o in suggested})
    return out


def _suggested(ledger: Ledger, about: str) -> list[Observation]:
    """What checks suggest about one quantity, the cheapest deciding test first."""
    found = [o for o in ledger.observed() if o.stance == "suggests" and o.about == about]
    return sorted(found, key=lambda o: ("read", "load", "restart", "offline").index(o.decided_by))


def _rival(o: Observation) -> OpenHypothesis:
    return OpenHypothesis(
        key=f"rival:{o.cause}:{o.check}",
        cause=o.cause,
        claim=o.claim,
        answers="explains",
        about=o.about,
        decides=o.decides,
        todo=((o.decides, "medium"),) if o.decides else (),
        why=f"check {o.check}",
    )


def long_cycle(ledger: Ledger) -> OpenHypothesis | None:
    """The finding that a cycle costs far more than a baseline step, judged by ratio and excess together."""
    concurrency = ledger.settings.concurrency
    now, off = ledger.measured("original", concurrency=concurrency), baseline_measured(ledger, concurrency)
    if now is None or off is None or now.step is None or off.step is None or not now.spec.on:
        return None
    tax = read_tax(fixed_ms=fixed_part_ms(ledger, now), baseline_step_ms=off.step.value)
    if tax.reading not in ("look", "system-fault"):
        return None
    ratio = now.step.value / off.step.value
    return OpenHypothesis(
        key="finding:cycle",
        cause=None,
        claim=f"a cycle of {now.spec.draft_tokens} tokens costs {ratio:.1f} baseline steps "
        f"({now.step.value:.1f} against {off.step.value:.1f} ms)",
        answers="exists",
        about="cycle",
        prediction=Prediction(
            metric="step_ms",
            op=">",
            value=1.3 * off.step.value,
            under="original",
            under_label="as found",
            concurrency=concurrency,
            value_from=f"1.3 baseline steps, {off.evidence}",
        ),
        todo=(("compare one cycle with one baseline step", "high"),),
        why="above 1.3 baseline steps a chain's cycle is worth a look; above 1.8 more than drafting is in it",
    )


def fixed_part_ms(ledger: Ledger, now: Measurement) -> float:
    """The part of the cycle that does not grow with steps: by the line through two chains, else the whole cycle."""
    assert now.step is not None
    others = [
        m
        for m in ledger.measurements
        if m.source == "bench"
        and m.spec.on
        and m.spec.topk == 1
        and now.spec.topk == 1
        and m.step is not None
        and m.concurrency == now.concurrency
        and m.spec.draft_steps != now.spec.draft_steps
    ]
    if not others:
        return now.step.value
    other = max(others, key=lambda m: abs(m.spec.draft_steps - now.spec.draft_steps))
    step: Estimate | None = other.step
    assert step is not None
    slope = (step.value - now.step.value) / (other.spec.draft_steps - now.spec.draft_steps)
    return max(now.step.value - max(slope, 0.0) * now.spec.draft_steps, 0.1)


def _standing_cycle_rivals(briefing: Briefing, named: set[str | None]) -> list[OpenHypothesis]:
    """Rivals that no reading excludes for a long cycle: host time between the kernels, and the system's own paths."""
    scene = briefing.scene
    tensor_parallel = scene is not None and str(scene.view.argument("tp_size") or "1") not in ("1", "None")
    standing = [
        (
            "GRAPH-4",
            "host time between the forwards of a cycle",
            "a profile of one cycle: gaps between kernels, against the sum of the kernels",
        ),
        (
            "ENV-1",
            "the all-reduce path of small messages",
            "all-reduce time at 8-64 KB, and the GPU topology",
        )
        if tensor_parallel
        else (
            "ENV-4",
            "the CPUs the server runs on",
            "cycle and baseline step with the process bound to the node of its GPU",
        ),
    ]
    return [
        OpenHypothesis(
            key=f"rival:{cause}:standing",
            cause=cause,
            claim=claim,
            answers="explains",
            about="cycle",
            decides=test,
            todo=((test, "medium"),),
            why="a long cycle has this rival until it is tested",
        )
        for cause, claim, test in standing
        if cause not in named
    ]


def open_rivals(ledger: Ledger) -> list[Hypothesis]:
    """Hypotheses that could explain the symptom and are not decided."""
    return [
        h for h in ledger.hypotheses.values() if h.answers == "explains" and h.status in (Status.OPEN, Status.PARKED)
    ]
