"""Acceptance from a server's own counters, as differences of two scrapes: where requests carry no counts themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

from specdoctor.analysis.interval import Estimate, exact
from specdoctor.core.measurement import BenchRecord
from specdoctor.core.model import Frozen

_LINE = re.compile(r"^([A-Za-z_:][\w:]*)(\{[^}]*\})?\s+(\S+)")
_POSITION = re.compile(r'position="(\d+)"')
_PREFIXES = ("vllm:", "llamacpp:")
_DRAFTS = "spec_decode_num_drafts_total"
_ACCEPTED = "spec_decode_num_accepted_tokens_total"
_BY_POSITION = "spec_decode_num_accepted_tokens_per_pos_total"
_VERIFIED = "sglang:spec_verify_calls_total"
_GENERATED = "sglang:generation_tokens_total"

Counters = Mapping[tuple[str, int], float]


class CounterReading(Frozen):
    """What the counters say of the time between two scrapes; `reset` when one of them went backwards.

    All clients of the server are in them. `accept_length` counts the bonus token; `conditional` is by draft position.
    """

    accept_length: Estimate | None = None
    conditional: tuple[Estimate, ...] = ()
    reset: bool = False


def counters(text: str) -> Counters:
    """Sums over all labels but the draft position (0 where there is none), so that every rank is in them."""
    found: dict[tuple[str, int], float] = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        try:
            value = float(match[3])
        except ValueError:
            continue
        position = _POSITION.search(match[2] or "")
        key = (match[1], int(position[1]) if position else 0)
        found[key] = found.get(key, 0.0) + value
    return found


def acceptance(record: BenchRecord) -> CounterReading:
    """Accept length and acceptance by position from the counters of a bench; empty without them."""
    if record.metrics_before is None or record.metrics_after is None:
        return CounterReading()
    before, after = counters(record.metrics_before), counters(record.metrics_after)
    change = {key: value - before.get(key, 0.0) for key, value in after.items() if key[0].endswith("_total")}
    if any(value < 0 for value in change.values()) or any(
        key not in after for key in before if key[0].endswith("_total")
    ):
        return CounterReading(reset=True)
    engine = next((p for p in _PREFIXES if change.get((p + _DRAFTS, 0), 0.0) > 0), "")
    drafts, accepted = change.get((engine + _DRAFTS, 0), 0.0), change.get((engine + _ACCEPTED, 0), 0.0)
    if drafts > 0:
        length = exact(
            1.0 + accepted / drafts, "tokens/cycle", estimator="1 + accepted / drafts, counters of all clients"
        )
        return CounterReading(accept_length=length, conditional=_conditional(change, drafts, engine + _BY_POSITION))
    verified, generated = change.get((_VERIFIED, 0), 0.0), change.get((_GENERATED, 0), 0.0)
    tokens = generated - sum(1 for r in record.requests if r.ok)  # the first token of each comes from prefill
    if verified > 0 and tokens >= verified:
        estimator = "tokens after the first / verify steps, counters of all clients"
        return CounterReading(accept_length=exact(tokens / verified, "tokens/cycle", estimator=estimator))
    return CounterReading()


def _conditional(change: Counters, drafts: float, counted: str) -> tuple[Estimate, ...]:
    found: list[Estimate] = []
    positions = sorted(position for name, position in change if name == counted)
    reached = [drafts, *(change[counted, position] for position in positions)]
    for index, (got, passed) in enumerate(pairwise(reached), start=1):
        if got <= 0 or passed > got:
            break
        found.append(exact(passed / got, "fraction", estimator=f"acceptance of draft {index}, counters of all clients"))
    return tuple(found)
