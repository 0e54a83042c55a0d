"""Small checkpoints on disk, made of a header and a few real bytes."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.gguf_bytes import gguf_text, gguf_value

HIDDEN, VOCAB, DRAFTED, LAYERS = 8, 32, 16, 12
TARGET_IDS = [2 * i for i in range(DRAFTED)]
SIZES = {"BF16": 2, "F32": 4, "I64": 8, "BOOL": 1, "F8_E4M3": 1}
Tensors = dict[str, tuple[str, tuple[int, ...], bytes]]


def target_config(**more: Any) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": HIDDEN,
        "intermediate_size": 16,
        "num_attention_heads": 2,
        "num_hidden_layers": LAYERS,
        "vocab_size": VOCAB,
        "max_position_embeddings": 4096,
        "rope_theta": 10000.0,
        **more,
    }


def head_config(ids: Sequence[int] | None = (1, 5, 8), **more: Any) -> dict[str, Any]:
    config: dict[str, Any] = {
        **target_config(),
        "architectures": ["LlamaForCausalLMEagle3"],
        "num_hidden_layers": 1,
        "draft_vocab_size": DRAFTED,
    }
    if ids is not None:
        config["eagle_config"] = {"eagle_aux_hidden_state_layer_ids": list(ids)}
    return {**config, **more}


def bf16(values: Sequence[float]) -> bytes:
    return (np.array(values, dtype="<f4").view("<u4") >> 16).astype("<u2").tobytes()


def noise(dtype: str, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...], bytes]:
    count = math.prod(shape)
    if dtype == "BF16":
        return dtype, shape, bf16([0.5 + (i % 7) / 10 for i in range(count)])
    return dtype, shape, bytes(i % 100 + 1 for i in range(count * SIZES[dtype]))


def head_tensors(states: int = 3) -> Tensors:
    h = HIDDEN
    marked = bytes(int(i in TARGET_IDS) for i in range(VOCAB))
    offsets = struct.pack(f"<{DRAFTED}q", *(target - i for i, target in enumerate(TARGET_IDS)))
    layer = {
        "input_layernorm": (h,),
        "hidden_norm": (h,),
        "post_attention_layernorm": (h,),
        "self_attn.q_proj": (h, 2 * h),
        "self_attn.k_proj": (h, 2 * h),
        "self_attn.v_proj": (h, 2 * h),
        "self_attn.o_proj": (h, h),
        "mlp.gate_proj": (16, h),
        "mlp.up_proj": (16, h),
        "mlp.down_proj": (h, 16),
    }
    return {
        "d2t": ("I64", (DRAFTED,), offsets),
        "t2d": ("BOOL", (VOCAB,), marked),
        "fc.weight": noise("BF16", (h, states * h)),
        "norm.weight": noise("BF16", (h,)),
        "lm_head.weight": noise("BF16", (DRAFTED, h)),
        **{f"midlayer.{name}.weight": noise("BF16", shape) for name, shape in layer.items()},
    }


def safetensors_bytes(tensors: Tensors) -> bytes:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, (dtype, shape, raw) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def put(folder: Path, config: Mapping[str, Any], tensors: Tensors, **texts: str) -> Path:
    """Write a folder; `texts` are further files, `__` in a name standing for a dot."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    (folder / "model.safetensors").write_bytes(safetensors_bytes(tensors))
    for name, text in texts.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def put_head(folder: Path, ids: Sequence[int] | None = (1, 5, 8), **more: Any) -> Path:
    return put(folder, head_config(ids, **more), head_tensors())


def put_target(folder: Path, **more: Any) -> Path:
    tensors = {
        "model.embed_tokens.weight": noise("BF16", (VOCAB, HIDDEN)),
        "lm_head.weight": noise("BF16", (VOCAB, HIDDEN)),
    }
    return put(folder, target_config(**more), tensors)


