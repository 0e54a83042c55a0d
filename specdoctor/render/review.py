"""A finished or unfinished run on the terminal: what was found, what is open, what happened when."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from specdoctor.core.conclusions import Recommendation
from specdoctor.core.errors import UsageError
from specdoctor.core.estimate import Estimate
from specdoctor.core.events import Event, EvidenceRecorded
from specdoctor.core.hypothesis import Hypothesis
from specdoctor.core.ledger import Ledger, fold
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import DECIDED, Status
from specdoctor.core.resuming import resume_line
from specdoctor.core.server import Source
from specdoctor.render.asked import rewrites_of
from specdoctor.render.clean import clean, one_line
from specdoctor.render.excerpt import excerpt
from specdoctor.render.figures import (
    TODO_WORDS,
    amount,
    clock,
    evidence_ids,
    place_words,
    prediction_and_result,
    restarts_words,
)
from specdoctor.render.json_run import estimators
from specdoctor.render.layout import columns, labelled, pad, paste_lines, wrap
from specdoctor.render.lines import cited_by, event_line, is_checkpoint
from specdoctor.render.spelled_out import spelled_out
from specdoctor.render.tables import rewrites_table
from specdoctor.render.verdict import verdict_text

_LABEL = 12
_MOST_JSON = 4 << 20
_STAMP = 9


def review_text(history: Sequence[Event], *, events: bool = False, width: int = 80, at_work: bool = False) -> str:
    """Summary, verdict, hypotheses, measurements and timeline of a run; with `events`, every event in the timeline.

    `at_work`: a process drives it now, so that nobody is told to go on with it.
    Raises LedgerError if the events break the ledger's rules.
    """
    ledger = fold(history)
    sections = [
        _summary(ledger, width, at_work=at_work),
        verdict_text(ledger.verdict, width=width) if ledger.verdict else "",
        _recommendation(ledger, width),
        _section("hypotheses", [line for h in ledger.hypotheses.values() for line in _hypothesis(h, ledger, width)]),
        _section("measurements", _measurements(ledger.measurements, width)),
        _section("asked for and in force", _asked(ledger, width)),
        _section("every event" if events else "timeline", _timeline(history, ledger, every=events, width=width)),
        _next_step(ledger, width, at_work=at_work),
    ]
    return "\n\n".join(s for s in sections if s)


def evidence_text(
    history: Sequence[Event],
    evidence: str,
    *,
    artefact: Callable[[str], bytes] | None = None,
    width: int = 80,
) -> str:
    """One piece of evidence: where it comes from, the words it rests on, what cites it, and its artefact's head.

    `artefact` reads an artefact by name (StoreError if it is gone). Raises UsageError for an id the run does not have.
    """
    ledger = fold(history)
    record = ledger.evidence.get(evidence)
    if record is None:
        raise _unknown(ledger, evidence)
    rows = [
        (record.evidence, record.summary),
        ("from", record.source),
        ("at", clock(record.at - ledger.first_at) + (f", by action {record.action}" if record.action else "")),
        *_sources(record, ledger),
        *_figures(record, ledger),
        *_under_labels(_data(record, ledger)),
        *(("cited", line) for line in _citing(record.evidence, history)),
    ]
    lines = [line for label, text in rows for line in labelled(one_line(label), text, label_width=12, width=width)]
    if record.artefact:
        lines += labelled("artefact", f"{record.artefact}  sha256 {record.sha256 or '?'}", label_width=12, width=width)
        if artefact is not None:
            lines += ["", *_readable(artefact(record.artefact), width, _quotes(record, ledger))]
    return "\n".join(lines)


def _data(record: EvidenceRecorded, ledger: Ledger) -> list[tuple[str, str]]:
    """What the record holds, without what stands above as quotes."""
    quoted = {"sources"} if any(o.evidence == record.evidence for o in ledger.observations) else set()
    kept = {key: value for key, value in record.data.items() if key not in quoted}
    return spelled_out(kept) if kept else []


def evidence_json(history: Sequence[Event], evidence: str) -> dict[str, Any]:
    """One piece of evidence as a document: the record, the places that it rests on, and what cites it."""
    ledger = fold(history)
    record = ledger.evidence.get(evidence)
    if record is None:
        raise _unknown(ledger, evidence)
    observed = [o.observation for o in ledger.observations if o.evidence == evidence]
    return {
        "schema": "specdoctor.evidence/1",
        "run": ledger.run,
        **record.model_dump(mode="json", exclude={"kind"}),
        "observations": [o.model_dump(mode="json") for o in observed],
        "cited": _citing(evidence, history),
    }


def _unknown(ledger: Ledger, evidence: str) -> UsageError:
    known = ", ".join(ledger.evidence) or "none"
    return UsageError(f"run {ledger.run} has no evidence {evidence!r}", next_step=f"it has: {known}")


def _under_labels(rows: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Rows whose name is longer than the label with the name in the text."""
    return [(name, text) if len(name) < _LABEL else ("", f"{name}: {text}") for name, text in rows]


