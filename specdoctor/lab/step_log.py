"""Counts scheduler iterations and writes their log lines, by the engine's own rules of when a line is due."""

from __future__ import annotations

from specdoctor.lab.counters import Counters, Interval
from specdoctor.lab.engine_types import Resolved
from specdoctor.lab.sglang_output import DecodeStats, PrefillStats, accept_rate, decode_line, prefill_line, says_info
from specdoctor.lab.sglang_stamp import stamp
from specdoctor.lab.sglang_startup import WARMUP_TOKENS


def stamped(text: str, resolved: Resolved, at_s: float, *, rank: bool = False) -> str:
    """A line of the launcher, or of rank 0 where there are several ranks, with its stamp."""
    name = "TP0" if rank and resolved.tp_size > 1 else ""
    milliseconds = resolved.env.get("SGLANG_LOG_MS", "") in {"1", "true"}
    return stamp(at_s, release=resolved.release, rank=name, milliseconds=milliseconds) + text


class StepLog:
    """The statistics of one server's iterations."""

    def __init__(self, resolved: Resolved, counters: Counters) -> None:
        self._resolved = resolved
        self._counters = counters

    def count_warm_up(self, *, graph: bool) -> None:
        """What the warm-up request of the start leaves in the counters."""
        counters = self._counters
        counters.prefill_passes = 1
        counters.prefill_tokens = WARMUP_TOKENS
        counters.decode_steps = 4
        counters.forward_passes = 5
        counters.graph_steps = 4 if graph else 0
        for call in (("/model_info", "GET"), ("/generate", "POST")):
            counters.http_requests[call] += 1
            counters.http_responses[(*call, 200)] += 1
        counters.prompt_tokens[False] += WARMUP_TOKENS
        counters.generation_tokens[False] += 8
        counters.requests[False] += 1

    def prefill(self, stats: PrefillStats, *, duration_s: float, end_s: float) -> tuple[str, ...]:
        """Count a prefill pass; its line. `stats.throughput` is filled in from the time since the last pass."""
        counters = self._counters
        counters.prefill_passes += 1
        counters.forward_passes += 1
        counters.prefill_tokens += stats.new_tokens
        counters.cached_tokens += stats.cached_tokens
        counters.prefill_busy_s += duration_s
        counters.last_pass_used_graph = stats.graph
        gap = max(end_s - counters.last_prefill_log_s, 1e-6)
        counters.last_prefill_log_s = end_s
        if not says_info(self._resolved.args):
            return ()
        told = stats.with_throughput(stats.new_tokens / gap)
        text = prefill_line(told, release=self._resolved.release, iteration=counters.forward_passes)
        return (stamped(text, self._resolved, end_s, rank=True),)

    def decode(self, *, running: int, tokens: int, queue: int, graph: bool, end_s: float) -> tuple[str, ...]:
        """Count a decode step; a line when the interval is over."""
        counters, resolved = self._counters, self._resolved
        counters.decode_steps += 1
        counters.forward_passes += 1
        counters.graph_steps += graph
        counters.last_pass_used_graph = graph
        if counters.decode_steps % int(resolved.args["decode_log_interval"]):
            return ()
        accept = self._close_interval(end_s)
        if not says_info(resolved.args):
            return ()
        stats = DecodeStats(
            running=running,
            tokens=tokens,
            usage=tokens / max(resolved.memory.max_total_num_tokens, 1),
            accept_length=accept,
            graph=graph,
            throughput=counters.last_throughput,
            queue=queue,
        )
        text = decode_line(
            stats,
            release=resolved.release,
            draft_tokens=resolved.num_draft_tokens,
            iteration=counters.forward_passes,
        )
        return (stamped(text, resolved, end_s, rank=True),)

    def _close_interval(self, end_s: float) -> float | None:
        """Move the interval's sums into the totals; its accept length, None without speculation."""
        counters, resolved = self._counters, self._resolved
        interval, counters.interval = counters.interval, Interval()
        gap = max(end_s - counters.last_decode_log_s, 1e-6)
        counters.last_decode_log_s = end_s
        counters.last_throughput = interval.tokens / gap
        counters.decode_tokens += interval.tokens
        if not resolved.speculative:
            return None
        accept = interval.accept_tokens / interval.forwards if interval.forwards else 0.0
        counters.last_accept_length = accept
        counters.last_accept_rate = accept_rate(accept, resolved.num_draft_tokens, resolved.release)
        counters.accept_tokens_logged += interval.accept_tokens
        counters.forwards_logged += interval.forwards
        return accept
