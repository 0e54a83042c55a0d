"""What a server counts while it runs: totals for the metrics, interval sums for the log."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field

_TTFT_S = (0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400)
_ITL_S = (
    0.002,
    0.004,
    0.006,
    0.008,
    0.01,
    0.015,
    0.02,
    0.025,
    0.03,
    0.035,
    0.04,
    0.06,
    0.08,
    0.1,
    0.2,
    0.4,
    1,
    2,
    4,
    8,
)
_E2E_S = (0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400, 600, 1200, 1800, 2400)
_QUEUE_S = (0.0, 0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600)


@dataclass
class Histogram:
    """A cumulative histogram with fixed upper bounds."""

    bounds: tuple[float, ...]
    counts: Counter[float] = field(default_factory=Counter)
    total: float = 0.0
    number: int = 0

    def observe(self, value: float, times: int = 1) -> None:
        place = bisect_left(self.bounds, value)
        self.counts[self.bounds[place] if place < len(self.bounds) else float("inf")] += times
        self.total += value * times
        self.number += times

    def cumulative(self) -> list[tuple[str, int]]:
        """(upper bound, observations up to it), ending with +Inf."""
        running, rows = 0, []
        for bound in self.bounds:
            running += self.counts[bound]
            rows.append((f"{float(bound)}", running))
        return [*rows, ("+Inf", self.number)]


@dataclass
class Interval:
    """Sums since the last Decode line."""

    tokens: int = 0
    accept_tokens: int = 0
    forwards: int = 0


@dataclass
class Counters:
    """Everything counted since the start. `accept_*_logged` move only when a Decode line is due, as in the engine."""

    decode_steps: int = 0
    graph_steps: int = 0
    prefill_passes: int = 0
    forward_passes: int = 0
    prompt_tokens: Counter[bool] = field(default_factory=Counter)
    generation_tokens: Counter[bool] = field(default_factory=Counter)
    requests: Counter[bool] = field(default_factory=Counter)
    cached_tokens: int = 0
    prefill_tokens: int = 0
    prefill_busy_s: float = 0.0
    decode_tokens: int = 0
    verify_calls: int = 0
    accept_tokens_logged: int = 0
    forwards_logged: int = 0
    interval: Interval = field(default_factory=Interval)
    last_decode_log_s: float = 0.0
    last_prefill_log_s: float = 0.0
    last_throughput: float = 0.0
    last_accept_length: float = 0.0
    last_accept_rate: float = 0.0
    last_pass_used_graph: bool = False
    http_requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    http_responses: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    time_to_first_token: dict[bool, Histogram] = field(
        default_factory=lambda: {stream: Histogram(_TTFT_S) for stream in (False, True)}
    )
    inter_token: Histogram = field(default_factory=lambda: Histogram(_ITL_S))
    latency: dict[bool, Histogram] = field(
        default_factory=lambda: {stream: Histogram(_E2E_S) for stream in (False, True)}
    )
    queue_time: Histogram = field(default_factory=lambda: Histogram(_QUEUE_S))
    step_times: dict[int, list[float]] = field(default_factory=dict)

    @property
    def average_accept_length(self) -> float | None:
        """Accepted tokens with bonus per verify since the last flush, as far as logged; None before the first line."""
        return self.accept_tokens_logged / self.forwards_logged if self.forwards_logged else None

    def forget_acceptance(self) -> None:
        """What a cache flush resets."""
        self.accept_tokens_logged = self.forwards_logged = 0