def _quotes(record: EvidenceRecorded, ledger: Ledger) -> list[Source]:
    """What was quoted, of this evidence first: `excerpt` finds what of it stands in the artefact."""
    own = [o for o in ledger.observations if o.evidence == record.evidence]
    others = [o for o in ledger.observations if o.evidence != record.evidence]
    told = [source for o in (*own, *others) for source in o.observation.sources]
    return [*_quotes_in(record.data), *told]


def _quotes_in(value: Any) -> list[Source]:
    """The quotes that a record holds in itself, with their lines where they name them."""
    if isinstance(value, dict):
        line, where = value.get("line"), value.get("where")
        here = [
            Source(
                where=where if isinstance(where, str) else "", line=line if isinstance(line, int) else None, quote=said
            )
            for said in (value.get("quote"), value.get("logged"))
            if isinstance(said, str)
        ]
        return [*here, *(s for each in value.values() for s in _quotes_in(each))]
    return [s for each in value for s in _quotes_in(each)] if isinstance(value, list | tuple) else []


def _readable(content: bytes, width: int, quotes: Sequence[Source]) -> list[str]:
    """What was quoted of an artefact, or its head; one that is a JSON document is spelled out."""
    text = content.decode("utf-8", errors="replace").strip()
    if text[:1] in ("{", "[") and len(content) <= _MOST_JSON:
        try:
            rows = spelled_out(json.loads(text))
        except (ValueError, RecursionError):
            return excerpt(content, quotes, width=width)
        named = _under_labels([(clean(name), clean(value)) for name, value in rows])
        return [line for name, value in named for line in labelled(one_line(name), value, label_width=12, width=width)]
    return excerpt(content, quotes, width=width)


def _section(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, *(f"  {line}" for line in lines)]) if lines else ""


