"""The verdict in eight lines, each number with where it comes from."""

from __future__ import annotations

from specdoctor.analysis.comparisons import Compared, comparisons
from specdoctor.analysis.cycle import estimated_break_even, estimated_break_even_cycle
from specdoctor.analysis.recall import RecalledFigure, recalled_figures
from specdoctor.analysis.sampled_gain import ruled_claim, sampled_loss
from specdoctor.analysis.state_change import state_change
from specdoctor.app import others
from specdoctor.app.repair_tried import repair_tried, symptom_removed
from specdoctor.app.repaired import after_repair_line
from specdoctor.app.run import Run
from specdoctor.app.started_anew import times_said
from specdoctor.core.conclusions import CauseNamed, Recommendation
from specdoctor.core.ledger import Ledger, left_to_do
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import DECIDED, Role, Status, Verdict
from specdoctor.core.ports import Conclusion

MATERIAL = 1.05
"""Less than the assumed spread between two starts, 5 %, is called neither a gain nor a loss."""

Lines = tuple[tuple[str, str], ...]


def lines_of(
    run: Run,
    *,
    verdict: Verdict,
    headline: str,
    causes: tuple[CauseNamed, ...],
    missing: tuple[str, ...],
    recommendation: Recommendation | None,
) -> Lines:
    """(label, text) pairs: verdict, gain or loss, what arithmetic says where that is not known, because, fix,
    ruled out, not known, do now, cost, server.

    Where there is something to say of them: what a repair is expected to bring, launches compared, figures from memory,
    what has changed since, what then.
    """
    ledger = run.ledger
    lines: list[tuple[str, str]] = [("verdict", f"{verdict.value.replace('-', ' ')}: {headline}")]
    lines += _gain(ledger)
    lines += _bounds(ledger)
    because = [c for c in causes if c.status == "supported"]
    if because:
        words = "; ".join(_cause_words(ledger, c) for c in because)
        lines.append(("because", _cited(words, *(e for c in because for e in c.evidence))))
    lines += _fixes(ledger, because)
    lines += after_repair_line(run)
    lines += repair_tried(run)
    ruled_out = [h for h in ledger.hypotheses.values() if h.status is Status.FALSIFIED and h.answers != "repairs"]
    if ruled_out:
        words = "; ".join(f"{h.id} {ruled_claim(ledger, h)} ({_short(h.because)})" for h in ruled_out)
        lines.append(("ruled out", _cited(words, *(e for h in ruled_out for e in h.evidence))))
    lines += [("compared", _cited(c.words, *c.evidence)) for c in comparisons(ledger) if _worth_a_line(ledger, c)]
    recalled = recalled_figures(ledger)
    if recalled:
        dated = [figure.dated.evidence for figure in recalled if figure.dated is not None]
        lines.append(("recalled", _cited(_recalled_words(ledger, recalled), *dated)))
    changed = state_change(ledger)
    if changed is not None:
        lines.append(("since then", changed.words))
    if missing:
        lines.append(("not known", _not_known(ledger, missing, causes)))
    lines.append(("do now", _do_now(run, recommendation)))
    if recommendation is not None and recommendation.then:
        lines.append(("then", "; ".join(recommendation.then)))
    lines.append(("cost", _cost(ledger)))
    lines.append(("server", _state(run)))
    return tuple(lines)


def answer_lines(run: Run, concluded: Conclusion, verdict: Verdict, recommendation: Recommendation | None) -> Lines:
    """(label, text) pairs of a planner's own answer: verdict, its lines, not known, do now, cost, server."""
    lines = [("verdict", f"{verdict.value.replace('-', ' ')}: {concluded.headline}"), *concluded.lines]
    lines += [("not known", text) for text in concluded.missing]
    lines += [("not done", r.why) for r in run.ledger.standing_refusals[-1:]]
    return (*lines, ("do now", _do_now(run, recommendation)), ("cost", _cost(run.ledger)), ("server", _state(run)))


