"""The verdict, computed from the ledger: causes with their role, what is missing, what to do now."""

from __future__ import annotations

from pydantic import JsonValue

from specdoctor.analysis.after_repair import repaired_in_vain
from specdoctor.analysis.sampled_gain import SampledLoss, ruled_claim, sampled_loss
from specdoctor.analysis.symptom import read_symptom
from specdoctor.app.advised_launch import advised_launch
from specdoctor.app.paying import what_would_pay
from specdoctor.app.repaired import after_repair
from specdoctor.app.run import Run
from specdoctor.app.unexplained import unexplained
from specdoctor.app.verdict_lines import answer_lines, lines_of, unclear_loss, untested_repairs
from specdoctor.app.wording import listed, one_or
from specdoctor.core import events as ev
from specdoctor.core.conclusions import CauseNamed, Recommendation
from specdoctor.core.engine import Engine
from specdoctor.core.errors import EngineError
from specdoctor.core.estimate import Estimate
from specdoctor.core.hypothesis import Hypothesis, Observation, Remedy
from specdoctor.core.launch import ORIGINAL, LaunchChange
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import DECIDED, Role, Status, Verdict
from specdoctor.core.ports import Advice, Conclusion
from specdoctor.core.server import ServerView, SpecSetting

MATERIAL = 1.05
"""A launch counts as faster when it gains more than the assumed spread between two starts, 5 %."""


def reach(run: Run) -> ev.VerdictReached:
    """The verdict as the evidence stands; the planner's own answer, where that is what was asked for."""
    concluded = run.conclusion()
    if concluded is not None and concluded.verdict is not None:
        return answered(run, concluded, concluded.verdict)
    ledger = run.ledger
    causes = _causes(ledger)
    verdict = _verdict(run, causes)
    recommendation = _recommendation(run, verdict)
    missing = _missing(run, verdict, causes)
    ruled_out = tuple(
        f"{h.id} {h.cause or 'symptom'}: {ruled_claim(ledger, h)} ({h.because})"
        for h in ledger.hypotheses.values()
        if h.status is Status.FALSIFIED and h.answers != "repairs"
    )
    headline = _headline(run, verdict, causes)
    return ev.VerdictReached(
        verdict=verdict,
        headline=headline,
        causes=causes,
        ruled_out=ruled_out,
        missing=missing,
        recommendation=recommendation,
        after_repair=after_repair(run),
        lines=lines_of(
            run,
            verdict=verdict,
            headline=headline,
            causes=causes,
            missing=missing,
            recommendation=recommendation,
        ),
    )


def answered(run: Run, concluded: Conclusion, verdict: Verdict) -> ev.VerdictReached:
    """The planner's answer as a verdict: what the checks found beside it stays among the causes."""
    recommendation = _advised(run, concluded.advice)
    return ev.VerdictReached(
        verdict=verdict,
        headline=concluded.headline,
        causes=_causes(run.ledger),
        ruled_out=(),
        missing=concluded.missing,
        recommendation=recommendation,
        lines=answer_lines(run, concluded, verdict, recommendation),
    )


def _advised(run: Run, advice: Advice | None) -> Recommendation | None:
    if advice is None or run.scene is None or run.engine is None:
        return None
    measured = next((m for m in run.ledger.measurements if m.evidence == advice.evidence), None)
    return advised_launch(
        run.engine,
        run.scene.view,
        advice.change,
        expected=_expected(measured) if measured is not None else {},
        basis="measured",
        why=f"{advice.why} ({advice.evidence})",
    )


def _causes(ledger: Ledger) -> tuple[CauseNamed, ...]:
    """One entry per cause: supported when something about it was proved, else suspected; strongest role first."""
    out: dict[str, CauseNamed] = {}
    for h in ledger.hypotheses.values():
        if h.cause is None or h.status is Status.FALSIFIED:
            continue
        named = _named(ledger, h)
        if named is not None and _rank(named) < _rank(out.get(h.cause)):
            out[h.cause] = named
    lost = _lost_sampled(ledger)
    if lost is not None and lost.accepts_less:
        out["SAMP-1"] = _accepts_less(lost)
    return tuple(sorted(out.values(), key=_rank))


def _lost_sampled(ledger: Ledger) -> SampledLoss | None:
    """A loss at the users' sampling where speed is what is asked about, and the answers are sound."""
    lossy = ledger.by_key("symptom:answers")
    if lossy is not None and lossy.status is Status.SUPPORTED:
        return None
    symptom = read_symptom(ledger.settings.symptom).at(ledger.settings.concurrency)
    return sampled_loss(ledger) if symptom.asks_about_speed else None


