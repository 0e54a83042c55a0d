"""Weights of a checkpoint by name, and the parts of a decoder layer that are made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from specdoctor.core.errors import CheckpointError
from specdoctor.drafter.alone.arrays import Floats, Table, widened
from specdoctor.drafter.alone.layer import Attention, Layer, Mlp
from specdoctor.drafter.alone.rope import rope_of

PREFIXES = ("", "model.")


@dataclass(frozen=True)
class Weights:
    """Tensors as they lie in their files, with their types. `where` names the folder in messages.

    A name is taken bare or after `model.`, as the engines' loaders do; whatever is called otherwise is not found.
    """

    where: str
    tensors: Mapping[str, tuple[NDArray[Any], str]]

    def find(self, *names: str) -> tuple[NDArray[Any], str] | None:
        for name in names:
            for prefix in PREFIXES:
                if prefix + name in self.tensors:
                    return self.tensors[prefix + name]
        return None

    def has(self, *names: str) -> bool:
        return self.find(*names) is not None

    def maybe(self, *names: str) -> Floats | None:
        """A tensor in float32; None where it is not there."""
        found = self.find(*names)
        return None if found is None else widened(*found)

    def need(self, *names: str) -> Floats:
        """A tensor in float32. Raises CheckpointError when the checkpoint lacks it."""
        found = self.maybe(*names)
        if found is None:
            raise CheckpointError(
                f"{self.where}: it has no tensor {names[0]}",
                next_step="check it with specdoctor wiring, which lists what is missing and what is called otherwise",
            )
        return found

    def table(self, *names: str) -> Table | None:
        found = self.find(*names)
        return None if found is None else Table(*found)


def size(config: Mapping[str, Any], key: str, where: str, *, default: int | None = None) -> int:
    """A positive whole number of a configuration. Raises CheckpointError for anything else."""
    value = config.get(key, default)
    if value is None and default is not None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise CheckpointError(f"{where}: config.json has no usable {key} ({value!r})", next_step="repair its config")
    return value


def decoder_layer(weights: Weights, config: Mapping[str, Any], *names: str) -> Layer:
    """One Llama-type layer; `names` are the prefixes under which it may be found, such as `midlayer` or `layers.0`.

    Raises CheckpointError for an attention or an activation of another kind, missing tensors, and sizes that disagree.
    """
    if weights.has(*(f"{name}.self_attn.kv_a_proj_with_mqa.weight" for name in names)):
        raise CheckpointError(
            f"{weights.where}: its attention is of the MLA kind (DeepSeek), which is not calculated here yet",
            next_step="compare its wiring with specdoctor wiring; test it in the trainer's own evaluation",
        )
    act = str(config.get("hidden_act", "silu"))
    if act not in ("silu", "swish"):
        raise CheckpointError(f"{weights.where}: activation {act!r} is not calculated here", next_step="silu is")
    eps = float(config.get("rms_norm_eps", 1e-6))

    def need(part: str) -> Floats:
        return weights.need(*(f"{name}.{part}.weight" for name in names))

    return Layer(
        attention=_attention(weights, config, names, eps),
        mlp=Mlp(gate=need("mlp.gate_proj"), up=need("mlp.up_proj"), down=need("mlp.down_proj")),
        input_norm=need("input_layernorm"),
        post_norm=need("post_attention_layernorm"),
        eps=eps,
    )


def _attention(weights: Weights, config: Mapping[str, Any], names: tuple[str, ...], eps: float) -> Attention:
    heads = size(config, "num_attention_heads", weights.where)
    kv_heads = size(config, "num_key_value_heads", weights.where, default=heads)
    q, k, v, o = (weights.need(*(f"{n}.self_attn.{part}_proj.weight" for n in names)) for part in "qkvo")
    head_dim = size(config, "head_dim", weights.where, default=len(q) // heads)
    if len(q) != heads * head_dim or len(k) != kv_heads * head_dim or len(v) != len(k) or heads % kv_heads:
        raise CheckpointError(
            f"{weights.where}: q_proj has {len(q)} rows and k_proj {len(k)}, config.json speaks of {heads} and "
            f"{kv_heads} heads of {head_dim}",
            next_step="the configuration is that of another checkpoint",
        )
    biases = [weights.maybe(*(f"{n}.self_attn.{part}_proj.bias" for n in names)) for part in "qkv"]
    norms = [weights.maybe(*(f"{n}.self_attn.{part}_norm.weight" for n in names)) for part in "qk"]
    return Attention(
        q=q,
        k=k,
        v=v,
        o=o,
        heads=heads,
        kv_heads=kv_heads,
        rope=rope_of(config, head_dim, weights.where),
        eps=eps,
        biases=(biases[0], biases[1], biases[2]) if None not in map(_there, biases) else None,  # type: ignore[arg-type]
        head_norms=(norms[0], norms[1]) if None not in map(_there, norms) else None,  # type: ignore[arg-type]
    )


def _there(array: Floats | None) -> bool | None:
    return None if array is None else True
