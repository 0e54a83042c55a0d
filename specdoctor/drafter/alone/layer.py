"""One decoder layer of the Llama kind, calculated for many positions at once, with a memory of keys and values.

Two uses share one path. Over a text, each position sees itself and those before it. Along a chain of drafts, begun at
many positions side by side, each chain sees the text up to its start and, of the rest, only its own drafts.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from specdoctor.drafter.alone.arrays import Floats, Ints
from specdoctor.drafter.alone.rope import Rope

PORTION = 256


def rms_norm(x: Floats, weight: Floats, eps: float) -> Floats:
    """x / sqrt(mean(x^2) + eps) * weight, over the last axis."""
    scale = np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + np.float32(eps))
    normed: Floats = x / scale * weight
    return normed


def silu(x: Floats) -> Floats:
    """x * sigmoid(x), without overflow."""
    out: Floats = x * (np.float32(0.5) * (np.tanh(np.float32(0.5) * x) + np.float32(1.0)))
    return out


@dataclass
class Memory:
    """Keys and values of one layer [positions, kv heads, head_dim]: of a text, and of the drafts of each chain."""

    keys: Floats
    values: Floats
    own: list[tuple[Floats, Floats]] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """Where the rows of a calculation stand: their `positions` for the rotation, and the `last` text index they see."""

    positions: Ints
    last: Ints


class Attending(ABC):
    """Attention with a memory; each kind says how queries, keys and values are made, and how scores are scaled."""

    o: Floats

    @property
    @abstractmethod
    def scale(self) -> float: ...

    @abstractmethod
    def projected(self, x: Floats, positions: Ints) -> tuple[Floats, Floats, Floats]:
        """q [rows, heads, dim], k [rows, kv heads, dim], v [rows, kv heads, any], turned to their positions."""

    def over_text(self, x: Floats, place: Place) -> tuple[Floats, Memory]:
        """Attention within a text: x [positions, in] -> [positions, hidden], and the memory for chains."""
        q, k, v = self.projected(x, place.positions)
        memory = Memory(keys=k, values=v)
        return self._attended(q, place.last, memory), memory

    def along_chain(self, x: Floats, place: Place, memory: Memory) -> Floats:
        """Attention of one more draft of each chain: x [chains, in]; its keys and values join the memory."""
        q, k, v = self.projected(x, place.positions)
        memory.own.append((k, v))
        return self._attended(q, place.last, memory)

    def _attended(self, q: Floats, last: Ints, memory: Memory) -> Floats:
        """Softmax attention in portions of rows, so that a long text does not fill the machine."""
        parts = [
            self._portion(q[at : at + PORTION], last[at : at + PORTION], memory, slice(at, at + PORTION))
            for at in range(0, len(q), PORTION)
        ]
        return np.concatenate(parts) @ self.o.T

    def _portion(self, q: Floats, last: Ints, memory: Memory, rows: slice) -> Floats:
        count, heads, dim = q.shape
        kv_heads, scale = memory.keys.shape[1], np.float32(self.scale)
        asked = q.reshape(count, kv_heads, heads // kv_heads, dim).transpose(1, 2, 0, 3)  # kv, group, rows, dim
        seen = int(last.max(initial=-1)) + 1
        keys, values = memory.keys[:seen].transpose(1, 2, 0), memory.values[:seen].transpose(1, 0, 2)
        scores = asked @ keys[:, None] * scale  # kv, group, rows, text
        scores = np.where(np.arange(seen)[None, :] <= last[:, None], scores, np.float32(-np.inf))
        if memory.own:
            drafted = np.stack([k[rows] for k, _ in memory.own], axis=-1)  # rows, kv, dim, drafts
            own = asked.transpose(2, 0, 1, 3) @ drafted * scale  # rows, kv, group, drafts
            scores = np.concatenate([scores, own.transpose(1, 2, 0, 3)], axis=-1)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        out = weights[..., :seen] @ values[:, None]
        if memory.own:
            spoken = np.stack([v[rows] for _, v in memory.own], axis=-2)  # rows, kv, drafts, dim
            out += (weights[..., seen:].transpose(2, 0, 1, 3) @ spoken).transpose(1, 2, 0, 3)
        result: Floats = out.transpose(2, 0, 1, 3).reshape(count, -1).astype(np.float32)
        return result


@dataclass(frozen=True)
class Attention(Attending):
    """Grouped-query attention. Weights are [out, in]; `biases` and `head_norms` are what some families add."""

    q: Floats
    k: Floats
    v: Floats
    o: Floats
    heads: int
    kv_heads: int
    rope: Rope
    eps: float
    biases: tuple[Floats, Floats, Floats] | None = None
    head_norms: tuple[Floats, Floats] | None = None

    @property
    def scale(self) -> float:
        return 1.0 / math.sqrt(len(self.q) // self.heads)

    def projected(self, x: Floats, positions: Ints) -> tuple[Floats, Floats, Floats]:
        flat = [x @ weight.T for weight in (self.q, self.k, self.v)]
        if self.biases is not None:
            flat = [part + bias for part, bias in zip(flat, self.biases, strict=True)]
        q = flat[0].reshape(len(x), self.heads, -1)
        k, v = (part.reshape(len(x), self.kv_heads, -1) for part in flat[1:])
        if self.head_norms is not None:
            q, k = rms_norm(q, self.head_norms[0], self.eps), rms_norm(k, self.head_norms[1], self.eps)
        return self.rope.turn(q, positions), self.rope.turn(k, positions), v


@dataclass(frozen=True)
class Mlp:
    """Gated feed-forward: down(silu(gate(x)) * up(x))."""

    gate: Floats
    up: Floats
    down: Floats

    def __call__(self, x: Floats) -> Floats:
        return (silu(x @ self.gate.T) * (x @ self.up.T)) @ self.down.T


@dataclass(frozen=True)
class Layer:
    """Attention and feed-forward with their norms. The first layer of an EAGLE-3 head forms its input elsewhere."""

    attention: Attending
    mlp: Mlp
    input_norm: Floats
    post_norm: Floats
    eps: float

    def over_text(self, x: Floats, place: Place, *, normed: Floats | None = None) -> tuple[Floats, Memory]:
        """x [positions, hidden] is the residual; `normed` the attention's input where it is another one."""
        attended, memory = self.attention.over_text(self._input(x, normed), place)
        return self._after(x + attended), memory

    def along_chain(self, x: Floats, place: Place, memory: Memory, *, normed: Floats | None = None) -> Floats:
        return self._after(x + self.attention.along_chain(self._input(x, normed), place, memory))

    def _input(self, x: Floats, normed: Floats | None) -> Floats:
        return rms_norm(x, self.input_norm, self.eps) if normed is None else normed

    def _after(self, x: Floats) -> Floats:
        return x + self.mlp(rms_norm(x, self.post_norm, self.eps))
