"""The tiny models of tests/data/live-models, faulty variants of their drafters, and all of them as GGUF files.

The models were trained for these tests on the source text of Python's standard library: a Llama target of 8 layers, a
draft model of 2 and an EAGLE-3 head that was fed the inputs of the target's layers 2, 4 and 6. `wide` is the target
with MLPs made wider by columns that are zero: the same words at a dearer step, so that speculation pays as elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.live.gguf_writing import write_gguf

STORED = Path(__file__).parents[1] / "data" / "live-models"
RECORD = "trained_on: [out(1), out(3), out(5)]\n"
"""What the stored head was fed in training: the inputs of layers 2, 4 and 6."""
RECORDED = ("eagle3-aux", "eagle3-untrained")
"""Heads beside which that record lies."""
WIDE = 16384
_DTYPES = {"F32": np.float32, "F16": np.float16, "I64": np.int64, "BOOL": np.bool_}
_LAYER = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "hidden_norm": "attn_norm_2",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}  # fmt: skip
_TOP = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output", "fc": "fc"}
Tensors = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Model:
    """A model in memory: configuration, weights as 32-bit floats, tokenizer."""

    config: dict[str, Any]
    tensors: Tensors
    tokenizer: dict[str, Any]
    template: str = ""

    @property
    def is_head(self) -> bool:
        return "draft_vocab_size" in self.config


def load(name: str, *, tokenizer: Model | None = None) -> Model:
    """One of the stored models; a head has the tokenizer of its target."""
    folder = STORED / name
    raw = (folder / "model.safetensors").read_bytes()
    size = int.from_bytes(raw[:8], "little")
    tensors: Tensors = {}
    for key, entry in json.loads(raw[8 : 8 + size]).items():
        if key == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        part = raw[8 + size + begin : 8 + size + end]
        if entry["dtype"] == "BF16":
            array: NDArray[Any] = (np.frombuffer(part, np.uint16).astype(np.uint32) << 16).view(np.float32)
        else:
            array = np.frombuffer(part, _DTYPES[entry["dtype"]])
        tensors[key] = array.reshape(entry["shape"])
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if tokenizer is not None:
        return Model(config, tensors, tokenizer.tokenizer, tokenizer.template)
    words = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    chat = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8")).get("chat_template", "")
    return Model(config, tensors, words, chat)


def widened(model: Model) -> Model:
    """The same function at a dearer step: new rows of gate and up meet columns of down that are zero."""
    more = WIDE - int(model.config["intermediate_size"])
    random = np.random.default_rng(23)
    tensors = dict(model.tensors)
    for name, array in model.tensors.items():
        if name.endswith(("gate_proj.weight", "up_proj.weight")):
            rows = random.standard_normal((more, array.shape[1]), dtype=np.float32) * 0.02
            tensors[name] = np.concatenate([array, rows])
        elif name.endswith("down_proj.weight"):
            tensors[name] = np.concatenate([array, np.zeros((array.shape[0], more), np.float32)], axis=1)
    return Model({**model.config, "intermediate_size": WIDE}, tensors, model.tokenizer, model.template)


def untrained(model: Model, seed: int) -> Model:
    """Random weights of the same shapes."""
    random = np.random.default_rng(seed)

    def drawn(name: str, array: NDArray[Any]) -> NDArray[Any]:
        if array.dtype != np.float32:
            return array
        if array.ndim != 2:
            return np.ones_like(array)
        scale = 0.02 if "embed" in name or "lm_head" in name else 0.7 * array.shape[1] ** -0.5
        return random.standard_normal(array.shape, dtype=np.float32) * np.float32(scale)

    tensors = {name: drawn(name, array) for name, array in model.tensors.items()}
    return Model(model.config, tensors, model.tokenizer, model.template)


def fed(model: Model, ids: tuple[int, ...] | None, *, layers: int) -> Model:
    """The head with other layer ids; without any the converter's default is what counts."""
    chosen = ids if ids is not None else (2, layers // 2, layers - 3)
    eagle = {**model.config.get("eagle_config", {}), "eagle_aux_hidden_state_layer_ids": list(chosen)}
    return Model({**model.config, "eagle_config": eagle}, model.tensors, model.tokenizer, model.template)


def without_map(model: Model) -> Model:
    """The head whose d2t is all zero: its tokens are taken for the target's first ones."""
    return Model(
        model.config, {**model.tensors, "d2t": np.zeros_like(model.tensors["d2t"])}, model.tokenizer, model.template
    )


def other_tokenizer(model: Model) -> Model:
    """The draft model with its token ids shuffled, the two special ones apart: as good in itself, of other text."""
    size = int(model.config["vocab_size"])
    order = np.concatenate([np.arange(2), 2 + np.random.default_rng(37).permutation(size - 2)])
    tensors = dict(model.tensors)
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        tensors[name] = np.empty_like(model.tensors[name])
        tensors[name][order] = model.tensors[name]
    vocabulary = {text: int(order[i]) for text, i in model.tokenizer["model"]["vocab"].items()}
    words = {**model.tokenizer, "model": {**model.tokenizer["model"], "vocab": vocabulary}}
    return Model(model.config, tensors, words, model.template)


def write(model: Model, path: Path, *, half: bool = False) -> None:
    """As a GGUF file; with `half` its matrices in 16 bits."""
    write_gguf(path, _metadata(model, path.stem, half=half), _converted(model, half=half))


def _metadata(model: Model, name: str, *, half: bool) -> dict[str, Any]:
    c = model.config
    kind = "eagle3" if model.is_head else "llama"
    words = sorted(model.tokenizer["model"]["vocab"].items(), key=lambda item: item[1])
    special = {entry["content"] for entry in model.tokenizer["added_tokens"] if entry["special"]}
    merges = [m if isinstance(m, str) else " ".join(m) for m in model.tokenizer["model"]["merges"]]
    found: dict[str, Any] = {
        "general.architecture": kind,
        "general.name": name,
        "general.file_type": 1 if half else 0,
        f"{kind}.context_length": c["max_position_embeddings"],
        f"{kind}.embedding_length": c["hidden_size"],
        f"{kind}.block_count": c["num_hidden_layers"],
        f"{kind}.feed_forward_length": c["intermediate_size"],
        f"{kind}.attention.head_count": c["num_attention_heads"],
        f"{kind}.attention.head_count_kv": c["num_key_value_heads"],
        f"{kind}.attention.key_length": c["head_dim"],
        f"{kind}.attention.value_length": c["head_dim"],
        f"{kind}.attention.layer_norm_rms_epsilon": float(c["rms_norm_eps"]),
        f"{kind}.rope.dimension_count": c["head_dim"],
        f"{kind}.rope.freq_base": float(c["rope_theta"]),
        f"{kind}.vocab_size": c["vocab_size"],
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": [text for text, _ in words],
        "tokenizer.ggml.token_type": [3 if text in special else 1 for text, _ in words],
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 1,
        "tokenizer.ggml.add_bos_token": False,
    }
    if model.template:
        found["tokenizer.chat_template"] = model.template
    if model.is_head:
        found["eagle3.target_layers"] = list(c["eagle_config"]["eagle_aux_hidden_state_layer_ids"])
        found["eagle3.target_hidden_size"] = c.get("target_hidden_size", c["hidden_size"])
        found["eagle3.norm_before_residual"] = False
    return found


def _interleaved(weight: NDArray[Any], heads: int) -> NDArray[Any]:
    """The rotation of neighbouring rows, where a checkpoint rotates the halves of a head."""
    rows = weight.reshape(heads, 2, weight.shape[0] // heads // 2, weight.shape[1])
    return rows.transpose(0, 2, 1, 3).reshape(weight.shape)


def _converted(model: Model, *, half: bool) -> Tensors:
    found: Tensors = {}
    for name, array in sorted(model.tensors.items()):
        if name == "t2d":
            continue
        if name == "d2t":
            found[name] = array + np.arange(len(array), dtype=np.int64)
            continue
        parts = name.replace("model.", "").replace("midlayer.", "layers.0.").split(".")
        new = _TOP.get(parts[0], "")
        if parts[0] == "layers":
            kind = ".".join(parts[2:-1])
            heads = {"self_attn.q_proj": "num_attention_heads", "self_attn.k_proj": "num_key_value_heads"}.get(kind)
            array = _interleaved(array, int(model.config[heads])) if heads else array
            new = f"blk.{parts[1]}.{_LAYER[kind]}"
        found[f"{new}.weight"] = array.astype(np.float16) if half and array.ndim == 2 else array.astype(np.float32)
    return found


def makers() -> dict[str, Callable[[], Model]]:
    """Every model of the scenarios by name."""
    target = load("tiny-target")
    draft, head = load("tiny-draft"), load("tiny-eagle3", tokenizer=target)
    layers = int(target.config["num_hidden_layers"])
    return {
        "target": lambda: target,
        "wide": lambda: widened(target),
        "draft": lambda: draft,
        "draft-other-tokenizer": lambda: other_tokenizer(draft),
        "eagle3": lambda: head,
        "eagle3-untrained": lambda: untrained(head, 43),
        "eagle3-aux-off1": lambda: fed(head, (1, 3, 5), layers=layers),
        "eagle3-aux-early": lambda: fed(head, (1, 2, 3), layers=layers),
        "eagle3-aux-missing": lambda: fed(head, None, layers=layers),
        "eagle3-d2t-zero": lambda: without_map(head),
    }


def make_gguf(folder: Path) -> None:
    """Every model as a GGUF file, made where it is missing; heads of moved ids with the record of their training."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in makers().items():
        path = folder / f"{name}.gguf"
        if not path.exists():
            write(make(), path.with_suffix(".part"), half=name == "wide")
            path.with_suffix(".part").rename(path)
        if name.startswith(RECORDED):
            (folder / f"{name}.trained.yaml").write_text(RECORD, encoding="utf-8")


def make_checkpoints(folder: Path) -> None:
    """Every model as a folder with config.json and safetensors, in 16 bits as they were trained."""
    for name, make in makers().items():
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        model = make()
        config = dict(model.config)
        if name == "eagle3-aux-missing":
            eagle = {k: v for k, v in config["eagle_config"].items() if not k.endswith("layer_ids")}
            config["eagle_config"] = eagle
        (place / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
        (place / "model.safetensors").write_bytes(safetensors(model.tensors))
        if not model.is_head:
            words = json.dumps(model.tokenizer, ensure_ascii=False)
            (place / "tokenizer.json").write_text(words, encoding="utf-8")
            stored = STORED / ("tiny-draft" if name.startswith("draft") else "tiny-target")
            (place / "tokenizer_config.json").write_bytes((stored / "tokenizer_config.json").read_bytes())
        if name.startswith(RECORDED):
            (place / "trained.yaml").write_text(RECORD, encoding="utf-8")


def safetensors(tensors: Tensors) -> bytes:
    """The file's bytes; floats in the upper 16 bits, which is all that the stored ones have."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    parts: list[bytes] = []
    at = 0
    for name, array in tensors.items():
        kind = {"float32": "BF16", "int64": "I64", "bool": "BOOL"}[str(array.dtype)]
        plain = np.ascontiguousarray(array)
        raw = (plain.view(np.uint32) >> 16).astype(np.uint16).tobytes() if kind == "BF16" else plain.tobytes()
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [at, at + len(raw)]}
        at += len(raw)
        parts.append(raw)
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    return len(head).to_bytes(8, "little") + head + b"".join(parts)
