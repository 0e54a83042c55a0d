"""Multi-head latent attention (DeepSeek, Kimi): queries, keys and values made of narrow latent vectors.

A head's query and key have a part without rotation and one with it; the rotated part of the key is one for all heads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from specdoctor.drafter.alone.arrays import Floats, Ints
from specdoctor.drafter.alone.layer import Attending, rms_norm
from specdoctor.drafter.alone.rope import Rope, rope_of
from specdoctor.drafter.alone.weights import Weights, size
from specdoctor.drafter.config_numbers import real


@dataclass(frozen=True)
class LatentAttention(Attending):
    """Weights are [out, in]. `plain` and `turned` are the parts of a head without and with rotation."""

    q_down: Floats
    q_norm: Floats
    q_up: Floats
    kv_down: Floats
    kv_norm: Floats
    kv_up: Floats
    o: Floats
    heads: int
    plain: int
    turned: int
    rope: Rope
    eps: float
    stretch: float = 1.0
    """What YaRN multiplies the scores by: its factor for all dimensions, squared."""

    @property
    def scale(self) -> float:
        return self.stretch / math.sqrt(self.plain + self.turned)

    def projected(self, x: Floats, positions: Ints) -> tuple[Floats, Floats, Floats]:
        count, heads = len(x), self.heads
        q = (rms_norm(x @ self.q_down.T, self.q_norm, self.eps) @ self.q_up.T).reshape(count, heads, -1)
        down = x @ self.kv_down.T
        narrow = self.kv_norm.shape[0]
        up = (rms_norm(down[:, :narrow], self.kv_norm, self.eps) @ self.kv_up.T).reshape(count, heads, -1)
        q_turned = self._turn(q[..., self.plain :], positions)
        k_turned = np.broadcast_to(self._turn(down[:, None, narrow:], positions), q_turned.shape)
        q = np.concatenate([q[..., : self.plain], q_turned], axis=-1)
        k = np.concatenate([up[..., : self.plain], k_turned], axis=-1)
        return q, k, up[..., self.plain :]

    def _turn(self, x: Floats, positions: Ints) -> Floats:
        """Neighbours are paired here (x_2i with x_2i+1); laid out as halves the rotation is the usual one."""
        halves = np.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)
        return self.rope.turn(halves, positions)


def latent_attention(weights: Weights, config: Mapping[str, Any], names: tuple[str, ...], fed: int) -> LatentAttention:
    """The attention of one layer of this kind. Raises CheckpointError for what is missing or does not fit."""
    where = weights.where
    keys = ("num_attention_heads", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "q_lora_rank", "kv_lora_rank")
    heads, plain, turned, value, q_rank, kv_rank = (size(config, key, where) for key in keys)
    hidden = size(config, "hidden_size", where)

    def shaped(part: str, *shape: int) -> Floats:
        return weights.shaped(shape, *(f"{name}.self_attn.{part}.weight" for name in names))

    return LatentAttention(
        q_down=shaped("q_a_proj", q_rank, fed),
        q_norm=shaped("q_a_layernorm", q_rank),
        q_up=shaped("q_b_proj", heads * (plain + turned), q_rank),
        kv_down=shaped("kv_a_proj_with_mqa", kv_rank + turned, fed),
        kv_norm=shaped("kv_a_layernorm", kv_rank),
        kv_up=shaped("kv_b_proj", heads * (plain + value), kv_rank),
        o=shaped("o_proj", hidden, heads * value),
        heads=heads,
        plain=plain,
        turned=turned,
        rope=rope_of(config, turned, where),
        eps=real(config, "rms_norm_eps", where, 1e-6),
        stretch=_stretch(config, where),
    )


def _stretch(config: Mapping[str, Any], where: str) -> float:
    """(0.1 * mscale_all_dim * ln(factor) + 1)^2 for a rotation stretched by YaRN, as in DeepSeek's modelling code."""
    scaling = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if not isinstance(scaling, Mapping) or not scaling.get("mscale_all_dim"):
        return 1.0
    factor, all_dims = real(scaling, "factor", where, 1.0), real(scaling, "mscale_all_dim", where, 0.0)
    return (0.1 * all_dims * math.log(factor) + 1.0) ** 2 if factor > 1.0 else 1.0
