"""What a GGUF file says of itself: its metadata under the names of a config.json, its tensors, its small values.

Only the header and the vocabulary map are read, never the weights.
"""

import json
import os
import struct
from typing import Any, Dict, List, Optional, Tuple

from specdoctor.remote.parts.small_tensors import map_or_norm_line

MAGIC = b"GGUF"
MOST_ENTRIES = 4096
MOST_GGUF_TENSORS = 100000
MOST_STRINGS = 2000000
LONGEST_STRING = 1 << 20
KEPT_ARRAY = 64
SMALL_BYTES = 1 << 22
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
TENSOR_TYPES = {0: "F32", 1: "F16", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 30: "BF16"}
TENSOR_CODES = {"F32": "f", "F16": "e", "I8": "b", "I16": "h", "I32": "i", "I64": "q", "F64": "d"}
CONFIG_FIELDS = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "context_length": "max_position_embeddings",
    "vocab_size": "vocab_size",
    "rope.freq_base": "rope_theta",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "target_hidden_size": "target_hidden_size",
    "norm_before_residual": "norm_before_residual",
    "norm_before_fc": "norm_before_fc",
}
Listed = Tuple[str, str, List[int], int]


class NotGguf(Exception):
    """The file is no sound GGUF file."""


def gguf_files(key: str, path: str, draft: bool) -> Dict[str, Dict[str, Any]]:
    """FileFacts made of a GGUF file: KEY/config.json, and of a draft KEY/tensors.txt and KEY/values.txt.

    They are lists that are made here, not files there.
    """
    found: Dict[str, Any] = {"path": path, "text": None, "size": None, "mtime": None, "error": None}
    try:
        state = os.stat(path)
        found.update(size=state.st_size, mtime=state.st_mtime)
        with open(path, "rb") as stream:
            metadata, vocabulary, tensors = _header(stream)
            base = _aligned(stream.tell(), metadata.get("general.alignment"))
            values = _small_values(stream, base, tensors) if draft else ""
    except OSError as failure:
        found["error"] = failure.strerror or str(failure)
        return {key + "/config.json": found}
    except (NotGguf, ValueError, struct.error) as failure:
        found["error"] = "no sound GGUF file: %s" % failure
        return {key + "/config.json": found}
    config = config_of_gguf(metadata, vocabulary, tensors)
    answer = {key + "/config.json": dict(found, text=json.dumps(config, sort_keys=True))}
    if draft:
        lines = ["%s %s %s" % (name, kind, json.dumps(shape)) for name, kind, shape, _ in sorted(tensors)]
        answer[key + "/tensors.txt"] = dict(found, text="\n".join(lines) + "\n")
        answer[key + "/values.txt"] = dict(found, text=values)
    return answer


def config_of_gguf(metadata: Dict[str, Any], vocabulary: Optional[int], tensors: List[Listed]) -> Dict[str, Any]:
    """The metadata as it stands, with the fields of a config.json beside it."""
    architecture = str(metadata.get("general.architecture", ""))
    config = {name: value for name, value in metadata.items() if not name.startswith("tokenizer.")}
    for field, name in CONFIG_FIELDS.items():
        value = metadata.get("%s.%s" % (architecture, field))
        if value is not None:
            config[name] = value
    config["model_type"] = architecture
    if "vocab_size" not in config and vocabulary is not None:
        config["vocab_size"] = vocabulary
    output = next((shape for name, _, shape, _ in tensors if name == "output.weight" and len(shape) == 2), None)
    if architecture == "eagle3" and output is not None:
        config["draft_vocab_size"] = output[0]
    return config


def _header(stream: Any) -> Tuple[Dict[str, Any], Optional[int], List[Listed]]:
    if stream.read(4) != MAGIC:
        raise NotGguf("it does not begin with GGUF")
    version, tensor_count, entry_count = _read_number(stream, "I"), _read_number(stream, "Q"), _read_number(stream, "Q")
    if version not in (2, 3) or entry_count > MOST_ENTRIES or tensor_count > MOST_GGUF_TENSORS:
        raise NotGguf("version %d, %d entries, %d tensors" % (version, entry_count, tensor_count))
    metadata: Dict[str, Any] = {}
    vocabulary = None
    for _ in range(entry_count):
        key = _read_string(stream)
        value, count = _value(stream, _read_number(stream, "I"))
        if key == "tokenizer.ggml.tokens":
            vocabulary = count
        metadata[key] = value
    return metadata, vocabulary, [_tensor(stream) for _ in range(tensor_count)]


def _read_number(stream: Any, code: str) -> Any:
    size = struct.calcsize("<" + code)
    return struct.unpack("<" + code, stream.read(size))[0]


def _read_string(stream: Any) -> str:
    size = _read_number(stream, "Q")
    if size > LONGEST_STRING:
        raise NotGguf("a string of %d bytes" % size)
    return str(stream.read(size).decode("utf-8", "replace"))


def _value(stream: Any, kind: int) -> Tuple[Any, int]:
    """A value, and how many it holds; of a long list only their number."""
    if kind == STRING:
        return _read_string(stream), 1
    if kind != ARRAY:
        return _read_number(stream, _code(kind)), 1
    inner, count = _read_number(stream, "I"), _read_number(stream, "Q")
    if inner == STRING:
        if count > MOST_STRINGS:
            raise NotGguf("a list of %d strings" % count)
        kept = [text for text in (_read_string(stream) for _ in range(count)) if count <= KEPT_ARRAY]
        return kept if count <= KEPT_ARRAY else "%d strings" % count, count
    size = struct.calcsize("<" + _code(inner))
    if count > KEPT_ARRAY:
        stream.seek(size * count, os.SEEK_CUR)
        return "%d values" % count, count
    return list(struct.unpack("<%d%s" % (count, _code(inner)), stream.read(size * count))), count


def _code(kind: int) -> str:
    if kind not in SCALARS:
        raise NotGguf("a value of unknown type %d" % kind)
    return SCALARS[kind]


def _tensor(stream: Any) -> Listed:
    """Name, type, shape (outermost first) and where it begins after the header."""
    name, dimensions = _read_string(stream), _read_number(stream, "I")
    if dimensions > 8:
        raise NotGguf("a tensor of %d dimensions" % dimensions)
    shape = [_read_number(stream, "Q") for _ in range(dimensions)][::-1]
    kind, offset = _read_number(stream, "I"), _read_number(stream, "Q")
    return name, TENSOR_TYPES.get(kind, "GGML_%d" % kind), shape, offset


def _aligned(at: int, alignment: Any) -> int:
    step = alignment if isinstance(alignment, int) and 0 < alignment <= 1 << 16 else 32
    return (at + step - 1) // step * step


def _small_values(stream: Any, base: int, tensors: List[Listed]) -> str:
    """The vocabulary map, and the range of each norm, as lines."""
    lines = []
    for name, kind, shape, offset in sorted(tensors):
        code = TENSOR_CODES.get(kind)
        if len(shape) != 1 or code is None or not map_or_norm_line(name, None):
            continue
        size = shape[0] * struct.calcsize("<" + code)
        if not 0 < size <= SMALL_BYTES:
            continue
        stream.seek(base + offset)
        raw = stream.read(size)
        if len(raw) == size:
            lines.append(map_or_norm_line(name, list(struct.unpack("<%d%s" % (shape[0], code), raw))))
    return "".join(lines)