def _accepts_less(lost: SampledLoss) -> CauseNamed:
    claim = (
        f"at temperature {lost.temperature} it keeps {lost.now.accept_length} tokens a cycle, greedily "
        f"{lost.greedy.accept_length}: sampled requests lose by speculation, greedy ones do not"
    )
    return CauseNamed(cause="SAMP-1", status="supported", role=Role.EXPLAINS, claim=claim, evidence=lost.evidence)


def _rank(cause: CauseNamed | None) -> tuple[int, int]:
    if cause is None:
        return (9, 9)
    roles = (Role.EXPLAINS, Role.CONTRIBUTES, Role.PRESENT)
    return (0 if cause.status == "supported" else 1, roles.index(cause.role))


def _named(ledger: Ledger, h: Hypothesis) -> CauseNamed | None:
    assert h.cause is not None
    if h.answers == "repairs":
        return None
    if h.status is Status.SUPPORTED:
        role = Role.EXPLAINS if h.answers == "explains" else _role(ledger, h)
        role = Role.PRESENT if repaired_in_vain(ledger, h.cause) else role
        return CauseNamed(cause=h.cause, status="supported", role=role, claim=h.claim, evidence=h.evidence)
    fault = [o for o in ledger.observations if o.observation.cause == h.cause and o.observation.stance == "supports"]
    if fault or (h.answers == "exists" and not h.evidence):
        return None
    evidence = tuple(
        o.evidence for o in ledger.observations if o.observation.cause == h.cause and o.observation.stance == "suggests"
    )
    return CauseNamed(
        cause=h.cause, status="suspected", role=Role.CONTRIBUTES, claim=h.claim, evidence=evidence, decides=h.decides
    )


def _role(ledger: Ledger, fault: Hypothesis) -> Role:
    """What a proved fault has to do with the symptom, by what undoing it brought."""
    tests = [h for h in ledger.hypotheses.values() if h.cause == fault.cause and h.answers == "explains"]
    if any(h.status is Status.SUPPORTED for h in tests):
        return Role.EXPLAINS
    for h in tests:
        if h.prediction is None:
            continue
        concurrency = h.prediction.concurrency
        undone = ledger.measured(h.prediction.under, concurrency=concurrency)
        found = ledger.measured("original", concurrency=concurrency)
        if _faster(undone, found):
            return Role.EXPLAINS if _faster(undone, ledger.baseline(concurrency)) else Role.CONTRIBUTES
    return Role.PRESENT


def _faster(one: Measurement | None, other: Measurement | None) -> bool:
    """Whether one measurement is faster than another by more than the spread between starts."""
    if one is None or other is None or one.throughput is None or other.throughput is None:
        return False
    return one.throughput.value > MATERIAL * other.throughput.value and one.throughput.low > other.throughput.high


def equal(one: Measurement, other: Measurement) -> bool:
    """Whether two measurements differ by no more than two starts of one launch do."""
    if one.throughput is None or other.throughput is None:
        return False
    fast, slow = sorted((one.throughput.value, other.throughput.value), reverse=True)
    return fast <= MATERIAL * slow


def _alike(winner: Measurement) -> str:
    speed = winner.throughput.with_unit() if winner.throughput is not None else ""
    return f"as fast as {winner.launch} within the spread between starts ({speed}, {winner.evidence}), and simpler"


def tested(ledger: Ledger, cause: str) -> bool:
    """Whether it was decided, by a measurement or by arithmetic on one, if undoing a fault removes the symptom."""
    return any(h.cause == cause and h.answers == "explains" and h.status in DECIDED for h in ledger.hypotheses.values())


