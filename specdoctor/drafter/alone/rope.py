"""Rotary position embedding: the angles of a configuration, and their application to queries and keys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from specdoctor.core.errors import CheckpointError
from specdoctor.drafter.alone.arrays import Floats, Ints
from specdoctor.drafter.config_numbers import real


@dataclass(frozen=True)
class Rope:
    """`frequencies` [head_dim / 2], radians a position; `factor` multiplies cosine and sine (YaRN)."""

    frequencies: Floats
    factor: float = 1.0

    def turn(self, x: Floats, positions: Ints) -> Floats:
        """Rotate x [positions, heads, head_dim]; halves are paired (x_i with x_{i + head_dim/2}), as Llama does."""
        angle = positions[:, None].astype(np.float32) * self.frequencies
        cos = (np.cos(angle) * self.factor)[:, None, :].astype(np.float32)
        sin = (np.sin(angle) * self.factor)[:, None, :].astype(np.float32)
        first, second = np.split(x, 2, axis=-1)
        return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def rope_of(config: Mapping[str, Any], head_dim: int, where: str) -> Rope:
    """The rotation that a configuration asks for: plain, linear, llama3 or yarn.

    Reads `rope_theta` and `rope_scaling`, or both under `rope_parameters`. Formulas as in transformers'
    modeling_rope_utils. Raises CheckpointError for another kind and for one that turns part of a head only.
    """
    found = config.get("rope_parameters") or config.get("rope_scaling") or {}
    scaling: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    theta = real(scaling, "rope_theta", where, real(config, "rope_theta", where, 10000.0))
    kind = str(scaling.get("rope_type") or scaling.get("type") or "default")
    part = real(scaling, "partial_rotary_factor", where, real(config, "partial_rotary_factor", where, 1.0))
    plain = theta ** (-np.arange(0, head_dim, 2, dtype=np.float64) / head_dim)
    if part != 1.0 or kind not in _KINDS:
        what = f"a rotation of {part:g} of each head" if part != 1.0 else f"a rotation of kind {kind!r}"
        raise CheckpointError(
            f"{where}: {what} is not calculated here", next_step=f"known kinds are {', '.join(_KINDS)}"
        )
    given = _Given(scaling=scaling, config=config, where=where, theta=theta)
    frequencies, factor = _KINDS[kind](plain, given)
    return Rope(frequencies=frequencies.astype(np.float32), factor=factor)


class _Given(NamedTuple):
    """What a kind of rotation is calculated from."""

    scaling: Mapping[str, Any]
    config: Mapping[str, Any]
    where: str
    theta: float

    def real(self, key: str, default: float) -> float:
        return real(self.scaling, key, self.where, default)

    def positions(self, default: float) -> float:
        """The positions before they were stretched."""
        known = real(self.config, "max_position_embeddings", self.where, default)
        return self.real("original_max_position_embeddings", known)


def _plain(plain: Any, given: _Given) -> tuple[Any, float]:
    return plain, 1.0


def _linear(plain: Any, given: _Given) -> tuple[Any, float]:
    return plain / given.real("factor", 1.0), 1.0


def _llama3(plain: Any, given: _Given) -> tuple[Any, float]:
    factor, original = given.real("factor", 8.0), given.real("original_max_position_embeddings", 8192.0)
    low, high = given.real("low_freq_factor", 1.0), given.real("high_freq_factor", 4.0)
    if not low < high:
        raise CheckpointError(
            f"{given.where}: config.json: low_freq_factor is {low:g}, and must be below high_freq_factor, {high:g}",
            next_step="repair its config.json",
        )
    turns = original * plain / (2.0 * math.pi)
    smooth = np.clip((turns - low) / (high - low), 0.0, 1.0)
    return plain * (smooth + (1.0 - smooth) / factor), 1.0


def _yarn(plain: Any, given: _Given) -> tuple[Any, float]:
    dim = 2 * len(plain)
    factor, original = given.real("factor", 1.0), given.positions(4096.0)
    fast, slow = given.real("beta_fast", 32.0), given.real("beta_slow", 1.0)

    def at(turns: float) -> float:
        return dim * math.log(original / (turns * 2.0 * math.pi)) / (2.0 * math.log(given.theta))

    low, high = max(math.floor(at(fast)), 0), min(math.ceil(at(slow)), dim - 1)
    ramp = np.clip((np.arange(dim // 2) - low) / max(high - low, 0.001), 0.0, 1.0)
    named = given.real("attention_factor", 0.0) if given.scaling.get("attention_factor") else 0.0
    return plain * (1.0 - ramp) + plain / factor * ramp, named or _yarn_factor(factor, given)


def _yarn_factor(factor: float, given: _Given) -> float:
    def scale(weight: float) -> float:
        return 0.1 * weight * math.log(factor) + 1.0 if factor > 1.0 else 1.0

    one, all_dims = given.real("mscale", 0.0), given.real("mscale_all_dim", 0.0)
    return scale(one) / scale(all_dims) if one and all_dims else scale(1.0)


_KINDS = {"default": _plain, "linear": _linear, "llama3": _llama3, "yarn": _yarn}