def tokenizer_text(words: Sequence[str], *, special: Mapping[int, str] | None = None) -> str:
    """A tokenizer.json with these words as ids 0, 1, ..."""
    added = [{"id": i, "content": text, "special": True} for i, text in (special or {}).items()]
    vocabulary = {word: i for i, word in enumerate(words)}
    return json.dumps({"added_tokens": added, "model": {"type": "BPE", "vocab": vocabulary, "merges": []}})


def gguf_bytes(metadata: Mapping[str, Any], tensors: Tensors, *, align: int = 32) -> bytes:
    """A GGUF file, version 3. Shapes are given outermost first, as elsewhere."""
    types = {"F32": 0, "F16": 1, "I64": 27, "BF16": 30}
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    for key, value in metadata.items():
        out += gguf_text(key) + gguf_value(value)
    data, infos = b"", b""
    for name, (dtype, shape, raw) in tensors.items():
        data += b"\0" * (-len(data) % align)
        dims = struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        infos += gguf_text(name) + dims + struct.pack("<IQ", types[dtype], len(data))
        data += raw
    head = out + infos
    return head + b"\0" * (-len(head) % align) + data


GGUF_NAMES = {
    "fc.weight": "fc.weight",
    "norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
    "midlayer.input_layernorm.weight": "blk.0.attn_norm.weight",
    "midlayer.hidden_norm.weight": "blk.0.attn_norm_2.weight",
    "midlayer.post_attention_layernorm.weight": "blk.0.ffn_norm.weight",
    "midlayer.self_attn.q_proj.weight": "blk.0.attn_q.weight",
    "midlayer.self_attn.k_proj.weight": "blk.0.attn_k.weight",
    "midlayer.self_attn.v_proj.weight": "blk.0.attn_v.weight",
    "midlayer.self_attn.o_proj.weight": "blk.0.attn_output.weight",
    "midlayer.mlp.gate_proj.weight": "blk.0.ffn_gate.weight",
    "midlayer.mlp.up_proj.weight": "blk.0.ffn_up.weight",
    "midlayer.mlp.down_proj.weight": "blk.0.ffn_down.weight",
}


def gguf_head(ids: Sequence[int], tensors: Tensors, config: Mapping[str, Any], words: Sequence[str]) -> bytes:
    """A head as llama.cpp's converter writes it: ids frozen, d2t as target ids, no t2d."""
    metadata: dict[str, Any] = {
        "general.architecture": "eagle3",
        "eagle3.block_count": 1,
        "eagle3.embedding_length": config["hidden_size"],
        "eagle3.feed_forward_length": config["intermediate_size"],
        "eagle3.context_length": config["max_position_embeddings"],
        "eagle3.vocab_size": config["vocab_size"],
        "eagle3.rope.freq_base": float(config["rope_theta"]),
        "eagle3.target_layers": list(ids),
        "eagle3.target_hidden_size": config["hidden_size"],
        "eagle3.norm_before_residual": False,
        "tokenizer.ggml.tokens": list(words),
    }
    out: Tensors = {}
    for name, (dtype, shape, raw) in tensors.items():
        if name == "d2t":
            offsets = struct.unpack(f"<{shape[0]}q", raw)
            out["d2t"] = ("I64", shape, struct.pack(f"<{shape[0]}q", *(i + v for i, v in enumerate(offsets))))
        elif name in GGUF_NAMES:
            out[GGUF_NAMES[name]] = (dtype, shape, raw)
    return gguf_bytes(metadata, out)


def gguf_target(config: Mapping[str, Any], words: Sequence[str]) -> bytes:
    metadata: dict[str, Any] = {
        "general.architecture": "llama",
        "llama.block_count": config["num_hidden_layers"],
        "llama.embedding_length": config["hidden_size"],
        "llama.context_length": config["max_position_embeddings"],
        "llama.vocab_size": config["vocab_size"],
        "llama.rope.freq_base": float(config["rope_theta"]),
        "tokenizer.ggml.tokens": list(words),
    }
    shape = (config["vocab_size"], config["hidden_size"])
    return gguf_bytes(metadata, {"token_embd.weight": noise("BF16", shape)})
