"""What the unit in a cell makes of its number: whether it is of its column's kind, and what it is multiplied by."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Kind = Literal["a time", "a speed", "a rate of requests", "a share", "a ratio", "a count of tokens", ""]

_TIMES = {
    "ns": 1e-6, "us": 1e-3, "\u00b5s": 1e-3, "\u03bcs": 1e-3, "ms": 1.0, "msec": 1.0, "s": 1e3, "sec": 1e3, "secs": 1e3,
    "second": 1e3, "seconds": 1e3, "min": 6e4, "minutes": 6e4, "h": 3.6e6,
}  # fmt: skip
_PER_TOKEN = re.compile(r"\s*(?:/|per)\s*(?:tok(?:en)?s?|t|step|cycle|iter(?:ation)?|it)$")
_SPEED = re.compile(r"(k?)\s*(?:(?:tok(?:en)?s?|t|toks)\s*(?:/|per)\s*s(?:ec(?:ond)?)?\b.*|tps)")
_REQUESTS = re.compile(r"(?:req(?:uest)?s?\s*(?:/|per)\s*s(?:ec(?:ond)?)?|rps|qps)")
_COUNT = re.compile(r"(?:tok(?:en)?s?|toks)(?:\s*(?:/|per)\s*(?:step|cycle|forward|iter\w*|verify|draft))?")
_ALLOWED: dict[str, tuple[Kind, ...]] = {
    "throughput_tok_s": ("a speed", "a count of tokens"),
    "throughput_low_tok_s": ("a speed", "a count of tokens"),
    "throughput_high_tok_s": ("a speed", "a count of tokens"),
    "accept_length": ("a count of tokens", "a ratio"),
    "acceptance": ("a share",),
    "request_rate": ("a rate of requests",),
    "draft_steps": ("a count of tokens",),
    "draft_tokens": ("a count of tokens",),
    "topk": (),
    "concurrency": ("a ratio",),
}
TIME_FIELDS = frozenset({"tpot_ms", "itl_ms", "ttft_ms", "step_ms", "latency_s"})


class Unit(NamedTuple):
    """The kind of a quantity ("" where the words say none), and its scale to ms or tok/s."""

    kind: Kind
    scale: float = 1.0


def unit_of(words: str) -> Unit:
    """What a unit in lower case says."""
    words = words.strip().rstrip(".")
    if words.startswith("%"):
        return Unit("a share")
    if words in ("x", "\u00d7"):
        return Unit("a ratio")
    time = _TIMES.get(_PER_TOKEN.sub("", words))
    if time is not None:
        return Unit("a time", time)
    speed = _SPEED.fullmatch(words)
    if speed is not None:
        return Unit("a speed", 1e3 if speed[1] else 1.0)
    if _REQUESTS.fullmatch(words):
        return Unit("a rate of requests")
    return Unit("a count of tokens") if _COUNT.fullmatch(words) else Unit("")


def why_refused(field: str, unit: Unit) -> Kind:
    """What a cell is in the place of its column's quantity; "" where it is that, or does not say."""
    if not unit.kind:
        return ""
    allowed: tuple[Kind, ...] = ("a time",) if field in TIME_FIELDS else _ALLOWED.get(field, (unit.kind,))
    return "" if unit.kind in allowed else unit.kind