def _bounds(ledger: Ledger) -> Lines:
    """What arithmetic on the best figures says, as long as no launch without speculation was measured."""
    if ledger.baseline(ledger.settings.concurrency) is not None or not ledger.bounds:
        return ()
    evidence = ledger.bounds[-1].evidence
    last = [b for b in ledger.bounds if b.evidence == evidence]
    told = _told_baseline(ledger)
    words = f"if {told:g} tok/s without, your figure, holds: " if told is not None else ""
    return (("arithmetic", _cited(words + " | ".join(b.text for b in last[:2]), evidence)),)


def unclear_loss(ledger: Ledger) -> Compared | None:
    """Speculation against none where both were measured and neither is faster by more than this design shows."""
    slower = ledger.by_key("symptom:slower")
    if slower is None or slower.status is not Status.OPEN:
        return None
    found = next((c for c in comparisons(ledger) if c.about == "speculation"), None)
    return found if found is not None and found.outcome in ("inconclusive", "no difference") else None


def _worth_a_line(ledger: Ledger, compared: Compared) -> bool:
    """Two installations always; speculation against none where its own line cannot say which is faster."""
    slower = ledger.by_key("symptom:slower")
    return compared.about == "installs" or (slower is not None and slower.status not in DECIDED)


def _fixes(ledger: Ledger, causes: list[CauseNamed]) -> Lines:
    """What repairs a cause that no change of the launch repairs: one that explains it, or may."""
    explaining = [c.cause for c in causes if c.role is Role.EXPLAINS and c.status == "supported"]
    told = [o for o in ledger.observed() if o.stance in ("supports", "suggests")]
    fixes = [o.fix for o in told if o.cause in explaining and o.remedy is None]
    fixes += [f"{c.cause}: {fix}" for c in causes if _untested(ledger, c) for fix in _repairs(ledger, c.cause)]
    return tuple(("fix", fix) for fix in dict.fromkeys(fixes) if fix)


def _untested(ledger: Ledger, cause: CauseNamed) -> bool:
    """A fault that is there, of which nothing tells by now whether it explains the symptom."""
    tests = [h for h in ledger.hypotheses.values() if h.cause == cause.cause and h.answers == "explains"]
    real = cause.status == "supported" and cause.role is Role.PRESENT
    return real and not any(h.status in DECIDED for h in tests)


def _repairs(ledger: Ledger, cause: str) -> list[str]:
    """What repairs a proved fault where no change of the launch does."""
    proofs = [o for o in ledger.observed(cause) if o.stance == "supports" and o.fix]
    return [] if any(o.remedy is not None for o in proofs) else list(dict.fromkeys(o.fix for o in proofs))


def untested_repairs(ledger: Ledger, causes: tuple[CauseNamed, ...]) -> list[tuple[str, str]]:
    """Proved faults that may explain the symptom and that no launch here can test, with what repairs them."""
    return [
        (c.cause, " | ".join(_repairs(ledger, c.cause)))
        for c in causes
        if _untested(ledger, c) and _repairs(ledger, c.cause)
    ]


def _recalled_words(ledger: Ledger, recalled: tuple[RecalledFigure, ...]) -> str:
    """Figures from memory, by what has become of them; they decide nothing."""
    parts = []
    for status, words in (("other-state", "another state of the system"), ("open", "not tested")):
        same = [figure for figure in recalled if figure.status == status]
        parts += [f"{f.claim.text}: {words} ({f.why})" for f in same if f.dated is not None]
        undated = [f for f in same if f.dated is None]
        if undated:
            reasons = "; ".join(dict.fromkeys(figure.why for figure in undated))
            parts.append(f"{', '.join(f.claim.text for f in undated)}: {words} ({reasons})")
    when = f" ({ledger.settings.recalled_at})" if ledger.settings.recalled_at else ""
    return "; ".join(parts) + when


