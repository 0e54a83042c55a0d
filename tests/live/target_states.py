"""What the tiny target says greedily to the stored prompts, with its states: what a trainer leaves beside a drafter.

The target is calculated here, in 32 bits, so that no engine has a part in it.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.live.tiny_models import STORED, Model, Tensors, safetensors

SEQUENCES, PROMPT, ANSWER, BEYOND = 8, 40, 48, 7
"""Texts, and tokens of each: prompt, answer, and what the target would have gone on with."""
LAYERS = (2, 4, 6)
"""Their inputs are kept: out(1), out(3), out(5), which the stored head was trained on."""
Floats = NDArray[np.float32]


def byte_letters() -> dict[int, str]:
    """The letter that stands for each byte in a byte-level vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + n) for n, byte in enumerate(others)}


def encoded(text: str, tokenizer: dict[str, Any]) -> list[int]:
    """Token ids by merging pairs in the order they were learnt; words are not split beforehand."""
    letters = byte_letters()
    merges = [m.split(" ") if isinstance(m, str) else m for m in tokenizer["model"]["merges"]]
    rank = {tuple(pair): number for number, pair in enumerate(merges)}
    parts = [letters[byte] for byte in text.encode("utf-8")]
    while True:
        pairs = [(rank.get((a, b), len(rank)), i) for i, (a, b) in enumerate(pairwise(parts))]
        best, at = min(pairs, default=(len(rank), 0))
        if best == len(rank):
            return [tokenizer["model"]["vocab"][part] for part in parts]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


def _normed(x: Floats, weight: Floats, eps: float) -> Floats:
    out: Floats = x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + np.float32(eps)) * weight
    return out


def _turned(x: Floats, theta: float) -> Floats:
    """Rotary positions for [texts, heads, tokens, width]: halves of a head are turned against each other."""
    count, width = x.shape[-2:]
    half = width // 2
    angles = np.arange(count)[:, None] * theta ** (-np.arange(half) / half)
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    first, second = x[..., :half], x[..., half:]
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def _attended(x: Floats, t: Tensors, name: str, config: dict[str, Any]) -> Floats:
    heads, shared, width = (int(config[k]) for k in ("num_attention_heads", "num_key_value_heads", "head_dim"))
    texts, count, theta = *x.shape[:2], float(config["rope_theta"])

    def by_head(part: str, number: int) -> Floats:
        rows: Floats = x @ t[f"{name}.{part}_proj.weight"].T
        return rows.reshape(texts, count, number, width).transpose(0, 2, 1, 3)

    q, k = _turned(by_head("q", heads), theta), _turned(by_head("k", shared), theta)
    k, v = (np.repeat(part, heads // shared, axis=1) for part in (k, by_head("v", shared)))
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(np.float32(width))
    scores = np.where(np.tri(count, dtype=bool), scores, np.float32(-np.inf))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = (weights / weights.sum(axis=-1, keepdims=True)) @ v
    out: Floats = mixed.transpose(0, 2, 1, 3).reshape(texts, count, heads * width) @ t[f"{name}.o_proj.weight"].T
    return out


def forward(model: Model, tokens: NDArray[np.int64]) -> tuple[NDArray[np.int64], dict[str, Floats]]:
    """For [texts, tokens] the target's first choice after each token, and the inputs of the layers that are kept."""
    t, config = model.tensors, model.config
    eps = float(config["rms_norm_eps"])
    x: Floats = t["model.embed_tokens.weight"][tokens]
    kept: dict[str, Floats] = {}
    for number in range(int(config["num_hidden_layers"])):
        if number in LAYERS:
            kept[f"out({number - 1})"] = x
        layer = f"model.layers.{number}"
        x = x + _attended(_normed(x, t[f"{layer}.input_layernorm.weight"], eps), t, f"{layer}.self_attn", config)
        normed = _normed(x, t[f"{layer}.post_attention_layernorm.weight"], eps)
        gate = normed @ t[f"{layer}.mlp.gate_proj.weight"].T
        gate = gate / (1.0 + np.exp(-gate)) * (normed @ t[f"{layer}.mlp.up_proj.weight"].T)
        x = x + gate @ t[f"{layer}.mlp.down_proj.weight"].T
    logits = _normed(x, t["model.norm.weight"], eps) @ t["lm_head.weight"].T
    return np.argmax(logits, axis=-1), kept


def stored_states(model: Model) -> bytes:
    """The safetensors file of a few prompts, greedily answered, with states and the target's embedding."""
    lines = (STORED / "prompts.jsonl").read_text(encoding="utf-8").splitlines()[:SEQUENCES]
    begun = [encoded(json.loads(line)["prompt"], model.tokenizer)[:PROMPT] for line in lines]
    tokens = np.asarray(begun, np.int64)
    for _ in range(ANSWER + BEYOND):
        tokens = np.concatenate([tokens, forward(model, tokens)[0][:, -1:]], axis=1)
    after, states = forward(model, tokens)
    tensors: Tensors = {"embed_tokens.weight": model.tensors["model.embed_tokens.weight"]}
    for number, whole in enumerate(tokens):
        tensors |= {f"{number}.tokens": whole, f"{number}.answer": np.asarray([PROMPT, ANSWER], np.int64)}
        tensors[f"{number}.greedy"] = np.concatenate([whole[:1], after[number, :-1]])
        tensors |= {f"{number}.{name}": state[number].astype(np.float32) for name, state in states.items()}
    return safetensors(tensors)


def leave_states(model: Model, folder: Path) -> None:
    """Write them where they are missing, as a folder beside or in that of a drafter."""
    path = folder / "states.safetensors"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(stored_states(model))
