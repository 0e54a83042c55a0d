"""A GGUF file's metadata under the names that a config.json uses, so that one set of checks reads both."""

from __future__ import annotations

from typing import Any

from specdoctor.drafter.gguf import GgufHeader
from specdoctor.drafter.vocabulary import Vocabulary

_FIELDS = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "context_length": "max_position_embeddings",
    "vocab_size": "vocab_size",
    "rope.freq_base": "rope_theta",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "target_hidden_size": "target_hidden_size",
    "norm_before_residual": "norm_before_residual",
    "norm_before_fc": "norm_before_fc",
}
TOKENS = "tokenizer.ggml.tokens"
TEMPLATE = "tokenizer.chat_template"


def config_of(header: GgufHeader) -> dict[str, Any]:
    """The metadata as it stands, with the fields of a config.json beside it."""
    architecture = str(header.metadata.get("general.architecture", ""))
    config: dict[str, Any] = {k: v for k, v in header.metadata.items() if not k.startswith("tokenizer.")}
    for field, name in _FIELDS.items():
        value = header.metadata.get(f"{architecture}.{field}")
        if value is not None:
            config[name] = value
    config["model_type"] = architecture
    if "vocab_size" not in config and TOKENS in header.strings:
        config["vocab_size"] = len(header.strings[TOKENS])
    output = header.tensors.get("output.weight")
    if architecture == "eagle3" and output is not None and len(output.shape) == 2:
        config["draft_vocab_size"] = output.shape[0]
    return config


def vocabulary_of(header: GgufHeader, where: str) -> Vocabulary | None:
    """The tokens in the file, by id."""
    tokens = header.strings.get(TOKENS)
    return Vocabulary(where=where, checks=tokens.checks) if tokens is not None and len(tokens) else None