def _cause_words(ledger: Ledger, cause: CauseNamed) -> str:
    tests = [h for h in ledger.hypotheses.values() if h.cause == cause.cause and h.answers == "explains"]
    if cause.role is Role.PRESENT and not any(h.status in DECIDED for h in tests):
        return f"{cause.cause} {cause.claim} (real; whether it explains the symptom was not tested)"
    role = {Role.EXPLAINS: "explains it", Role.CONTRIBUTES: "contributes", Role.PRESENT: "real, does not explain it"}
    return f"{cause.cause} {cause.claim} ({role[cause.role]})"


def _cited(text: str, *evidence: str) -> str:
    """A line's text and, after two spaces, the evidence behind it."""
    ids = " ".join(dict.fromkeys(e for e in evidence if e))
    return f"{text}  {ids}" if ids else text


def _not_known(ledger: Ledger, missing: tuple[str, ...], causes: tuple[CauseNamed, ...]) -> str:
    """Open rivals by what they would explain, with the first test that would tell; the rest is in the report."""
    parts: list[str] = []
    unclear = unclear_loss(ledger)
    if unclear is not None:
        return f"whether it is slower at all: {unclear.power_words}"
    finding = ledger.by_key("finding:cycle")
    for about, words in (
        ("accept_length", _length_words(ledger)),
        ("cycle", f"why {finding.claim}" if finding is not None else "what makes the cycle long"),
        ("symptom", "what explains the symptom"),
    ):
        open_here = [h for h in ledger.hypotheses.values() if h.status in (Status.OPEN, Status.PARKED)]
        rivals = [h for h in open_here if h.about == about and not (about == "symptom" and symptom_removed(ledger))]
        beside = untested_repairs(ledger, causes) if about == "symptom" else []
        told = [f"{cause}; would tell: repair it (see fix) and measure again" for cause, _ in beside]
        if rivals:
            names = ", ".join(dict.fromkeys(h.cause or h.claim for h in rivals))
            tells = next((h.decides for h in rivals if h.decides), "nothing that can be done here")
            told = [f"{names}; would tell: {tells}", *told]
        if told:
            parts.append(f"{words}: {'; or '.join(told)}")
    refused = [text for text in missing if text.startswith("not done: ")]
    return " | ".join([*parts, *refused[-1:]]) if parts else "; ".join(missing[:2])


def _length_words(ledger: Ledger) -> str:
    """What the rivals for the accept length would account for, with the figure."""
    now = ledger.measured("original", concurrency=ledger.settings.concurrency)
    if now is None or now.accept_length is None:
        return "what the accept length depends on"
    return f"what keeps the accept length at {now.accept_length.value:.2f} of at most {now.spec.draft_steps + 1}"


def _short(text: str) -> str:
    return text if len(text) <= 160 else text[:157] + "..."


def _figures(m: Measurement) -> str:
    assert m.throughput is not None
    parts = []
    if m.spec.on and m.accept_length is not None:
        parts.append(f"{m.accept_length} tokens a cycle")
    if m.step is not None:
        parts.append(m.step.with_unit())
    inside = f" ({', '.join(parts)})" if parts else ""
    return f"{m.throughput.with_unit()}{inside}"


def _gain(ledger: Ledger) -> list[tuple[str, str]]:
    concurrency = ledger.settings.concurrency
    now = ledger.measured("original", concurrency=concurrency)
    if now is None or now.throughput is None:
        seen = next((m for m in reversed(ledger.measurements) if m.source != "bench" and m.throughput), None)
        if seen is None:
            return []
        words = f"in its log ({seen.prompt_set}): {_figures(seen)}{_typed_baseline(ledger)}"
        return [("measured", _cited(words, seen.evidence))]
    off = ledger.baseline(concurrency)
    if off is None or off.throughput is None:
        return [("measured", _cited(_figures(now) + _typed_baseline(ledger), now.evidence))]
    if not now.spec.on:
        return [("measured", _cited(f"{_figures(now)}; no speculation is in force", now.evidence))]
    ratio = now.throughput.value / off.throughput.value
    word = "gains" if ratio > MATERIAL else "loses" if ratio < 1 / MATERIAL else "no gain"
    words = f"{_figures(now)} against {_figures(off)} without{_pays_when(now, off) if word != 'gains' else ''}"
    return [(word, _cited(words, now.evidence, off.evidence)), *_sampled(ledger)]


