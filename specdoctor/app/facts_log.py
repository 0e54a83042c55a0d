"""Facts of decode lines: load, acceptance, speed and step of one server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specdoctor.analysis.logged_figures import changing, figures_at, served, usual
from specdoctor.app.triage_fact import Fact
from specdoctor.core.draft_counts import DraftCounts
from specdoctor.core.server import DecodeWindow, ServerView, Source

WEIGHTED = "mean over decode lines with living requests, weighted by running requests"
AT_LOAD = "accept_length_at_measured_load"
POOLED = "1 + accepted / drafts, pooled over the log's intervals"


def load_facts(view: ServerView) -> Iterator[Fact]:
    """The most running and waiting requests on one line, that is of one rank."""
    windows = view.log.decode if view.log else ()
    if not windows or view.log is None:
        return
    for name, read in (("running_requests_max", _running), ("queue_requests_max", _queue)):
        most = max(windows, key=read)
        yield Fact(
            name=name,
            value=read(most),
            estimator=f"largest of {len(windows)} lines",
            sources=(Source(where=view.log.where, line=most.line),),
        )


def acceptance_facts(view: ServerView) -> Iterator[Fact]:
    """Accept length, the strict rate and the positions, by counts where they are printed, else by the lines' means."""
    if view.log is None:
        return
    windows = view.log.decode
    source = (Source(where=view.log.where),)
    counts = _counts(view)
    if counts is not None and counts.accept_length is not None:
        yield Fact(name="accept_length", value=round(counts.accept_length, 4), estimator=POOLED, sources=source)
    length = weighted_accept_length(windows)
    if length is not None:
        yield Fact(name="accept_length", value=round(length, 4), estimator=WEIGHTED, sources=source)
    if counts is not None and counts.rate is not None:
        words = f"{counts.accepted} accepted of {counts.drafted} drafted tokens"
        yield Fact(name="draft_acceptance_rate", value=round(counts.rate, 4), estimator=words, sources=source)
    if counts is not None and counts.per_position:
        shares: list[float] = [round(share, 4) for share in counts.per_position]
        words = f"marginal, over {counts.drafts} drafts"
        yield Fact(name="per_position_acceptance", value=list(shares), estimator=words, sources=source)


def _counts(view: ServerView) -> DraftCounts | None:
    """All drafts of the log together; its windows' where the log has no sum of its own."""
    log = view.log
    if log is None:
        return None
    if log.counts is not None:
        return log.counts
    found: DraftCounts | None = None
    for window in log.decode:
        if window.counts is not None:
            found = window.counts if found is None else found.plus(window.counts)
    return found


def weighted_accept_length(windows: Sequence[DecodeWindow]) -> float | None:
    """Accept length with the bonus token, by WEIGHTED; a line with no token in flight ended a batch and is left out."""
    pairs = [(w.accept_length, w.running) for w in windows if w.accept_length is not None and w.tokens != 0]
    total = sum(running for _, running in pairs)
    return sum(length * running for length, running in pairs) / total if total else None


def speed_facts(view: ServerView, at: int | None = None) -> Iterator[Fact]:
    """Throughput, accept length and step at a number of running requests, that seen most where none is named, and that
    number: pooled alike, so that they satisfy the identity.
    """
    windows = [w for w in view.log.decode if w.running > 0 and w.tokens != 0] if view.log else []
    clean = [w for w in windows if w.clean]
    load = at if at is not None else usual(windows)
    if view.log is None or load is None or (at is not None and at not in served(clean or windows)):
        return
    source = (Source(where=view.log.where),)
    yield Fact(name="measured_at_running_requests", value=load, sources=source)
    figures = figures_at(clean, load, changed=changing(view.log.decode))
    if figures is None:
        yield from _unbounded(view.log.decode, load, source)
        return
    found = {
        AT_LOAD: figures.accept_length,
        "throughput_tok_s": figures.throughput_tok_s,
        "step_ms": figures.step_ms,
    }
    for name, value in found.items():
        if value is not None:
            yield Fact(name=name, value=round(value, 4), estimator=figures.estimator, sources=source)


def _unbounded(windows: Sequence[DecodeWindow], running: int, source: tuple[Source, ...]) -> Iterator[Fact]:
    """Speed by lines of an excerpt that show no prefill, and not whether requests ran through their whole interval."""
    kept = [w for w in windows if w.running == running and w.throughput_tok_s > 0 and w.prompt_tok_s == 0]
    if not kept:
        return
    speed = sum(w.throughput_tok_s for w in kept) / len(kept)
    words = f"{'one line' if len(kept) == 1 else f'mean of {len(kept)} lines'} without prefill; idle time in it would "
    yield Fact(
        name="throughput_tok_s", value=round(speed, 4), estimator=f"{words}make the true speed higher", sources=source
    )
    length = weighted_accept_length(kept)
    if length is not None:
        yield Fact(
            name="step_ms",
            value=round(1000 * running * length / speed, 4),
            estimator=f"running * accept length / throughput; {words}make the true step shorter",
            sources=source,
        )


def whole_log_facts(view: ServerView) -> Iterator[Fact]:
    """The plain mean over a log that holds more lines than are kept."""
    whole = view.log.whole if view.log else None
    if whole is None or whole.accept_length is None or view.log is None:
        return
    words = f"mean of all {whole.lines} decode lines; the other figures are of {len(view.log.decode)} of them"
    source = (Source(where=view.log.where),)
    yield Fact(name="accept_length_of_whole_log", value=round(whole.accept_length, 4), estimator=words, sources=source)
    if whole.throughput_tok_s is not None:
        speed = round(whole.throughput_tok_s, 4)
        yield Fact(name="throughput_tok_s_of_whole_log", value=speed, estimator=words, sources=source)


def _running(window: DecodeWindow) -> int:
    return window.running


def _queue(window: DecodeWindow) -> int:
    return window.queue
