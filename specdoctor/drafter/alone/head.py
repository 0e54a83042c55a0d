"""An EAGLE-3 head: one state made of several of the target's, then a small decoder that drafts from its own output.

At index t it is given the target's states at t and the embedding of the token at t + 1, and foretells the token at
t + 2. From its second draft on it has no state of the target; it is fed its own output (before its last norm, unless
`norm_output` says otherwise) and its own token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from specdoctor.core.errors import CheckpointError
from specdoctor.drafter.alone.arrays import Floats, Ints, Rows, Table
from specdoctor.drafter.alone.decoder import decoder_layer
from specdoctor.drafter.alone.drafting import Chains
from specdoctor.drafter.alone.layer import Layer, Place, rms_norm
from specdoctor.drafter.alone.weights import Weights, size
from specdoctor.drafter.config_numbers import real

AHEAD = 2


class Slot(NamedTuple):
    """One state put through its columns of fc: `projected` [positions, hidden], `squares` its sum of squares."""

    projected: Floats
    squares: Floats


@dataclass(frozen=True)
class Fusion:
    """fc over the states side by side, with what norms stand before it."""

    fc: Floats
    bias: Floats | None
    width: int
    eps: float
    whole_norm: Floats | None = None
    part_norms: tuple[Floats, ...] = ()

    @property
    def slots(self) -> int:
        return int(self.fc.shape[1]) // self.width

    def slot(self, number: int, state: Floats) -> Slot:
        """One state's share: fc of a concatenation is the sum of its column blocks, so each is calculated once."""
        if state.shape[1] != self.width:
            raise CheckpointError(
                f"the stored states are {state.shape[1]} wide, the drafter's fc takes {self.width} a state",
                next_step="these are states of another target",
            )
        squares: Floats = np.sum(np.square(state), axis=1, keepdims=True)
        columns = slice(number * self.width, (number + 1) * self.width)
        if self.part_norms:
            state = rms_norm(state, self.part_norms[number], self.eps)
        if self.whole_norm is not None:
            state = state * self.whole_norm[columns]
        return Slot(projected=state @ self.fc[:, columns].T, squares=squares)

    def joined(self, slots: Sequence[Slot]) -> Floats:
        """The fused state [positions, hidden]."""
        total = sum((slot.projected for slot in slots[1:]), start=slots[0].projected)
        if self.whole_norm is not None:
            squares = sum((slot.squares for slot in slots[1:]), start=slots[0].squares)
            total = total / np.sqrt(squares / np.float32(self.fc.shape[1]) + np.float32(self.eps))
        return total if self.bias is None else total + self.bias

    def fused(self, states: Sequence[Floats]) -> Floats:
        """Raises CheckpointError when there are more or fewer states than fc has room for."""
        if len(states) != self.slots:
            raise CheckpointError(
                f"fc is {self.fc.shape[1]} wide: it takes {self.slots} states of {self.width}, not {len(states)}",
                next_step=f"name {self.slots} states",
            )
        return self.joined([self.slot(number, state) for number, state in enumerate(states)])


@dataclass(frozen=True)
class Head:
    """The head with all it needs. `target_ids` [draft vocabulary] are the target's ids of its own."""

    fusion: Fusion
    layers: tuple[Layer, ...]
    hidden_norm: Floats
    norm: Floats
    lm_head: Floats
    target_ids: Ints
    embedding: Rows
    eps: float
    norm_before_residual: bool = False
    norm_output: bool = False

    @property
    def ahead(self) -> int:
        return AHEAD

    def begin(self, tokens: Ints, features: Floats | None) -> Chains:
        """`features` [tokens, hidden] are the fused states; the last token has none after it and begins nothing."""
        if features is None:
            raise ValueError("an EAGLE-3 head needs the target's states")
        count = len(tokens) - 1
        index = np.arange(count)
        place = Place(positions=index, last=index)
        residual, normed = self._input(features[:count], tokens[1:])
        memories = []
        for number, layer in enumerate(self.layers):
            residual, memory = layer.over_text(residual, place, normed=normed if number == 0 else None)
            memories.append(memory)
        return Chains(starts=index, hidden=residual, memories=memories)

    def proposed(self, chains: Chains) -> Ints:
        logits = rms_norm(chains.hidden, self.norm, self.eps) @ self.lm_head.T
        ids: Ints = self.target_ids[np.argmax(logits, axis=-1)]
        return ids

    def go_on(self, chains: Chains, tokens: Ints) -> None:
        fed = rms_norm(chains.hidden, self.norm, self.eps) if self.norm_output else chains.hidden
        residual, normed = self._input(fed, tokens)
        place = chains.place()
        for number, (layer, memory) in enumerate(zip(self.layers, chains.memories, strict=True)):
            residual = layer.along_chain(residual, place, memory, normed=normed if number == 0 else None)
        chains.hidden, chains.steps = residual, chains.steps + 1

    def _input(self, state: Floats, tokens: Ints) -> tuple[Floats, Floats]:
        """The residual, and what the first attention sees: the normed embedding beside the normed state."""
        embedded = rms_norm(self.embedding.take(tokens), self.layers[0].input_norm, self.eps)
        normed = rms_norm(state, self.hidden_norm, self.eps)
        return (normed if self.norm_before_residual else state), np.concatenate([embedded, normed], axis=-1)