def confirmed(run: Run) -> bool | None:
    """Whether the symptom is true here: True, False, or None when nothing could tell."""
    ledger = run.ledger
    symptom = read_symptom(ledger.settings.symptom).at(ledger.settings.concurrency)
    if run.scene is not None and run.scene.view.state == "down":
        return True
    slower, lossy = ledger.by_key("symptom:slower"), ledger.by_key("symptom:answers")
    if lossy is not None and (lossy.status is Status.SUPPORTED or not symptom.asks_about_speed):
        return lossy.status is Status.SUPPORTED if lossy.status in DECIDED else None
    if _lost_sampled(ledger) is not None:
        return True
    if slower is not None and slower.status is not Status.OPEN and slower.status is not Status.PARKED:
        return slower.status is Status.SUPPORTED
    if "queueing" in symptom.complaints:
        return any(o.binds and o.stance == "supports" and o.explains for o in ledger.observed()) or None
    typed = symptom.figure("throughput_tok_s", "baseline")
    if symptom.asks_about_speed or "wrong-output" in symptom.complaints or typed is None:
        return None
    seen = ledger.measured("original", concurrency=ledger.settings.concurrency)
    seen = seen or next((m for m in reversed(ledger.measurements) if m.launch_key == "original"), None)
    pays = seen is not None and seen.throughput is not None and seen.throughput.low > typed
    return False if pays else None


def _verdict(run: Run, causes: tuple[CauseNamed, ...]) -> Verdict:
    if any(c.status == "supported" and c.role is Role.EXPLAINS for c in causes):
        return Verdict.CAUSE
    binding = [o for o in run.ledger.observed() if o.stance == "supports" and o.binds and not _lost(run, o)]
    if confirmed(run) is False and not binding and not unexplained(run.ledger):
        return Verdict.HEALTHY
    return Verdict.NOT_ENOUGH_EVIDENCE


def _lost(run: Run, observation: Observation) -> bool:
    """Whether a binding fault does no harm here: speculation pays in spite of it, and undoing it is only an option."""
    drafts_fewer = observation.remedy is not None and observation.remedy.setting is not None
    return drafts_fewer and confirmed(run) is False


def _missing(run: Run, verdict: Verdict, causes: tuple[CauseNamed, ...]) -> tuple[str, ...]:
    if verdict is Verdict.HEALTHY:
        return ()
    ledger = run.ledger
    undecided = [h for h in ledger.hypotheses.values() if h.status in (Status.OPEN, Status.PARKED) and h.decides]
    if verdict is Verdict.CAUSE:
        # Beside what explains the accept length, a long cycle has causes of its own.
        return tuple(dict.fromkeys(f"{h.cause}: {h.decides}" for h in undecided if h.about == "cycle"))
    out = [f"{h.cause or 'symptom'}: {h.decides}" for h in undecided]
    out += [f"{cause}: repair it and measure again ({repair})" for cause, repair in untested_repairs(ledger, causes)]
    if confirmed(run) is False:
        out[:0] = unexplained(ledger)
    unclear = unclear_loss(ledger)
    if unclear is not None:
        out = [f"whether it is slower at all: {unclear.power_words}"]
    elif confirmed(run) is None:
        out[:0] = _symptom_missing(ledger)
    if run.scene is not None and run.engine is not None and confirmed(run) is None:
        try:
            run.engine.change_spec(run.scene.view, SpecSetting(), label="without speculation")
        except EngineError as error:
            out.append(f"not done: a launch without speculation: {error.message}")
    out += [f"not done: {r.why}" for r in ledger.standing_refusals if r.move.split()[0] in ("bench", "relaunch")]
    return tuple(dict.fromkeys(out))


def _symptom_missing(ledger: Ledger) -> list[str]:
    """What would tell whether the symptom is there; nothing where that was measured and no symptom was told."""
    concurrency = ledger.settings.concurrency
    lacking = [
        words
        for words, found in (
            ("this launch", ledger.measured("original", concurrency=concurrency)),
            ("one without speculation", ledger.baseline(concurrency)),
        )
        if found is None
    ]
    if lacking:
        return [f"whether the symptom is there: a benchmark of {' and of '.join(lacking)}"]
    told = ledger.settings.symptom
    return ["whether the symptom is there: what was measured does not speak of it as it was told"] if told else []


def best(ledger: Ledger) -> Measurement | None:
    """The fastest launch measured at the run's concurrency."""
    again = {r.change.key for r in ledger.relaunches if r.change.repeats}
    benches = [
        m
        for m in ledger.measurements
        if m.source == "bench"
        and m.throughput is not None
        and m.concurrency == ledger.settings.concurrency
        and m.launch_key not in again
    ]
    return max(benches, key=lambda m: m.throughput.value if m.throughput else 0.0, default=None)


def _change(ledger: Ledger, key: str) -> LaunchChange:
    return next((r.change for r in ledger.relaunches if r.change.key == key), ORIGINAL)


