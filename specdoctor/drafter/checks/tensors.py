"""Are the tensors in the file that the engine will look for?"""

from __future__ import annotations

from specdoctor.core.hypothesis import ConfigEdit, Observation
from specdoctor.drafter.pair import Pair, doubt, fault

_LAYER = ("midlayer", "layers.0", "blk.0", "model.layers.0")
_PARTS = {
    "input_layernorm": ("input_layernorm.weight", "attn_norm.weight"),
    "hidden_norm": ("hidden_norm.weight", "attn_norm_2.weight"),
    "post_attention_layernorm": ("post_attention_layernorm.weight", "ffn_norm.weight"),
    "o_proj": ("self_attn.o_proj.weight", "attn_output.weight"),
    "gate_proj": ("mlp.gate_proj.weight", "ffn_gate.weight"),
    "up_proj": ("mlp.up_proj.weight", "ffn_up.weight"),
    "down_proj": ("mlp.down_proj.weight", "ffn_down.weight"),
}
_PLAIN_ATTENTION = {
    "q_proj": ("self_attn.q_proj.weight", "attn_q.weight"),
    "k_proj": ("self_attn.k_proj.weight", "attn_k.weight"),
    "v_proj": ("self_attn.v_proj.weight", "attn_v.weight"),
}
_DROPPED = ("q_norm.weight", "k_norm.weight", "q_proj.bias", "k_proj.bias", "v_proj.bias", "verifier_norm.weight")
EXPORT = "export the checkpoint again with this tensor, under the name that the engine looks for"


class Tensors:
    """A name that an engine does not know is skipped, a tensor that is missing stays as it was made: both silently."""

    name = "drafter-tensors"
    summary = "Look for tensors that are missing, that no engine would load, or that the configuration contradicts."
    causes = ("WIRE-2",)

    def judge(self, pair: Pair) -> tuple[Observation, ...]:
        draft = pair.draft
        if not draft.tensors:
            return ()
        if not draft.is_eagle3:
            return self._standalone(pair)
        found: list[Observation] = []
        missing = self._missing(pair)
        if missing:
            claim = f"missing from the drafter's file, so left as they are made: {', '.join(missing)}"
            found.append(fault(self.name, "WIRE-2", claim, draft.listed(), fix=EXPORT))
        if draft.config.get("tie_word_embeddings") is True and draft.has("lm_head.weight") and pair.engine == "sglang":
            claim = "tie_word_embeddings is true, so the drafter's own lm_head is dropped"
            fix = "set tie_word_embeddings false"
            said = (draft.said("tie_word_embeddings"), draft.listed())
            edits = (ConfigEdit(key="tie_word_embeddings", value=False),)
            found.append(fault(self.name, "WIRE-2", claim, *said, fix=fix, edits=edits))
        found += self._unread(pair)
        return tuple(found)

    def _missing(self, pair: Pair) -> list[str]:
        draft = pair.draft
        latent = draft.has("self_attn.q_a_proj.weight", "self_attn.kv_a_proj_with_mqa.weight")
        quantised = "quantization_config" in draft.config
        parts = {**_PARTS, **({} if latent else _PLAIN_ATTENTION)}
        names = [
            part
            for part, endings in parts.items()
            if not _in_layer(pair, *endings) and not (quantised and part.endswith("_proj"))
        ]
        if not draft.has("norm.weight", "output_norm.weight"):
            names.append("norm")
        if not draft.has("fc.weight") and draft.config.get("eagle_config") != {"use_aux_hidden_state": False}:
            names.append("fc")
        if (pair.reduced or _own_head(pair)) and not draft.has("lm_head.weight", "output.weight"):
            names.append("lm_head")
        own, hidden = draft.whole("target_hidden_size"), draft.whole("hidden_size")
        if own and hidden and own != hidden and not draft.has("embed_tokens.weight", "token_embd.weight"):
            names.append("embed_tokens")
        return names

    def _unread(self, pair: Pair) -> list[Observation]:
        """Tensors that are there and are dropped or replaced."""
        draft = pair.draft
        found: list[Observation] = []
        dropped = [name for name in draft.tensors if name.endswith(_DROPPED)]
        if dropped and pair.engine in ("sglang", ""):
            claim = f"SGLang drops {', '.join(dropped[:4])}: the head was trained with them"
            found.append(fault(self.name, "WIRE-2", claim, draft.shown_tensor(dropped[0]), fix="serve it with vLLM"))
        own = draft.tensor("embed_tokens.weight")
        hidden, target_hidden = draft.whole("hidden_size"), draft.whole("target_hidden_size")
        if own is not None and pair.engine == "sglang" and target_hidden in (None, hidden):
            claim = "SGLang puts the target's embedding in place of the drafter's own"
            decides = "compare the two embeddings, or see whether training froze it (then they are the same)"
            found.append(doubt(self.name, "WIRE-2", claim, draft.shown_tensor(own[0]), decides=decides))
        return found

    def _standalone(self, pair: Pair) -> tuple[Observation, ...]:
        """A draft model of its own: embedding, every layer, last norm, head."""
        draft = pair.draft
        layers = draft.whole("num_hidden_layers")
        if layers is None or not draft.has("embed_tokens.weight", "token_embd.weight"):
            return ()
        stems = ("layers", "blk")
        names = [
            f"layer {i}"
            for i in range(layers)
            if not any(f"{stem}.{i}." in f"{name}." for stem in stems for name in draft.tensors)
        ]
        tied = draft.text.get("tie_word_embeddings") is True
        if not tied and not draft.has("lm_head.weight", "output.weight") and draft.format == "hf":
            names.append("lm_head")
        if not names:
            return ()
        claim = f"missing from the draft model's file: {', '.join(names[:6])}"
        return (fault(self.name, "WIRE-2", claim, draft.listed(), fix=EXPORT),)


def _own_head(pair: Pair) -> bool:
    """Whether SGLang gives the drafter a head of its own: it does where the config names a draft vocabulary, untied."""
    said = pair.draft.whole("draft_vocab_size") is not None and pair.draft.config.get("tie_word_embeddings") is False
    return said and pair.engine == "sglang"


def _in_layer(pair: Pair, *endings: str) -> bool:
    names = pair.draft.tensors
    return any(name.endswith(f"{stem}.{ending}") for name in names for stem in _LAYER for ending in endings)


check = Tensors()
