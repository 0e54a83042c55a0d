"""Facts of counters, answers and single passes: acceptance as counted, the speed of one request."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pydantic import JsonValue

from specdoctor.analysis.dumped_drafts import counted_over, dumps_of
from specdoctor.app.triage_fact import Fact
from specdoctor.core.draft_counts import DraftCounts
from specdoctor.core.material import Counters, Exchange, Material
from specdoctor.core.server import Source

_FEWEST_DRAFTS = 1


def counted_facts(material: Material) -> Iterator[Fact]:
    """Acceptance between the first and the last dump of one server; of a single dump, since the server started."""
    ordered = dumps_of(material)
    if not ordered:
        return
    first, last = ordered[0], ordered[-1]
    words = "between two dumps" if len(ordered) > 1 else "since the server started"
    place = tuple(Source(where=where) for where in dict.fromkeys((first.where, last.where)))
    yield from _acceptance(counted_over(ordered), words, place)


def gauge_facts(material: Material) -> Iterator[Fact]:
    """What the last dump gives as a mean of its own, where nothing was counted between two."""
    ordered = dumps_of(material)
    if ordered and (len(ordered) == 1 or counted_over(ordered) is None):
        yield from _gauges(ordered[-1])


def _acceptance(counts: DraftCounts | None, words: str, place: tuple[Source, ...]) -> Iterator[Fact]:
    if counts is None:
        return
    if counts.accept_length is not None and (counts.drafts or 0) >= _FEWEST_DRAFTS:
        said = f"1 + {counts.accepted} accepted / {counts.drafts} drafts, {words}"
        yield Fact(name="accept_length", value=round(counts.accept_length, 4), estimator=said, sources=place)
    if counts.rate is not None:
        said = f"{counts.accepted} accepted of {counts.drafted} drafted tokens, {words}"
        yield Fact(name="draft_acceptance_rate", value=round(counts.rate, 4), estimator=said, sources=place)
    if counts.per_position:
        shares = [round(share, 4) for share in counts.per_position]
        said = f"marginal, over {counts.drafts} drafts, {words}"
        yield Fact(name="per_position_acceptance", value=list(shares), estimator=said, sources=place)


def _gauges(dump: Counters) -> Iterator[Fact]:
    """SGLang's own means, as it last set them."""
    for name, gauge in (("accept_length", "sglang:spec_accept_length"), ("throughput_tok_s", "sglang:gen_throughput")):
        key = next((k for k in dump.samples if k.partition("{")[0] == gauge and dump.samples[k] > 0), None)
        if key is not None:
            source = Source(where=dump.where, line=dump.lines.get(key))
            yield Fact(name=name, value=round(dump.samples[key], 4), estimator=f"gauge {gauge}", sources=(source,))


def answer_facts(material: Material) -> Iterator[Fact]:
    """Acceptance and speed of the answers that carry timings or counts."""
    readers: tuple[Callable[[Exchange], Iterator[Fact]], ...] = (_timings, _meta_info)
    for exchange in material.exchanges:
        if exchange.direction == "answer":
            for read in readers:
                yield from read(exchange)


def _timings(exchange: Exchange) -> Iterator[Fact]:
    """llama.cpp: tokens that were not accepted drafts each took a forward of the target."""
    found = exchange.content.get("timings", exchange.content)
    if not isinstance(found, dict):
        return
    tokens, drafted = _number(found.get("predicted_n")), _number(found.get("draft_n"))
    accepted = _number(found.get("draft_n_accepted"))
    place = (Source(where=exchange.where, key="timings", quote='"timings"'),)
    if drafted and accepted is not None:
        words = f"{accepted:g} accepted of {drafted:g} drafted tokens, one answer"
        yield Fact(name="draft_acceptance_rate", value=round(accepted / drafted, 4), estimator=words, sources=place)
        if tokens and accepted < tokens:
            words = f"{tokens:g} tokens / ({tokens:g} - {accepted:g}) forwards, one answer"
            yield Fact(
                name="accept_length", value=round(tokens / (tokens - accepted), 4), estimator=words, sources=place
            )
    speed = _number(found.get("predicted_per_second"))
    if speed:
        yield Fact(name="throughput_tok_s", value=round(speed, 4), estimator="predicted_per_second, one answer",
                   sources=place)  # fmt: skip


def _meta_info(exchange: Exchange) -> Iterator[Fact]:
    """SGLang's /generate: counts of one request."""
    found = exchange.content.get("meta_info")
    if not isinstance(found, dict):
        return
    place = (Source(where=exchange.where, key="meta_info", quote='"meta_info"'),)
    tokens, calls = _number(found.get("completion_tokens")), _number(found.get("spec_verify_ct"))
    if tokens and calls:
        words = f"{tokens:g} tokens / {calls:g} forwards, one answer"
        yield Fact(name="accept_length", value=round(tokens / calls, 4), estimator=words, sources=place)


def pass_facts(material: Material) -> Iterator[Fact]:
    """Figures of single passes, where an engine reports each."""
    for found in material.iterations:
        drafts = [p for p in found.passes if p.drafted_tokens]
        place = (Source(where=found.where),)
        drafted = sum(p.drafted_tokens or 0.0 for p in drafts)
        accepted = sum(p.accepted_tokens or 0.0 for p in drafts)
        lengths = [p.accept_length for p in drafts if p.accept_length is not None]
        if lengths:
            mean = sum(lengths) / len(lengths)
            yield Fact(
                name="accept_length", value=round(mean, 4), estimator=f"mean of {len(lengths)} passes", sources=place
            )
        if drafted:
            words = f"{accepted:g} accepted of {drafted:g} drafted tokens"
            yield Fact(name="draft_acceptance_rate", value=round(accepted / drafted, 4), estimator=words, sources=place)
        for name, values in (
            ("running_requests_max", [p.running for p in found.passes if p.running is not None]),
            ("queue_requests_max", [p.queued for p in found.passes if p.queued is not None]),
        ):
            if values:
                yield Fact(name=name, value=max(values), estimator=f"largest of {len(values)} passes", sources=place)


def _number(value: JsonValue) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