def _recommendation(run: Run, verdict: Verdict) -> Recommendation | None:
    """The fastest launch that was measured, if it beats the server as found; else an untested fix, said to be so."""
    ledger, scene, engine = run.ledger, run.scene, run.engine
    if scene is None or engine is None:
        return None
    winner, found = best(ledger), ledger.measured("original", concurrency=ledger.settings.concurrency)
    if winner is not None and winner.launch_key != "original" and _faster(winner, found):
        off = ledger.baseline(ledger.settings.concurrency)
        simpler = off is not None and off != winner and _faster(off, found) and equal(winner, off)
        taken = off if simpler and off is not None else winner
        alike = _alike(winner) if simpler else ""
        return advised_launch(
            engine,
            scene.view,
            _change(ledger, taken.launch_key),
            expected=_expected(taken) | ({"equal": alike} if alike else {}),
            basis="measured",
            why=f"{taken.launch} is {alike or 'the fastest launch measured here'} ({taken.evidence})",
            then=() if taken.spec.on else what_would_pay(ledger),
        )
    lost = _lost_sampled(ledger)
    if lost is not None:
        return advised_launch(
            engine,
            scene.view,
            _change(ledger, lost.greedy_off.launch_key),
            expected=_expected(lost.off),
            basis="measured",
            why=f"at temperature {lost.temperature} it is faster without speculation ({lost.off.evidence})",
        )
    if verdict is not Verdict.CAUSE:
        return None
    remedies = [o for o in ledger.observed() if o.stance == "supports" and o.binds and o.remedy is not None]
    for o in remedies:
        assert o.remedy is not None
        change = _remedied(engine, scene.view, o.remedy)
        if change is None or engine.paste_line(scene.view, change) == engine.paste_line(scene.view, ORIGINAL):
            continue
        return advised_launch(
            engine,
            scene.view,
            change,
            expected={"note": "not measured here"},
            basis="predicted",
            why=f"{o.cause}: {o.fix}",
        )
    return None


def _remedied(engine: Engine, view: ServerView, remedy: Remedy) -> LaunchChange | None:
    """The launch that a remedy comes to, None where no flag can make it."""
    if remedy.setting is None:
        change = engine.change_flags(label=remedy.label, set_flags=remedy.set_flags, remove_flags=remedy.remove_flags)
        return change.model_copy(update={"remove_env": remedy.remove_env})
    try:
        return engine.change_spec(view, remedy.setting, label=remedy.label)
    except EngineError:
        return None


def _expected(m: Measurement) -> dict[str, JsonValue]:
    out: dict[str, JsonValue] = {"basis": "measured", "evidence": m.evidence, "requests": m.requests}
    figures: tuple[tuple[str, Estimate | None], ...] = (
        ("throughput_tok_s", m.throughput),
        ("accept_length", m.accept_length),
        ("step_ms", m.step),
    )
    for name, figure in figures:
        if figure is not None:
            out[name] = round(figure.value, 3)
            out[f"{name}_interval"] = [round(figure.low, 3), round(figure.high, 3)]
            out[f"{name}_estimator"] = figure.estimator
    return out


def _headline(run: Run, verdict: Verdict, causes: tuple[CauseNamed, ...]) -> str:
    explaining = [c for c in causes if c.status == "supported" and c.role is Role.EXPLAINS]
    if verdict is Verdict.CAUSE:
        return f"{explaining[0].cause}: {explaining[0].claim}"
    if verdict is Verdict.HEALTHY:
        return "nothing here needs repair"
    real = [c for c in causes if c.status == "supported"]
    untested = [c.cause for c in real if not tested(run.ledger, c.cause)]
    if untested:
        are, explain = one_or(untested, "is", "are"), one_or(untested, "it explains", "they explain")
        return f"{listed(untested)} {are} real; whether {explain} the symptom was not tested"
    if real and confirmed(run):
        named = [c.cause for c in real]
        are = one_or(named, "is", "are")
        return f"{listed(named)} {are} real, and {are} not why it is slow; what is, stays open"
    unclear = unclear_loss(run.ledger)
    if unclear is not None:
        return f"with and without speculation: {unclear.outcome}; {unclear.power_words}"
    lost = _lost_sampled(run.ledger)
    if lost is not None:
        return f"speculation loses at temperature {lost.temperature}, not greedily; why stays open"
    if confirmed(run) and run.ledger.by_key("finding:cycle") is not None:
        return "speculation loses here; what makes its cycle long stays open"
    return "what was read and measured does not decide it"