def _sampled(ledger: Ledger) -> list[tuple[str, str]]:
    lost = sampled_loss(ledger)
    if lost is None:
        return []
    words = f"at temperature {lost.temperature}: {_figures(lost.now)} against {_figures(lost.off)} without"
    return [("loses", _cited(f"{words}; the line above is greedy", lost.now.evidence, lost.off.evidence))]


def _pays_when(now: Measurement, off: Measurement) -> str:
    """Break-even on both sides: the accept length for this cycle, the cycle for this accept length."""
    if now.step is None or now.accept_length is None or off.throughput is None or not now.spec.on:
        return ""
    if now.concurrency > 1:
        if off.step is None:
            return ""
        length, cycle = now.step.value / off.step.value, now.accept_length.value * off.step.value
    else:
        length = estimated_break_even(now.step, off.throughput).value
        cycle = estimated_break_even_cycle(now.accept_length, off.throughput).value
    return f"; it would pay above {length:.2f} tokens a cycle, or with a cycle under {cycle:.1f} ms"


def _typed_baseline(ledger: Ledger) -> str:
    """The user's own baseline, said to be theirs."""
    typed = _told_baseline(ledger)
    return f"; {typed:g} tok/s without is your figure, not measured here" if typed is not None else ""


def _told_baseline(ledger: Ledger) -> float | None:
    return next((c.value for c in ledger.claims if c.metric == "throughput_tok_s" and c.role == "baseline"), None)


def _by_what_was_told(ledger: Ledger) -> str:
    """What follows where the user's own figure without speculation is above what was measured with it.

    Empty otherwise, and once a launch without speculation was measured.
    """
    told = _told_baseline(ledger)
    seen = ledger.measured("original", concurrency=ledger.settings.concurrency)
    now = seen or next((m for m in reversed(ledger.measurements) if m.launch_key == "original" and m.throughput), None)
    if told is None or now is None or now.throughput is None or not now.spec.on:
        return ""
    if ledger.baseline(ledger.settings.concurrency) is not None or told <= now.throughput.value * MATERIAL:
        return ""
    return (
        f"measure it without speculation: by your figure that is faster, {told:g} against "
        f"{now.throughput.value:.1f} tok/s here; until then "
    )


def _do_now(run: Run, recommendation: Recommendation | None) -> str:
    lost = sampled_loss(run.ledger)
    if lost is None:
        return _to_do(run, recommendation)
    if recommendation is None:
        return f"{_to_do(run, None)} for greedy requests; those at temperature {lost.temperature} lose by speculation"
    if recommendation.expected.get("evidence") != lost.off.evidence:
        return f"{_to_do(run, recommendation)}; this is greedy: at temperature {lost.temperature} none was faster"
    return (
        f"where users sample (temperature {lost.temperature}): {_to_do(run, recommendation)}; where they send greedy "
        "requests: leave it as it is"
    )


