"""The report of a run in Markdown: each sentence is an event or a sum over events, so that it can be checked."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime

import jinja2

from specdoctor.core import events as ev
from specdoctor.core.errors import LedgerError
from specdoctor.core.estimate import Estimate
from specdoctor.core.hypothesis import Hypothesis
from specdoctor.core.launch import LaunchOutcome, RestoreOutcome
from specdoctor.core.ledger import Ledger, fold
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Status
from specdoctor.core.server import Source
from specdoctor.render.asked import keyed_quotes, rewrites_of
from specdoctor.render.figures import RESULT_WORDS, amount, change_words, clock, duration, place_words, result
from specdoctor.render.json_run import estimators
from specdoctor.render.layout import paste_lines
from specdoctor.render.lines import event_line, is_checkpoint
from specdoctor.render.markdown import Md, block, code, inline, joined, table
from specdoctor.render.pasting import paste_lines_of, with_lines


def report_markdown(events: Iterable[ev.Event]) -> str:
    """The report of a finished or unfinished run. Raises LedgerError if the events break the ledger's rules."""
    history = list(events)
    ledger = fold(history)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("specdoctor.render", "templates"),
        finalize=inline,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    return environment.get_template("report.md.j2").render(
        ledger=ledger,
        run=ledger.run,
        target=ledger.started.target if ledger.started else "",
        heading=_heading(ledger),
        verdict=_verdict(ledger),
        causes=_causes(ledger),
        advice=ledger.verdict.recommendation if ledger.verdict else None,
        expected=_expected(ledger),
        hypotheses=_hypotheses(ledger),
        bounds=_bounds(ledger),
        measurements=_measurements(ledger.measurements),
        estimators=[(m.id, estimators(m), m.flags, m.prompt_set) for m in ledger.measurements],
        asked=_asked(ledger),
        evidence=[(e, _quotes(e.evidence, ledger)) for e in ledger.evidence.values()],
        timeline=[(clock(e.at - ledger.first_at), _line(e, ledger)) for e in history if is_checkpoint(e)],
        approvals=_approvals(ledger),
        actions=_actions(ledger),
        starts=_starts(ledger),
        cost=_cost(ledger),
        notes=[(n.by, with_lines(n.text, n.lines)) for n in ledger.notes],
        first=_try_first(ledger),
        block=block,
        code=code,
        paste=lambda command: block("\n".join(paste_lines(command, width=100))),
    )


def _heading(ledger: Ledger) -> Md:
    if ledger.started is None:
        raise LedgerError("the run has not started")
    seen = ledger.server
    begun = datetime.fromtimestamp(ledger.first_at, UTC).strftime("%Y-%m-%d %H:%M:%S")
    state = f"ended with exit code {ledger.ended.exit_code}: {ledger.ended.reason}" if ledger.ended else "unfinished"
    rows = [
        ("symptom, as told", ledger.settings.symptom or "none given"),
        *(("figure, as told", c.text) for c in ledger.claims),
        *((f"figure, recalled{f' ({c.recalled_at})' if c.recalled_at else ''}", c.text) for c in ledger.recalled),
        ("server", event_line(seen) if seen else "not looked at"),
        *([("surroundings", seen.surroundings)] if seen and seen.surroundings else []),
        ("begun", f"{begun} UTC"),
        ("lasted", clock(ledger.last_at - ledger.first_at)),
        ("state", state),
        ("resumed", f"{ledger.resumes} times" if ledger.resumes != 1 else "once"),
        ("written by", f"specdoctor {ledger.started.tool_version}"),
    ]
    return table(
        ("target", place_words(ledger.started.target, ledger.settings.named)),
        [r for r in rows if r[0] != "resumed" or ledger.resumes],
    )


def _verdict(ledger: Ledger) -> Md:
    if ledger.verdict is not None:
        first, *rest = ledger.verdict.lines or (("verdict", ledger.verdict.headline),)
        return table(first, [(label, with_lines(text, paste_lines_of(ledger))) for label, text in rest])
    undecided = [h for h in ledger.hypotheses.values() if h.status in (Status.OPEN, Status.PARKED)]
    return table(
        ("verdict", "none: the run did not come to its end"),
        [(f"open: {h.id}", f"{h.claim}; would tell: {h.decides or 'not said'}") for h in undecided],
    )


