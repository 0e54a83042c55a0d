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

    def shaped(self, shape: tuple[int | None, ...], *names: str) -> Floats:
        """A tensor of this shape (None: any extent). Raises CheckpointError when it is missing or of another one."""
        found = self.need(*names)
        if len(found.shape) != len(shape) or any(w not in (None, h) for w, h in zip(shape, found.shape, strict=True)):
            wanted = ", ".join("any" if extent is None else str(extent) for extent in shape)
            raise CheckpointError(
                f"{self.where}: {names[0]} is {list(found.shape)}, by config.json it should be [{wanted}]",
                next_step="the configuration is that of another checkpoint, or a file is damaged",
            )
        return found

    def table(self, *names: str) -> Table | None:
        """Rows of a matrix; None where it is not there. Raises CheckpointError for what is no matrix."""
        found = self.find(*names)
        if found is not None and found[0].ndim != 2:
            raise CheckpointError(
                f"{self.where}: {names[0]} is {list(found[0].shape)}, not rows of numbers", next_step="re-export it"
            )
        return None if found is None else Table(*found)


def size(config: Mapping[str, Any], key: str, where: str, *, default: int | None = None) -> int:
    """A positive whole number of a configuration. Raises CheckpointError for anything else."""
    value = config.get(key, default)
    if value is None and default is not None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise CheckpointError(f"{where}: config.json has no usable {key} ({value!r})", next_step="repair its config")
    return value


def decoder_layer(weights: Weights, config: Mapping[str, Any], *names: str, fed: int | None = None) -> Layer:
    """One Llama-type layer; `names` are the prefixes under which it may be found, such as `midlayer` or `layers.0`.

    `fed` is the width of what its attention sees, the hidden size unless said.

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
    hidden = size(config, "hidden_size", weights.where)

    def shaped(part: str, *shape: int | None) -> Floats:
        return weights.shaped(shape, *(f"{name}.{part}.weight" for name in names))

    gate = shaped("mlp.gate_proj", None, hidden)
    return Layer(
        attention=_attention(weights, config, names, eps, fed or hidden),
        mlp=Mlp(
            gate=gate, up=shaped("mlp.up_proj", len(gate), hidden), down=shaped("mlp.down_proj", hidden, len(gate))
        ),
        input_norm=shaped("input_layernorm", hidden),
        post_norm=shaped("post_attention_layernorm", hidden),
        eps=eps,
    )


def _attention(weights: Weights, config: Mapping[str, Any], names: tuple[str, ...], eps: float, fed: int) -> Attention:
    heads = size(config, "num_attention_heads", weights.where)
    kv_heads = size(config, "num_key_value_heads", weights.where, default=heads)
    hidden = size(config, "hidden_size", weights.where)
    head_dim = size(config, "head_dim", weights.where, default=max(hidden // heads, 1))
    if heads % kv_heads or head_dim % 2:
        raise CheckpointError(
            f"{weights.where}: config.json speaks of {heads} heads of {head_dim} over {kv_heads} of keys, "
            "which does not divide",
            next_step="the configuration is that of another checkpoint, or damaged",
        )
    rows = {"q": heads * head_dim, "k": kv_heads * head_dim, "v": kv_heads * head_dim}

    def names_of(part: str, kind: str) -> list[str]:
        return [f"{name}.self_attn.{part}_{kind}" for name in names]

    q, k, v = (weights.shaped((rows[part], fed), *names_of(part, "proj.weight")) for part in "qkv")
    o = weights.shaped((hidden, rows["q"]), *names_of("o", "proj.weight"))
    biases = [
        weights.shaped((rows[part],), *names_of(part, "proj.bias"))
        for part in "qkv"
        if weights.has(*names_of(part, "proj.bias"))
    ]
    norms = [
        weights.shaped((head_dim,), *names_of(part, "norm.weight"))
        for part in "qk"
        if weights.has(*names_of(part, "norm.weight"))
    ]
    return Attention(
        q=q,
        k=k,
        v=v,
        o=o,
        heads=heads,
        kv_heads=kv_heads,
        rope=rope_of(config, head_dim, weights.where),
        eps=eps,
        biases=(biases[0], biases[1], biases[2]) if len(biases) == 3 else None,
        head_norms=(norms[0], norms[1]) if len(norms) == 2 else None,
    )
