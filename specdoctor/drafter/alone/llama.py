"""A standalone Llama-type model as a drafter: it reads tokens only. The same pass shows a small target's states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from specdoctor.core.errors import CheckpointError
from specdoctor.drafter.alone.arrays import Floats, Ints, Rows
from specdoctor.drafter.alone.decoder import decoder_layer
from specdoctor.drafter.alone.drafting import Chains
from specdoctor.drafter.alone.layer import Layer, Memory, Place, rms_norm
from specdoctor.drafter.alone.weights import Weights, size
from specdoctor.drafter.config_numbers import real

ARCHITECTURES = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM")


@dataclass(frozen=True)
class Llama:
    """Embedding, decoder layers, last norm, head."""

    embedding: Rows
    layers: tuple[Layer, ...]
    norm: Floats
    lm_head: Floats
    eps: float

    @property
    def ahead(self) -> int:
        return 1

    def begin(self, tokens: Ints, features: Floats | None = None) -> Chains:
        hidden, memories, _ = self._over(tokens)
        return Chains(starts=np.arange(len(tokens)), hidden=hidden, memories=memories)

    def proposed(self, chains: Chains) -> Ints:
        found: Ints = np.argmax(self.logits(chains.hidden), axis=-1)
        return found

    def go_on(self, chains: Chains, tokens: Ints) -> None:
        hidden, place = self.embedding.take(tokens), chains.place()
        for layer, memory in zip(self.layers, chains.memories, strict=True):
            hidden = layer.along_chain(hidden, place, memory)
        chains.hidden, chains.steps = hidden, chains.steps + 1

    def logits(self, hidden: Floats) -> Floats:
        return rms_norm(hidden, self.norm, self.eps) @ self.lm_head.T

    def states(self, tokens: Ints) -> tuple[list[Floats], Floats]:
        """The residual stream over a text: `embed`, then the output of each layer; and the logits."""
        hidden, _, states = self._over(tokens)
        return states, self.logits(hidden)

    def _over(self, tokens: Ints) -> tuple[Floats, list[Memory], list[Floats]]:
        index = np.arange(len(tokens))
        place = Place(positions=index, last=index)
        hidden = self.embedding.take(tokens)
        memories, states = [], [hidden]
        for layer in self.layers:
            hidden, memory = layer.over_text(hidden, place)
            memories.append(memory)
            states.append(hidden)
        return hidden, memories, states


def llama_of(weights: Weights, config: Mapping[str, Any], architectures: tuple[str, ...]) -> Llama:
    """The model of a checkpoint. Raises CheckpointError for another architecture and for missing tensors."""
    if not set(architectures) & set(ARCHITECTURES):
        named = ", ".join(architectures) or "none named"
        raise CheckpointError(
            f"{weights.where}: architecture {named} is not calculated here",
            next_step=f"known are EAGLE-3 heads with a Llama-type layer, and {', '.join(ARCHITECTURES)}",
        )
    embedding = weights.table("embed_tokens.weight")
    if embedding is None:
        weights.need("embed_tokens.weight")
        raise AssertionError("unreachable")
    hidden = size(config, "hidden_size", weights.where)
    head = weights.shaped((None, hidden), "lm_head.weight") if weights.has("lm_head.weight") else None
    if embedding.width != hidden:
        raise CheckpointError(
            f"{weights.where}: the embedding is {embedding.width} wide, config.json says {hidden}",
            next_step="the configuration is that of another checkpoint",
        )
    count = size(config, "num_hidden_layers", weights.where)
    return Llama(
        embedding=embedding,
        layers=tuple(decoder_layer(weights, config, f"layers.{n}") for n in range(count)),
        norm=weights.shaped((hidden,), "norm.weight"),
        lm_head=embedding.all() if head is None or config.get("tie_word_embeddings") else head,
        eps=real(config, "rms_norm_eps", weights.where, 1e-6),
    )