def _to_do(run: Run, recommendation: Recommendation | None) -> str:
    if recommendation is not None:
        value = recommendation.expected.get("throughput_tok_s")
        origin = f"{recommendation.basis} {recommendation.expected.get('evidence', '')}".strip()
        alike = f"; {recommendation.expected['equal']}" if "equal" in recommendation.expected else ""
        brings = f" [{value:.1f} tok/s, {origin}{alike}]" if isinstance(value, float) else f" [{origin}]"
        where = f" {recommendation.where}" if recommendation.where else ""
        commands = [line for line in (recommendation.first, recommendation.launch) if line]
        return f"{'; then: '.join(commands)}{where}{brings}"
    view = run.scene.view if run.scene else None
    if view is not None and view.state == "down":
        failure = view.log.failure if view.log else None
        return failure.next_step if failure and failure.next_step else "start it again, and read the end of its log"
    lossy = run.ledger.by_key("symptom:answers")
    if lossy is not None and lossy.status is Status.SUPPORTED:
        return "until it is repaired, send requests that must be answered right to a launch without speculation"
    if run.ledger.restored is False and run.ledger.changed:
        return (
            f"have the server put back first: specdoctor investigate --resume {run.id}, or: specdoctor restore TARGET"
        )
    first = _by_what_was_told(run.ledger)
    left = left_to_do(run.ledger)
    if left:
        return f"{first}leave it as it is; to test by hand: {left[0].start}"
    if run.ledger.verdict is None and view is not None and not view.keeper.restartable and view.keeper.by_hand:
        return f"{first}leave it as it is; to test by hand: {view.keeper.by_hand}"
    return f"{first}leave it as it is"


def _cost(ledger: Ledger) -> str:
    minutes = (ledger.last_at - ledger.first_at) / 60.0
    down = ledger.downtime_s
    still = " so far (THE SERVER IS STILL DOWN)" if ledger.still_down else ""
    unseen = " and what nobody measured" if any(r.by == "hand" for r in ledger.restores) else ""
    time_down = f"{int(down // 60)}:{int(down % 60):02d}{unseen} down{still}"
    took = f"{ledger.restarts} restarts, {time_down}, {minutes:.1f} min in all"
    return f"{took}; language model: {ledger.model_words}" if ledger.model_calls else took


def _state(run: Run) -> str:
    ledger = run.ledger
    if run.scene is not None and run.scene.view.state == "down":
        log = run.scene.view.log
        last = " | ".join(log.last_lines[-3:]) if log else ""
        return f"down; last log lines: {last}" if last else "down; no log was found"
    if ledger.by_hand is not None:
        made = ledger.by_hand.change
        undo = next((r.back for r in reversed(ledger.refusals) if r.change and r.change.key == made.key), "")
        return f"runs with {made.label}, started by hand; the original comes back with: {undo}"
    if ledger.restored is None:
        return "; ".join(["nothing was changed", *times_said(ledger)[-1:]])
    control = ledger.control
    if ledger.changed or control is None:
        return _by_parts(ledger)
    return _cited(f"{_by_parts(ledger)}; {control.text}", control.evidence)


def how_it_is(ledger: Ledger) -> str:
    """A server that was changed and is not back, as far as the last thing that happened to it tells."""
    back = f"; try again with: specdoctor investigate --resume {ledger.run}, or: specdoctor restore TARGET"
    last = ledger.restores[-1].outcome if ledger.restores else None
    if last is not None and not last.proved and ledger.current_launch is None:
        if last.status in ("failed", "timeout"):
            return f"DOWN: the original did not come back ({last.reason or last.status}){back}"
        return f"NOT as it was found: {last.reason or last.status}{back}"
    made = ledger.relaunches[-1].outcome if ledger.relaunches else None
    if made is not None and made.status in ("failed", "timeout", "undone"):
        return f"DOWN: the last start came to nothing, and the original was not put back{back}"
    return f"NOT as it was found: nobody has seen it put back{back}"


def _by_parts(ledger: Ledger) -> str:
    if ledger.changed:
        return how_it_is(ledger)
    shared = others.how_it_is(ledger)
    if shared:
        return shared
    words = {"guard": ", put back by its guard", "hand": ", put back by hand"}
    by = words.get(ledger.restores[-1].by, "") if ledger.restores else ""
    return f"as it was{by} ({len(ledger.restores[-1].outcome.equal)} parts compared, all equal; healthy)"