def _summary(ledger: Ledger, width: int, *, at_work: bool) -> str:
    begun = datetime.fromtimestamp(ledger.first_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    if ledger.ended is not None:
        state = f"ended with exit code {ledger.ended.exit_code}: {ledger.ended.reason}"
    else:
        running = ", ".join(a.started.action for a in ledger.open_actions())
        if at_work:
            state = "at work" + (f": {running}" if running else "")
        else:
            state = "unfinished" + (f"; without a known end: {running}" if running else "")
    restored = {None: "never changed", True: "as it was found", False: "NOT proved to be as it was found"}
    cost = restarts_words(ledger)
    rows = [
        (f"run {ledger.run}", f"on {_place(ledger)}, begun {begun}"),
        ("told", "; ".join(filter(None, (ledger.settings.symptom, *(c.text for c in ledger.claims))))),
        ("state", f"{state}; {clock(ledger.last_at - ledger.first_at)} from first to last event"),
        ("server", event_line(ledger.server).removeprefix("server ") if ledger.server else "not looked at"),
        ("model", ledger.model_words),
        ("cost", f"{cost}; the server: {restored[ledger.restored]}"),
    ]
    return "\n".join(
        line for label, text in rows if text for line in labelled(label, text, label_width=11, width=width)
    )


def _place(ledger: Ledger) -> str:
    return place_words(ledger.started.target, ledger.settings.named) if ledger.started else "?"


def _recommendation(ledger: Ledger, width: int) -> str:
    advice = ledger.verdict.recommendation if ledger.verdict else None
    if advice is None:
        return ""
    return "\n".join(
        [
            *wrap(f"to start{_where(advice)} ({advice.basis}: {advice.why}):", width),
            *(f"  {line}" for line in (paste_lines(advice.first, width=width - 2) if advice.first else [])),
            *(f"  {line}" for line in paste_lines(advice.launch, width=width - 2)),
            "the way back:",
            *(f"  {line}" for line in paste_lines(advice.rollback, width=width - 2)),
        ]
    )


def _where(advice: Recommendation) -> str:
    made = ", once the first command has made the folder" if advice.first else ""
    return f" {advice.where}{made}" if advice.where else made


def _hypothesis(h: Hypothesis, ledger: Ledger, width: int) -> list[str]:
    label_width = 14
    lead = pad(h.id, 4) + h.status.value
    lines = labelled(lead, f"{h.cause + ': ' if h.cause else ''}{h.claim}", label_width=label_width, width=width - 2)
    details = [
        ("", prediction_and_result(h, ledger)),
        ("", f"because {h.because}" if h.because and h.because not in prediction_and_result(h, ledger) else ""),
        ("", f"evidence {evidence_ids(h.evidence, most=99)}" if h.evidence else ""),
        ("", f"would tell: {h.decides}" if h.decides and h.status not in DECIDED else ""),
        *((TODO_WORDS[t.status], t.content) for t in h.todo if h.status not in DECIDED),
    ]
    for word, text in details:
        if text:
            lines += labelled(f"    {word}", text, label_width=label_width, width=width - 2)
    return lines


def _measurements(measurements: Sequence[Measurement], width: int) -> list[str]:
    if not measurements:
        return []
    rows = [
        (
            m.id,
            m.launch,
            f"{m.throughput}" if m.throughput else "no data",
            _value(m.accept_length) if m.spec.on else "1",
            _value(m.step),
            f"{m.requests}" + (f" (+{m.failed} failed)" if m.failed else ""),
            f"{m.concurrency}",
            m.evidence,
        )
        for m in measurements
    ]
    header = ("", "LAUNCH", "TOK/S (95 %)", "ACCEPT LEN", "STEP MS", "REQ", "CONC", "")
    return columns(header, rows, width=width - 2).split("\n")


def _value(estimate: Estimate | None) -> str:
    return amount(estimate.value) if estimate else "no data"


def _asked(ledger: Ledger, width: int) -> list[str]:
    rewrites = rewrites_of(ledger)
    return rewrites_table(rewrites, width=width - 2).split("\n") if rewrites else []


def _timeline(history: Sequence[Event], ledger: Ledger, *, every: bool, width: int) -> list[str]:
    return [
        line
        for event in history
        if every or is_checkpoint(event)
        for line in labelled(clock(event.at - ledger.first_at), event_line(event), label_width=_STAMP, width=width - 2)
    ]


def _next_step(ledger: Ledger, width: int, *, at_work: bool) -> str:
    if at_work or (ledger.ended is not None and ledger.restored is not False):
        return ""
    why = "the server may not be as it was found" if ledger.restored is False else "the run is unfinished"
    undecided = [h.id for h in ledger.hypotheses.values() if h.status is Status.OPEN]
    still = f"; open: {' '.join(undecided)}" if undecided else ""
    text = f"{why}{still}; go on with:  {resume_line(ledger)}"
    return "\n".join(labelled("next", text, label_width=11, width=width))


def _sources(record: EvidenceRecorded, ledger: Ledger) -> list[tuple[str, str]]:
    return [
        ("quote", f"{s.where}{f':{s.line}' if s.line is not None else ''} {s.key or ''}  {s.quote}")
        for o in ledger.observations
        if o.evidence == record.evidence
        for s in o.observation.sources
    ]


def _figures(record: EvidenceRecorded, ledger: Ledger) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for m in ledger.measurements:
        if m.evidence == record.evidence:
            named = (("throughput", m.throughput), ("accept len", m.accept_length), ("step", m.step))
            rows += [(name, e.with_unit()) for name, e in named if e is not None]
            rows.append(("estimator", estimators(m)))
    for b in ledger.bounds:
        if b.evidence == record.evidence:
            rows += [("bound", b.text), *(("assumes", a) for a in b.assumptions)]
    return rows


def _citing(evidence: str, history: Sequence[Event]) -> list[str]:
    return [event_line(event) for event in history if evidence in cited_by(event)]