def head_of(weights: Weights, config: Mapping[str, Any], *, embedding: Rows | None, target_head: Table | None) -> Head:
    """The head of a checkpoint. `config` is flat; `embedding` and `target_head` are the target's, where given.

    The drafter's own embedding counts before the target's, its own lm_head before the target's. Raises CheckpointError
    for what is missing or does not fit together.
    """
    where = weights.where
    eps = real(config, "rms_norm_eps", where, 1e-6)
    own = weights.table("embed_tokens.weight")
    rows: Rows | None = own if own is not None else embedding
    if rows is None:
        raise CheckpointError(
            f"{where}: the drafter has no embedding of its own, and the target's was not given",
            next_step="add --target DIR, or states that were exported with the embedding",
        )
    hidden = size(config, "hidden_size", where)
    if rows.width != hidden:
        raise CheckpointError(
            f"{where}: the embedding is {rows.width} wide, the drafter {hidden}",
            next_step="give the drafter's own embedding, or the folder of its own target",
        )
    lm_head = weights.shaped((None, hidden), "lm_head.weight") if weights.has("lm_head.weight") else None
    if lm_head is None and target_head is not None and target_head.width == hidden:
        lm_head = target_head.all()
    if lm_head is None:
        raise CheckpointError(f"{where}: it has no lm_head.weight, and the target's was not given", next_step=_TARGET)
    count = size(config, "num_hidden_layers", where, default=1)
    names = [("midlayer", "layers.0"), *((f"layers.{n}", f"midlayer.{n}") for n in range(1, count))]
    layers = tuple(
        decoder_layer(weights, config, *prefixes, fed=None if number else 2 * hidden)
        for number, prefixes in enumerate(names)
    )
    return Head(
        fusion=_fusion(weights, config, eps),
        layers=layers,
        hidden_norm=weights.shaped((hidden,), "midlayer.hidden_norm.weight", "layers.0.hidden_norm.weight"),
        norm=weights.shaped((hidden,), "norm.weight"),
        lm_head=lm_head,
        target_ids=_target_ids(weights, len(lm_head), rows.count),
        embedding=rows,
        eps=eps,
        norm_before_residual=bool(config.get("norm_before_residual", False)),
        norm_output=bool(config.get("norm_output", False)),
    )


_TARGET = "add --target DIR, the folder of the target's weights"


def _fusion(weights: Weights, config: Mapping[str, Any], eps: float) -> Fusion:
    fc = weights.need("fc.weight")
    hidden = size(config, "hidden_size", weights.where)
    width = size(config, "target_hidden_size", weights.where, default=hidden)
    if fc.ndim != 2 or fc.shape[0] != hidden or fc.shape[1] % width:
        raise CheckpointError(
            f"{weights.where}: fc.weight is {list(fc.shape)}; with hidden size {hidden} and states of {width} that is "
            "no whole number of states",
            next_step="compare config.json with the training's",
        )
    eagle = config.get("eagle_config")
    before = bool(config.get("norm_before_fc") or (isinstance(eagle, Mapping) and eagle.get("norm_before_fc")))
    names = [(f"fc_norm.{n}.weight", f"aux_norm_{place}.weight") for n, place in enumerate(("low", "mid", "high"))]
    asked = bool(config.get("fc_norm") or config.get("use_aux_norm"))
    parts = tuple(weights.shaped((width,), *both) for both in names[: fc.shape[1] // width]) if asked else ()
    return Fusion(
        fc=fc,
        bias=weights.shaped((hidden,), "fc.bias") if weights.has("fc.bias") else None,
        width=width,
        eps=eps,
        whole_norm=weights.shaped((fc.shape[1],), "input_norm.weight") if before else None,
        part_norms=parts,
    )


def _target_ids(weights: Weights, rows: int, vocabulary: int) -> Ints:
    """Draft id i stands for target id i + d2t[i]; without d2t for i itself."""
    found = weights.find("d2t")
    ids: Ints = np.arange(rows, dtype=np.int64)
    if found is not None:
        offsets = found[0].astype(np.int64)
        if offsets.shape != (rows,):
            raise CheckpointError(
                f"{weights.where}: d2t has {offsets.size} entries, lm_head {rows} rows",
                next_step="export both from the same training",
            )
        ids = ids + offsets
    if int(ids.min(initial=0)) < 0 or int(ids.max(initial=0)) >= vocabulary:
        raise CheckpointError(
            f"{weights.where}: d2t leads to token {int(ids.max(initial=0))}, the target has {vocabulary}: it holds "
            "target ids where offsets are expected, or belongs to another vocabulary",
            next_step="write d2t[i] = target id - i",
        )
    return ids
