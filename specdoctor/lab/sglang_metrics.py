"""The Prometheus text of an SGLang server."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from specdoctor.lab.counters import Counters, Histogram
from specdoctor.lab.engine_types import Resolved
from specdoctor.lab.sglang_args import context_length
from specdoctor.lab.sglang_output import GRAPH_PHASES

Labels = Mapping[str, str]
Sample = tuple[Labels, float]

_GAUGES_AT_ZERO = (
    ("num_grammar_queue_reqs", "The number of requests in the grammar waiting queue."),
    ("cache_hit_rate", "The prefix cache hit rate."),
    ("utilization", "The utilization."),
    ("num_prefill_bootstrap_queue_reqs", "The number of requests in the prefill bootstrap queue."),
    ("num_decode_prealloc_queue_reqs", "The number of requests in the decode prealloc queue."),
)


class MetricsPage:
    """Builds one scrape."""

    def __init__(self, resolved: Resolved) -> None:
        self._resolved = resolved
        self._lines: list[str] = []
        rank = {"tp_rank": "0", "pp_rank": "0"}
        if resolved.release >= (0, 5, 14):
            rank["moe_ep_rank"] = "0"
        self._model = {"model_name": resolved.served_model_name, "engine_type": "unified"}
        self._rank = self._model | rank

    def text(
        self,
        counters: Counters,
        timings: Mapping[str, float],
        *,
        running: int,
        waiting: int,
        tokens: int,
        cached_pool: int,
        pid: int,
    ) -> str:
        """The whole page."""
        self._lines = []
        self._totals(counters)
        self._constants(timings)
        self._gauges(counters, running, waiting, tokens, cached_pool)
        about = "The number of retracted requests."
        self._family("num_retracted_reqs", "gauge", about, [(self._rank | {"pid": str(pid)}, 0.0)])
        self._speculation(counters)
        self._histograms(counters)
        return "\n".join(self._lines) + "\n"

    def _family(self, name: str, kind: str, about: str, samples: Iterable[Sample]) -> None:
        found = list(samples)
        if not found:
            return
        self._lines += [f"# HELP sglang:{name} {about}", f"# TYPE sglang:{name} {kind}"]
        for labels, value in found:
            self._lines.append(f"sglang:{name}{_labels(labels)} {_number(value)}")

    def _by_stream(self, counts: Mapping[bool, float]) -> list[Sample]:
        return [
            (self._model | {"is_streaming": str(stream).lower()}, float(counts[stream]))
            for stream in (False, True)
            if counts.get(stream)
        ]

    def _totals(self, counters: Counters) -> None:
        graph = float(counters.graph_steps)
        passes = {
            "prefill_none": float(counters.prefill_passes),
            "decode_cuda_graph": graph,
            "decode_none": float(counters.decode_steps) - graph,
        }
        about = "Total number of forward passes categorized by CUDA graph."
        self._family(
            "cuda_graph_passes_total",
            "counter",
            about,
            [(self._rank | {"mode": mode}, count) for mode, count in passes.items() if count],
        )
        realtime = {
            "prefill_compute": counters.prefill_tokens,
            "decode": counters.decode_tokens,
            "prefill_cache": counters.cached_tokens,
        }
        about = "Total number of tokens processed (updated on each log interval)."
        samples = [(self._rank | {"mode": mode}, float(count)) for mode, count in realtime.items()]
        self._family("realtime_tokens_total", "counter", about, samples)
        about = "Total number of HTTP requests by endpoint and method"
        calls = [
            ({"endpoint": path, "method": method}, float(count))
            for (path, method), count in counters.http_requests.items()
        ]
        self._family("http_requests_total", "counter", about, calls)
        about = "Total number of HTTP responses by endpoint and status code"
        answers = [
            ({"endpoint": path, "method": method, "status_code": str(status)}, float(count))
            for (path, method, status), count in counters.http_responses.items()
        ]
        self._family("http_responses_total", "counter", about, answers)
        self._family(
            "prompt_tokens_total",
            "counter",
            "Number of prefill tokens processed.",
            self._by_stream({key: float(value) for key, value in counters.prompt_tokens.items()}),
        )
        self._family(
            "generation_tokens_total",
            "counter",
            "Number of generation tokens processed.",
            self._by_stream({key: float(value) for key, value in counters.generation_tokens.items()}),
        )
        self._family(
            "num_requests_total",
            "counter",
            "Number of requests processed.",
            self._by_stream({key: float(value) for key, value in counters.requests.items()}),
        )
        if counters.cached_tokens:
            about = "Number of cached prompt tokens by source (device/host/storage)."
            labels = self._model | {"cache_source": "device"}
            self._family("cached_tokens_total", "counter", about, [(labels, float(counters.cached_tokens))])

    def _constants(self, timings: Mapping[str, float]) -> None:
        resolved, memory = self._resolved, self._resolved.memory
        if resolved.release >= (0, 5, 17):
            names = ("load_weight", "kv_cache_allocation", "scheduler_e2e", "tokenizer_e2e")
            self._family(
                "startup_time_seconds",
                "gauge",
                "Engine startup duration by phase in seconds.",
                [(self._model | {"phase": name}, timings.get(name, 0.0)) for name in names],
            )
            self._family(
                "startup_cuda_graph_time_seconds",
                "gauge",
                "CUDA graph capture duration by phase in seconds.",
                [(self._model | {"phase": phase}, timings.get(phase, 0.0)) for phase in GRAPH_PHASES],
            )
            self._family(
                "graph_memory_usage_gb",
                "gauge",
                "Memory used by captured device graphs in GB.",
                [(self._rank | {"phase": phase}, memory.graph_gb.get(phase, 0.0)) for phase in GRAPH_PHASES],
            )
        pool = float(memory.max_total_num_tokens)
        plain = (
            ("max_total_num_tokens", "Maximum total number of tokens in the KV cache pool.", pool),
            ("weight_memory_usage_gb", "Memory used by model weights in GB.", memory.weight_gb),
            ("kv_cache_memory_usage_gb", "Memory used by the KV cache pools in GB.", memory.kv_gb),
            ("page_size", "KV cache page size in tokens.", float(resolved.args["page_size"])),
            ("num_pages", "Number of KV cache pages.", pool // int(resolved.args["page_size"])),
            ("context_len", "Maximum context length.", float(context_length(resolved.args, resolved.target))),
        )
        for name, about, value in plain:
            self._family(name, "gauge", about, [(self._rank, value)])

    def _gauges(self, counters: Counters, running: int, waiting: int, tokens: int, cached_pool: int) -> None:
        pool = max(self._resolved.memory.max_total_num_tokens, 1)
        graph = counters.last_pass_used_graph
        rows = (
            ("num_running_reqs", "The number of running requests.", float(running)),
            ("num_queue_reqs", "The number of requests in the waiting queue.", float(waiting)),
            ("gen_throughput", "The generation throughput (token/s).", counters.last_throughput if running else 0.0),
            ("token_usage", "The token usage.", round(tokens / pool, 4)),
            ("num_used_tokens", "The number of used tokens.", float(tokens)),
            (
                "kv_available_tokens",
                "Number of free token slots in the KV cache pool.",
                float(max(pool - tokens - cached_pool, 0)),
            ),
            (
                "kv_evictable_tokens",
                "Number of evictable (radix-cached) token slots in the KV cache pool.",
                float(cached_pool),
            ),
            ("fwd_occupancy", "Forward pass GPU occupancy percentage.", float("nan")),
            ("is_cuda_graph", "Whether the batch is using CUDA graph.", float(graph)),
            *((name, about, 0.0) for name, about in _GAUGES_AT_ZERO),
        )
        for name, about, value in rows:
            self._family(name, "gauge", about, [(self._rank, value)])

    def _speculation(self, counters: Counters) -> None:
        resolved = self._resolved
        about = "Mean acceptance length of speculative decoding (accepted drafts + bonus token per forward)."
        self._family("spec_accept_length", "gauge", about, [(self._rank, counters.last_accept_length)])
        if resolved.release >= (0, 5, 4):
            about = "Speculative acceptance rate (`accepted drafts / proposed drafts` in batch)."
            self._family("spec_accept_rate", "gauge", about, [(self._rank, counters.last_accept_rate)])
        if resolved.release < (0, 5, 13):
            return
        about = "Currently active speculative_num_steps."
        self._family("spec_num_steps", "gauge", about, [(self._rank, float(resolved.num_steps))])
        about = "Currently active speculative_num_draft_tokens (decouples from steps under topk>1)."
        tokens = float(resolved.num_draft_tokens) if resolved.speculative else 0.0
        self._family("spec_num_draft_tokens", "gauge", about, [(self._rank, tokens)])
        if counters.verify_calls:
            about = "Number of speculative decoding verification calls."
            self._family("spec_verify_calls_total", "counter", about, [(self._model, float(counters.verify_calls))])

    def _histograms(self, counters: Counters) -> None:
        for stream in (False, True):
            labels = self._model | {"is_streaming": str(stream).lower()}
            about = "Histogram of time to first token in seconds."
            self._histogram("time_to_first_token_seconds", about, labels, counters.time_to_first_token[stream])
            about = "Histogram of End-to-end request latency in seconds"
            self._histogram("e2e_request_latency_seconds", about, labels, counters.latency[stream])
        about = "Histogram of inter-token latency in seconds."
        self._histogram("inter_token_latency_seconds", about, self._model, counters.inter_token)
        self._histogram("queue_time_seconds", "Histogram of queueing time in seconds.", self._rank, counters.queue_time)

    def _histogram(self, name: str, about: str, labels: Labels, histogram: Histogram) -> None:
        if not histogram.number:
            return
        if not any(line.startswith(f"# TYPE sglang:{name} ") for line in self._lines):
            self._lines += [f"# HELP sglang:{name} {about}", f"# TYPE sglang:{name} histogram"]
        for bound, count in histogram.cumulative():
            self._lines.append(f"sglang:{name}_bucket{_labels(dict(labels) | {'le': bound})} {float(count)}")
        self._lines.append(f"sglang:{name}_sum{_labels(labels)} {_number(histogram.total)}")
        self._lines.append(f"sglang:{name}_count{_labels(labels)} {float(histogram.number)}")


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    inside = ",".join(f'{name}="{_escaped(labels[name])}"' for name in sorted(labels))
    return f"{{{inside}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return "NaN" if math.isnan(value) else repr(float(value))
