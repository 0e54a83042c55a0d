"""What one decoded token makes a model read: the weights that are active for it, by its configuration or its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

_NAMED = re.compile(r"(?<![\w.])(?P<size>\d{1,4}(?:\.\d{1,2})?)(?P<unit>[bm])(?![a-z0-9])", re.IGNORECASE)
_ACTIVE = re.compile(r"(?<![a-z0-9])a(?P<size>\d{1,3}(?:\.\d{1,2})?)b(?![a-z0-9])", re.IGNORECASE)
_MANY_EXPERTS = re.compile(r"(?<![a-z0-9])\d+x\d+b|moe", re.IGNORECASE)
_WORDS_OF_BITS = {
    8: r"fp8|int8|w8a\d+|8-?bit|q8(?:_\w+)?",
    6: r"q6(?:_\w+)?",
    5: r"q5(?:_\w+)?",
    4: r"awq|gptq|int4|w4a\d+|4-?bit|(?:nv|mx)?fp4|i?q4(?:_\w+)?",
    3: r"i?q3(?:_\w+)?",
}
_BITS = tuple(
    (bits, re.compile(rf"(?<![a-z0-9])(?:{words})(?![a-z0-9])", re.IGNORECASE))
    for bits, words in _WORDS_OF_BITS.items()
)
PLAIN_BITS = 16
_EXPERTS = ("n_routed_experts", "num_experts", "num_local_experts", "n_shared_experts", "moe_intermediate_size")
_METHOD_BITS = {"fp8": 8, "awq": 4, "gptq": 4, "mxfp4": 4, "bitsandbytes": 4}


@dataclass(frozen=True)
class Weights:
    """Active parameters in billions, bits of each, and what they were read from."""

    billions: float
    bits: int
    how: str

    @property
    def gigabytes(self) -> float:
        """Read for each token of one request."""
        return self.billions * self.bits / 8


def weights_of(config: Mapping[str, JsonValue] | None, name: str) -> Weights | None:
    """By the configuration of a dense model, else by the size in its name; None where neither tells."""
    bits = _bits(config, name)
    if bits is None:
        return None
    counted = _counted(config or {})
    if counted is not None:
        return Weights(counted, bits, "config.json")
    active = _named(name, sparse=_sparse(config or {}))
    return Weights(active, bits, "its name") if active is not None else None


def _named(name: str, *, sparse: bool) -> float | None:
    """Billions by a name such as "Qwen3-30B-A3B"; None for a mixture whose active part the name does not give."""
    words = re.sub(r"[_/]", " ", name.rstrip("/").rpartition("/")[2].lower().replace("-", " "))
    active = _ACTIVE.search(words)
    if active is not None:
        return float(active["size"])
    found = _NAMED.findall(words)
    if sparse or len(found) != 1 or _MANY_EXPERTS.search(words):
        return None
    size, unit = found[0]
    return float(size) / (1.0 if unit == "b" else 1000.0)


def _sparse(config: Mapping[str, JsonValue]) -> bool:
    nested = config.get("text_config")
    words = {**config, **nested} if isinstance(nested, dict) else config
    return any(_whole(words.get(key)) for key in _EXPERTS)


def _bits(config: Mapping[str, JsonValue] | None, name: str) -> int | None:
    """Bits of a weight; None for a quantisation whose bits are not known."""
    told = (config or {}).get("quantization_config")
    if isinstance(told, dict):
        bits = told.get("bits", told.get("num_bits"))
        if isinstance(bits, int) and not isinstance(bits, bool) and 0 < bits <= 16:
            return bits
        method = str(told.get("quant_method", "")).lower()
        return _METHOD_BITS.get(method)
    return next((bits for bits, pattern in _BITS if pattern.search(name)), PLAIN_BITS)


def _counted(config: Mapping[str, JsonValue]) -> float | None:
    """Parameters that a dense decoder reads for one token, in billions: layers and head, not the embedding."""
    nested = config.get("text_config")
    words = {**config, **nested} if isinstance(nested, dict) else dict(config)
    if _sparse(config) or "kv_lora_rank" in words:
        return None
    names = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
    hidden, inner, layers, heads, vocabulary = (_whole(words.get(name)) for name in names)
    if not (hidden and inner and layers and heads and vocabulary):
        return None
    width = _whole(words.get("head_dim")) or hidden // heads
    shared = _whole(words.get("num_key_value_heads")) or heads
    attention = hidden * width * (2 * heads + 2 * shared)
    return (layers * (attention + 3 * hidden * inner) + vocabulary * hidden) / 1e9


def _whole(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