def _line(event: ev.Event, ledger: Ledger) -> Md:
    """An event of the timeline; commands in it can be pasted."""
    return with_lines(event_line(event), paste_lines_of(ledger))


def _ids(ids: Iterable[str]) -> Md:
    return joined((inline(i) for i in ids), " ")


def _causes(ledger: Ledger) -> Md | None:
    if ledger.verdict is None or not ledger.verdict.causes:
        return None
    rows = [(c.cause, c.status, c.role, c.claim, _ids(c.evidence), c.decides) for c in ledger.verdict.causes]
    return table(("cause", "status", "role", "claim", "evidence", "would decide"), rows)


def _expected(ledger: Ledger) -> list[tuple[str, str]]:
    advice = ledger.verdict.recommendation if ledger.verdict else None
    items = advice.expected.items() if advice else ()
    return [(name, value if isinstance(value, str) else json.dumps(value)) for name, value in items]


def _hypotheses(ledger: Ledger) -> Md | None:
    rows = [
        (h.id, h.cause or "", h.claim, _prediction(h), _outcome(h, ledger), RESULT_WORDS[h.status], _ids(h.evidence))
        for h in ledger.hypotheses.values()
    ]
    header = ("", "cause", "claim", "predicted before the test", "result", "hit or miss", "evidence")
    return table(header, rows) if rows else None


def _prediction(h: Hypothesis) -> str:
    return h.prediction.sentence if h.prediction else "nothing measurable"


def _outcome(h: Hypothesis, ledger: Ledger) -> str:
    parts = [h.status.value, result(h, ledger), h.because]
    return "; ".join(p for p in parts if p)


def _bounds(ledger: Ledger) -> Md | None:
    first = next((a.started.at for a in ledger.actions.values() if a.started.what == "relaunch"), None)
    rows = [
        (
            b.about,
            b.text,
            f"{b.metric} {amount(b.low)} to {amount(b.high)}, most likely {amount(b.value)}",
            amount(b.claim),
            f"yes: {' '.join(b.refutes) or 'the claim'}" if b.refuted else "no",
            f"{b.basis} figures; " + "; ".join(b.assumptions),
            "before" if first is None or b.at <= first else "after",
            b.evidence,
        )
        for b in ledger.bounds
    ]
    header = ("about", "bound", "range", "claimed", "refuted", "basis and assumptions", "first restart", "evidence")
    return table(header, rows) if rows else None


def _measurements(measurements: Iterable[Measurement]) -> Md | None:
    rows = [
        (
            m.id,
            m.launch,
            m.spec.label,
            m.concurrency,
            _figure(m.throughput),
            _figure(m.accept_length) if m.spec.on else "1 (no speculation)",
            _figure(m.step),
            f"{m.requests}" + (f", {m.failed} failed" if m.failed else ""),
            m.source,
            m.evidence,
        )
        for m in measurements
    ]
    header = ("", "launch", "setting", "at once", "throughput", "accept length", "step", "requests", "from", "evidence")
    return table(header, rows) if rows else None


def _figure(estimate: Estimate | None) -> str:
    if estimate is None:
        return "no data"
    return estimate.with_unit() + (f", n={estimate.n}" if estimate.n is not None else "")


def _asked(ledger: Ledger) -> Md | None:
    rewrites = rewrites_of(ledger)
    if rewrites:
        rows = [
            (r.key, _or_none(r.asked), _or_none(r.effective), r.kind, r.cause or "", r.rule, code(r.logged or ""))
            for r in rewrites
        ]
        return table(("argument", "asked", "in force", "how", "cause", "rule", "what the server logged"), rows)
    quotes = keyed_quotes(ledger)
    rows_2 = [(q.key, _place(q.source), code(q.source.quote), q.evidence) for q in quotes]
    return table(("argument", "stands in", "words", "evidence"), rows_2) if quotes else None


def _or_none(value: str | None) -> str:
    return "not given" if value is None else value


def _place(source: Source) -> str:
    return source.where + (f":{source.line}" if source.line is not None else "")


