"""Numbers of a model's configuration: each finite and within what a model can have, or a fault with file and key.

The limits are far beyond any published model: they keep damage and typing errors out, and calculations short.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from specdoctor.core.errors import CheckpointError

MOST_LAYERS = 4096
MOST_IDS = 256
MOST_SIZE = 1 << 24
_SHOWN = 60


class Span(NamedTuple):
    """From `low` to `high`, both included; `whole` numbers only, or any."""

    low: float
    high: float
    whole: bool = True

    @property
    def words(self) -> str:
        if self.whole:
            return f"a whole number from {int(self.low)} to {int(self.high)}"
        return f"a number from {self.low:g} to {self.high:g}"


SIZE = Span(1, MOST_SIZE)
COUNT = Span(1, 1 << 31)
POSITIVE = Span(1e-6, 1e9, whole=False)
SPANS: Mapping[str, Span] = {
    "num_hidden_layers": Span(1, MOST_LAYERS),
    "hidden_size": SIZE,
    "target_hidden_size": SIZE,
    "intermediate_size": Span(0, MOST_SIZE),
    "num_attention_heads": SIZE,
    "num_key_value_heads": SIZE,
    "head_dim": SIZE,
    "q_lora_rank": SIZE,
    "kv_lora_rank": SIZE,
    "qk_nope_head_dim": SIZE,
    "qk_rope_head_dim": SIZE,
    "v_head_dim": SIZE,
    "vocab_size": COUNT,
    "draft_vocab_size": COUNT,
    "max_position_embeddings": COUNT,
    "rms_norm_eps": Span(0.0, 1.0, whole=False),
    "rope_theta": Span(1.0001, 1e15, whole=False),
    "partial_rotary_factor": Span(1e-6, 1.0, whole=False),
    "factor": POSITIVE,
    "low_freq_factor": POSITIVE,
    "high_freq_factor": POSITIVE,
    "original_max_position_embeddings": POSITIVE,
    "beta_fast": POSITIVE,
    "beta_slow": POSITIVE,
    "attention_factor": Span(1e-6, 1e6, whole=False),
    "mscale": Span(0.0, 1e6, whole=False),
    "mscale_all_dim": Span(0.0, 1e6, whole=False),
}
ID_KEYS = (
    "eagle_aux_hidden_state_layer_ids",
    "aux_hidden_state_layer_ids",
    "layer_ids",
    "eagle3.target_layers",
    "eagle3.extract_layers",
)
INSIDE = ("text_config", "transformer_layer_config", "rope_scaling", "rope_parameters", "eagle_config")
"""Objects of a configuration whose numbers count; others belong to parts that are not looked at."""


def real(config: Mapping[str, Any], key: str, where: str, default: float) -> float:
    """A number of a configuration; the default where it is not there or null. Raises CheckpointError with the key."""
    value = config.get(key)
    if value is None:
        return default
    fault = number_fault(key, value)
    if fault:
        raise CheckpointError(f"{where}: config.json: {fault}", next_step="repair its config.json")
    return float(value)


def checked(config: Mapping[str, Any], file: str) -> None:
    """Raises CheckpointError that names the file and every key with a value that no model can have."""
    faults = list(faults_of(config))
    if faults:
        raise CheckpointError(f"{file}: {'; '.join(faults[:8])}", next_step="repair it, or fetch it again")


def faults_of(config: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """What is wrong with the numbers of a configuration, each with its key; a list or object in their place is kept."""
    for name, value in config.items():
        key = f"{path}{name}"
        if name in INSIDE and isinstance(value, Mapping):
            yield from faults_of(value, f"{key}.")
        elif name in ID_KEYS and isinstance(value, list):
            yield from _id_faults(key, value)
        elif name in SPANS and value is not None and not isinstance(value, list | Mapping):
            fault = number_fault(name, value)
            if fault:
                yield f"{path}{fault}"


def number_fault(name: str, value: object) -> str:
    """What is wrong with the value of a known key, in words; empty for nothing."""
    span = SPANS[name]
    number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value) and not span.whole)
    if number and not isinstance(value, bool) and span.low <= value <= span.high:  # type: ignore[operator]
        return ""
    shown = repr(value)
    return f"{name} is {shown if len(shown) <= _SHOWN else shown[:_SHOWN] + '...'}, and must be {span.words}"


def _id_faults(key: str, ids: list[object]) -> Iterator[str]:
    if len(ids) > MOST_IDS:
        yield f"{key} lists {len(ids)} layers, and must list at most {MOST_IDS}"
        return
    wrong = [i for i in ids if isinstance(i, float) or (isinstance(i, int) and abs(i) > MOST_LAYERS)]
    if wrong:
        yield f"{key} holds {str(wrong[0])[:_SHOWN]}, and must hold whole numbers up to {MOST_LAYERS}"
