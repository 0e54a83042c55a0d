"""Names and shapes of the tensors that model families ship."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from specdoctor.lab.world import Model


class Tensor(NamedTuple):
    """One header entry; `world.Tensor` without its checks, because large models have hundreds of thousands."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "BF16"
    fill: str = "zeros"


def layout_tensors(model: Model) -> tuple[Tensor, ...]:
    """The tensors of a model's layout, from its config; none without a layout."""
    makers = {
        "llama": _llama,
        "deepseek-moe": _deepseek,
        "llama-eagle3": _llama_eagle3,
        "mla-eagle3": _mla_eagle3,
    }
    return tuple(makers[model.layout](model.text_config)) if model.layout is not None else ()


def _head_size(config: dict[str, Any]) -> int:
    return int(config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"])


def _mlp(prefix: str, hidden: int, inner: int) -> Iterator[Tensor]:
    yield Tensor(name=f"{prefix}.gate_proj.weight", shape=(inner, hidden))
    yield Tensor(name=f"{prefix}.up_proj.weight", shape=(inner, hidden))
    yield Tensor(name=f"{prefix}.down_proj.weight", shape=(hidden, inner))


def _attention(prefix: str, config: dict[str, Any], inputs: int) -> Iterator[Tensor]:
    head, hidden = _head_size(config), int(config["hidden_size"])
    queries = int(config["num_attention_heads"]) * head
    keys = int(config.get("num_key_value_heads", config["num_attention_heads"])) * head
    yield Tensor(name=f"{prefix}.q_proj.weight", shape=(queries, inputs))
    yield Tensor(name=f"{prefix}.k_proj.weight", shape=(keys, inputs))
    yield Tensor(name=f"{prefix}.v_proj.weight", shape=(keys, inputs))
    yield Tensor(name=f"{prefix}.o_proj.weight", shape=(hidden, queries))


def _latent_attention(prefix: str, config: dict[str, Any], inputs: int) -> Iterator[Tensor]:
    heads, hidden = int(config["num_attention_heads"]), int(config["hidden_size"])
    query_rank, key_rank = int(config["q_lora_rank"]), int(config["kv_lora_rank"])
    nope, rope, value = (int(config[name]) for name in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    yield Tensor(name=f"{prefix}.q_a_proj.weight", shape=(query_rank, inputs))
    yield Tensor(name=f"{prefix}.q_a_layernorm.weight", shape=(query_rank,), fill="noise")
    yield Tensor(name=f"{prefix}.q_b_proj.weight", shape=(heads * (nope + rope), query_rank))
    yield Tensor(name=f"{prefix}.kv_a_proj_with_mqa.weight", shape=(key_rank + rope, inputs))
    yield Tensor(name=f"{prefix}.kv_a_layernorm.weight", shape=(key_rank,), fill="noise")
    yield Tensor(name=f"{prefix}.kv_b_proj.weight", shape=(heads * (nope + value), key_rank))
    yield Tensor(name=f"{prefix}.o_proj.weight", shape=(hidden, heads * value))


def _norms(prefix: str, hidden: int) -> Iterator[Tensor]:
    yield Tensor(name=f"{prefix}.input_layernorm.weight", shape=(hidden,), fill="noise")
    yield Tensor(name=f"{prefix}.post_attention_layernorm.weight", shape=(hidden,), fill="noise")


def _llama(config: dict[str, Any]) -> Iterator[Tensor]:
    hidden, vocabulary = int(config["hidden_size"]), int(config["vocab_size"])
    yield Tensor(name="model.embed_tokens.weight", shape=(vocabulary, hidden))
    for layer in range(int(config["num_hidden_layers"])):
        prefix = f"model.layers.{layer}"
        yield from _norms(prefix, hidden)
        yield from _attention(f"{prefix}.self_attn", config, hidden)
        yield from _mlp(f"{prefix}.mlp", hidden, int(config["intermediate_size"]))
    yield Tensor(name="model.norm.weight", shape=(hidden,), fill="noise")
    if not config.get("tie_word_embeddings"):
        yield Tensor(name="lm_head.weight", shape=(vocabulary, hidden))


def _packed(prefix: str, hidden: int, inner: int) -> Iterator[Tensor]:
    """Projections of an expert in 4-bit groups of 32, eight values to an int32."""
    for name, rows, columns in (("gate_proj", inner, hidden), ("up_proj", inner, hidden), ("down_proj", hidden, inner)):
        yield Tensor(name=f"{prefix}.{name}.weight_packed", dtype="I32", shape=(rows, columns // 8))
        yield Tensor(name=f"{prefix}.{name}.weight_scale", shape=(rows, columns // 32))
        yield Tensor(name=f"{prefix}.{name}.weight_shape", dtype="I32", shape=(2,))


def _blockwise(prefix: str, hidden: int, inner: int) -> Iterator[Tensor]:
    """Projections of an expert in 8-bit floats with one scale per block of 128 by 128."""
    for name, rows, columns in (("gate_proj", inner, hidden), ("up_proj", inner, hidden), ("down_proj", hidden, inner)):
        yield Tensor(name=f"{prefix}.{name}.weight", dtype="F8_E4M3", shape=(rows, columns))
        yield Tensor(name=f"{prefix}.{name}.weight_scale_inv", dtype="F32", shape=(rows // 128, columns // 128))


def _deepseek(config: dict[str, Any]) -> Iterator[Tensor]:
    hidden, vocabulary = int(config["hidden_size"]), int(config["vocab_size"])
    experts, inner = int(config["n_routed_experts"]), int(config["moe_intermediate_size"])
    method = config.get("quantization_config", {}).get("quant_method")
    expert_tensors = {"compressed-tensors": _packed, "fp8": _blockwise}.get(method, _mlp)
    root = "language_model.model" if config.get("model_type") == "kimi_k2" else "model"
    yield Tensor(name=f"{root}.embed_tokens.weight", shape=(vocabulary, hidden))
    for layer in range(int(config["num_hidden_layers"])):
        prefix = f"{root}.layers.{layer}"
        yield from _norms(prefix, hidden)
        yield from _latent_attention(f"{prefix}.self_attn", config, hidden)
        if layer < int(config.get("first_k_dense_replace", 0)):
            yield from _mlp(f"{prefix}.mlp", hidden, int(config["intermediate_size"]))
            continue
        yield Tensor(name=f"{prefix}.mlp.gate.weight", shape=(experts, hidden))
        yield Tensor(name=f"{prefix}.mlp.gate.e_score_correction_bias", dtype="F32", shape=(experts,))
        yield from _mlp(f"{prefix}.mlp.shared_experts", hidden, inner * int(config.get("n_shared_experts", 1)))
        for expert in range(experts):
            yield from expert_tensors(f"{prefix}.mlp.experts.{expert}", hidden, inner)
    yield Tensor(name=f"{root}.norm.weight", shape=(hidden,), fill="noise")
    yield Tensor(
        name=f"{root.removesuffix('.model')}.lm_head.weight".removeprefix("model."), shape=(vocabulary, hidden)
    )


def _eagle3_frame(config: dict[str, Any], layer: Iterator[Tensor]) -> Iterator[Tensor]:
    hidden, vocabulary = int(config["hidden_size"]), int(config["vocab_size"])
    drafted = int(config.get("draft_vocab_size") or vocabulary)
    target_hidden = int(config.get("target_hidden_size") or hidden)
    if drafted != vocabulary:
        yield Tensor(name="d2t", dtype="I64", shape=(drafted,), fill="d2t")
        yield Tensor(name="t2d", dtype="BOOL", shape=(vocabulary,), fill="t2d")
    yield Tensor(name="fc.weight", shape=(hidden, 3 * target_hidden), fill="noise")
    yield from layer
    yield Tensor(name="norm.weight", shape=(hidden,), fill="noise")
    yield Tensor(name="lm_head.weight", shape=(drafted, hidden))


def _draft_layer(config: dict[str, Any], attention: Iterator[Tensor]) -> Iterator[Tensor]:
    hidden = int(config["hidden_size"])
    yield Tensor(name="midlayer.hidden_norm.weight", shape=(hidden,), fill="noise")
    yield from _norms("midlayer", hidden)
    yield from attention
    yield from _mlp("midlayer.mlp", hidden, int(config["intermediate_size"]))


def _llama_eagle3(config: dict[str, Any]) -> Iterator[Tensor]:
    attention = _attention("midlayer.self_attn", config, 2 * int(config["hidden_size"]))
    return _eagle3_frame(config, _draft_layer(config, attention))


def _mla_eagle3(config: dict[str, Any]) -> Iterator[Tensor]:
    attention = _latent_attention("midlayer.self_attn", config, 2 * int(config["hidden_size"]))
    return _eagle3_frame(config, _draft_layer(config, attention))