def _quotes(evidence: str, ledger: Ledger) -> list[tuple[str, str]]:
    """Place and words of each source that an observation cites by this evidence."""
    return [
        (_place(s) + (f", {s.key}" if s.key else ""), s.quote)
        for o in ledger.observations
        if o.evidence == evidence
        for s in o.observation.sources
    ]


def _approvals(ledger: Ledger) -> Md | None:
    rows = []
    for batch, asked in ledger.batches.items():
        answer = next((a for a in reversed(ledger.answers) if a.batch == batch), None)
        said = ("granted" if answer.granted else "not granted") + f", {answer.scope}" if answer else "no answer"
        text = with_lines(asked.text, asked.lines)
        rows.append((batch, asked.risk.word, text, said, answer.by if answer else ""))
    return table(("", "risk", "asked", "answer", "by"), rows) if rows else None


def _actions(ledger: Ledger) -> Md | None:
    rows = []
    for name, entry in ledger.actions.items():
        end = entry.ended
        rows.append(
            (
                name,
                clock(entry.started.at - ledger.first_at),
                entry.started.what,
                entry.started.risk.word,
                entry.started.why,
                end.outcome if end else "no end known",
                duration(end.duration_s) if end else "",
                end.summary if end else "",
                _ids(end.evidence if end else ()),
            )
        )
    return table(("", "at", "action", "risk", "why", "outcome", "took", "summary", "evidence"), rows) if rows else None


def _starts(ledger: Ledger) -> Md | None:
    made = [
        *((r.at, r.change.label, change_words(r.change), *_came_to(r.outcome), r.evidence) for r in ledger.relaunches),
        *((r.at, "the original", _compared(r.outcome), *_came_to(r.outcome), r.evidence) for r in ledger.restores),
    ]
    rows = [(clock(at - ledger.first_at), *row) for at, *row in sorted(made)]
    return table(("at", "launch", "change", "outcome", "start", "down", "evidence"), rows) if rows else None


def _came_to(outcome: LaunchOutcome | RestoreOutcome) -> tuple[str, str, str]:
    status = f"{outcome.status}: {outcome.reason}" if outcome.reason else outcome.status
    return status, duration(outcome.start_s), duration(outcome.downtime_s)


def _compared(outcome: RestoreOutcome) -> str:
    same = ", ".join(name for name, equal in outcome.equal.items() if equal)
    unequal = [name for name, equal in outcome.equal.items() if not equal]
    differs = ", ".join(f"{name} ({outcome.differences.get(name, 'not said how')})" for name in unequal)
    return f"equal: {same or 'nothing compared'}" + (f"; differs: {differs}" if differs else "")


def _cost(ledger: Ledger) -> Md:
    words = {None: "never changed", True: "put back, and proved the same", False: "NOT proved to be as it was found"}
    rows = [
        ("starts of the server", f"{ledger.restarts} of {ledger.settings.max_restarts} allowed"),
        ("without a server", clock(ledger.downtime_s) + (", and still down" if ledger.still_down else "")),
        ("from begin to end", clock(ledger.last_at - ledger.first_at)),
        ("tokens of a language model", ledger.model_words or "0"),
        ("the server", words[ledger.restored]),
        *([("measured before and after", ledger.control.text)] if ledger.control else []),
        ("left on the host", "nothing" if ledger.released else "not known to be nothing"),
    ]
    return table(("cost", ""), rows)


def _try_first(ledger: Ledger) -> list[str]:
    """What to do next, in order, each taken from the verdict or from a hypothesis that is still open."""
    steps: list[str] = []
    if ledger.restored is False:
        steps.append("look at the server: it is not proved to be as it was found")
    reached = ledger.verdict
    if reached is not None and reached.recommendation is not None:
        steps.append(f"start the recommended launch ({reached.recommendation.basis}): {reached.recommendation.why}")
    if reached is not None:
        steps += reached.missing
    undecided = [h for h in ledger.hypotheses.values() if h.status in (Status.OPEN, Status.PARKED) and h.decides]
    ranks = ("high", "medium", "low")
    steps += [f"{h.id}: {h.decides}" for h in sorted(undecided, key=lambda h: ranks.index(h.priority))]
    return steps
