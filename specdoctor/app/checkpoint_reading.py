"""A checkpoint from its files: configuration, headers, the small tensors that a check looks into; never the weights."""

from __future__ import annotations

import re
import struct
from typing import Any

from specdoctor.app.model_files import ModelFiles
from specdoctor.core.errors import CheckpointError
from specdoctor.drafter.checkpoint import Checkpoint
from specdoctor.drafter.config_numbers import checked
from specdoctor.drafter.gguf import FIRST_BYTES, GgufHeader, NeedMore, parse_gguf
from specdoctor.drafter.gguf import LARGEST_HEADER_BYTES as LARGEST_GGUF_HEADER
from specdoctor.drafter.gguf_config import TEMPLATE, config_of, vocabulary_of
from specdoctor.drafter.json_text import json_object
from specdoctor.drafter.records.table import LARGEST_BYTES as LARGEST_RECORD
from specdoctor.drafter.records.table import SUFFIXES
from specdoctor.drafter.safetensors import PREFIX_BYTES, Tensor, header_length, parse_header
from specdoctor.drafter.vocabulary import Vocabulary, tokenizer_json

CONFIG = "config.json"
TOKENIZER = "tokenizer.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
TEMPLATE_FILE = "chat_template.jinja"
LARGEST_CONFIG = 4 << 20
LARGEST_INDEX = 32 << 20
LARGEST_TOKENIZER = 32 << 20
LARGEST_SMALL = 4 << 20
MOST_RECORDS = 24
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_NORM = re.compile(r"norm[\w.]*\.weight$|^output_norm\.weight$")
_INTEGERS = {"I64": "q", "I32": "i", "I16": "h", "I8": "b", "U8": "B", "BOOL": "B"}
_NOT_RECORDS = (CONFIG, TOKENIZER, TOKENIZER_CONFIG, "generation_config.json", "special_tokens_map.json")


def read_drafter(files: ModelFiles) -> Checkpoint:
    """Everything that is judged of a drafter: all its headers, maps and norms, and texts that may be records.

    Raises CheckpointError for files that are missing, pickled, cut off or damaged.
    """
    if (name := _gguf_name(files)) is not None:
        return _from_gguf(files, name)
    config, text = _config(files)
    weights = files.names(".safetensors")
    if not weights:
        raise _no_weights(files)
    tensors, places = _all_headers(files, weights)
    vocabulary = _vocabulary(files)
    template = _template(files)
    texts = {files.full(CONFIG): text, **_records(files)}
    return Checkpoint(
        folder=files.label,
        path=files.path,
        config_file=files.full(CONFIG),
        config=config,
        tensors=tensors,
        tensor_files={name: files.full(place) for name, place in places.items()},
        small=_small(files, tensors, places, _base(files, set(places.values()))),
        vocabulary=vocabulary,
        template=template,
        texts=texts,
    )


def read_target(files: ModelFiles, *, tokens: bool) -> Checkpoint:
    """What is asked of a target: its configuration and chat template, with `tokens` also its vocabulary.

    Its weights are not looked at: their headers alone can be tens of megabytes.
    """
    if (name := _gguf_name(files)) is not None:
        return _from_gguf(files, name)
    config, text = _config(files)
    return Checkpoint(
        folder=files.label,
        path=files.path,
        config_file=files.full(CONFIG),
        config=config,
        vocabulary=_vocabulary(files) if tokens else None,
        template=_template(files),
        texts={files.full(CONFIG): text},
    )


def _gguf_name(files: ModelFiles) -> str | None:
    """The GGUF file to read: the one named, or the one in a folder that is no other checkpoint."""
    if files.single:
        name = next(iter(files.entries), "")
        if name.endswith(PICKLES):
            raise _pickled(files.full(name))
        if not name.endswith(".gguf"):
            raise CheckpointError(
                f"{files.label}: a file, and no GGUF file", next_step="give the folder that holds config.json"
            )
        return name
    found = files.names(".gguf")
    if CONFIG in files.entries or not found:
        return None
    if len(found) > 1:
        raise CheckpointError(
            f"{files.label}: it holds {len(found)} GGUF files", next_step=f"name one: {files.full(found[0])}"
        )
    return found[0]


def _config(files: ModelFiles) -> tuple[dict[str, Any], str]:
    if CONFIG not in files.entries:
        raise CheckpointError(
            f"{files.label}: there is no config.json in it", next_step="give the folder that holds config.json"
        )
    raw = files.whole(CONFIG, limit=LARGEST_CONFIG)
    config = json_object(raw, files.full(CONFIG))
    checked(config, files.full(CONFIG))
    return config, raw.decode("utf-8", errors="replace")


def _no_weights(files: ModelFiles) -> CheckpointError:
    pickled = files.names(*PICKLES)
    if pickled:
        return _pickled(files.full(pickled[0]))
    return CheckpointError(
        f"{files.label}: there is no .safetensors file in it", next_step="give the folder that holds the weights"
    )


def _pickled(place: str) -> CheckpointError:
    return CheckpointError(
        f"{place}: a pickled checkpoint; it is not opened, since opening a pickle runs what is in it",
        next_step="convert it to safetensors where it was made (safetensors.torch.save_file)",
    )


def header_of(files: ModelFiles, name: str) -> tuple[dict[str, Tensor], int]:
    """The tensors of one file, and where its data begin."""
    place = files.full(name)
    length = header_length(files.read(name, length=PREFIX_BYTES), place)
    raw = files.read(name, offset=PREFIX_BYTES, length=length)
    data = max(files.entries[name].size - PREFIX_BYTES - length, 0)
    return parse_header(raw, place, length=length, data_bytes=data), PREFIX_BYTES + length


def _all_headers(files: ModelFiles, weights: list[str]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors of all shards, and the file of each. Raises CheckpointError for a shard that the index names in vain."""
    index = index_of(files)
    missing = sorted(set(index.values()) - set(weights))
    if missing:
        raise CheckpointError(
            f"{files.label}: the index names {missing[0]!r}, which is not there ({len(missing)} missing)",
            next_step="fetch the missing shards",
        )
    tensors: dict[str, Tensor] = {}
    places: dict[str, str] = {}
    for name in sorted(set(index.values())) or weights:
        found, _ = header_of(files, name)
        tensors.update(found)
        places.update(dict.fromkeys(found, name))
    return tensors, places


def index_of(files: ModelFiles) -> dict[str, str]:
    """Tensor -> shard by the index file; empty where there is none."""
    names = files.names(".safetensors.index.json")
    if not names:
        return {}
    found = json_object(files.whole(names[0], limit=LARGEST_INDEX), files.full(names[0])).get("weight_map")
    if not isinstance(found, dict) or not all(isinstance(v, str) and "/" not in v for v in found.values()):
        raise CheckpointError(f"{files.full(names[0])}: it holds no weight_map", next_step="re-export the checkpoint")
    return {str(k): str(v) for k, v in found.items()}


def _base(files: ModelFiles, names: set[str]) -> dict[str, int]:
    """Where the data of each file begin."""
    return {n: PREFIX_BYTES + int.from_bytes(files.read(n, length=PREFIX_BYTES), "little") for n in names}


def _small(
    files: ModelFiles, tensors: dict[str, Tensor], places: dict[str, str], base: dict[str, int]
) -> dict[str, tuple[float, ...]]:
    """Values of the vocabulary maps, and of the norms."""
    found: dict[str, tuple[float, ...]] = {}
    for name, tensor in tensors.items():
        size = tensor.end - tensor.begin
        wanted = name.rsplit(".", 1)[-1] in ("d2t", "t2d") or (_NORM.search(name) and len(tensor.shape) == 1)
        if not wanted or not 0 < size <= LARGEST_SMALL:
            continue
        raw = files.read(places[name], offset=base[places[name]] + tensor.begin, length=size)
        values = numbers(raw, tensor.dtype)
        if values is not None:
            found[name] = values
    return found


def numbers(raw: bytes, dtype: str) -> tuple[float, ...] | None:
    """The values of a small tensor; None for a type that is not read."""
    if dtype in _INTEGERS:
        code = _INTEGERS[dtype]
        return struct.unpack(f"<{len(raw) // struct.calcsize(code)}{code}", raw)
    if dtype == "BF16":
        halves = struct.unpack(f"<{len(raw) // 2}H", raw)
        return struct.unpack(f"<{len(halves)}f", struct.pack(f"<{len(halves)}I", *(half << 16 for half in halves)))
    if dtype in ("F32", "F16"):
        code, width = ("f", 4) if dtype == "F32" else ("e", 2)
        return struct.unpack(f"<{len(raw) // width}{code}", raw)
    return None


def _vocabulary(files: ModelFiles) -> Vocabulary | None:
    entry = files.entries.get(TOKENIZER)
    if entry is None or not entry.regular or entry.size > LARGEST_TOKENIZER:
        return None
    return tokenizer_json(files.read(TOKENIZER, length=LARGEST_TOKENIZER), files.full(TOKENIZER))


def _template(files: ModelFiles) -> str | None:
    if TEMPLATE_FILE in files.entries:
        return files.whole(TEMPLATE_FILE, limit=LARGEST_CONFIG).decode("utf-8", errors="replace")
    if TOKENIZER_CONFIG not in files.entries:
        return None
    raw = files.whole(TOKENIZER_CONFIG, limit=LARGEST_CONFIG)
    found = json_object(raw, files.full(TOKENIZER_CONFIG)).get("chat_template")
    return found if isinstance(found, str) else None


def _records(files: ModelFiles) -> dict[str, str]:
    """Small texts that lie with a drafter and may say what it was trained on."""
    names = [
        name
        for name, entry in files.entries.items()
        if name.endswith(SUFFIXES)
        and name not in _NOT_RECORDS
        and not name.endswith(".index.json")
        and entry.regular
        and entry.size <= LARGEST_RECORD
    ]
    texts = {n: files.read(n, length=LARGEST_RECORD).decode("utf-8", errors="replace") for n in names[:MOST_RECORDS]}
    return {files.full(name): text for name, text in texts.items()}


def _from_gguf(files: ModelFiles, name: str) -> Checkpoint:
    place = files.full(name)
    header = _gguf_header(files, name)
    config = config_of(header)
    checked(config, place)
    template = header.metadata.get(TEMPLATE)
    base = {name: header.data_at}
    end = max((tensor.end for tensor in header.tensors.values()), default=0)
    if files.entries[name].size < header.data_at + end:
        raise CheckpointError(
            f"{place}: cut off: its header describes {end} bytes of tensors, "
            f"{max(files.entries[name].size - header.data_at, 0)} are there",
            next_step="fetch or convert it again",
        )
    places = dict.fromkeys(header.tensors, name)
    return Checkpoint(
        folder=files.label,
        path=files.path,
        config_file=place,
        config=config,
        format="gguf",
        tensors=header.tensors,
        tensor_files=dict.fromkeys(header.tensors, place),
        small=_small(files, header.tensors, places, base) if config.get("model_type") == "eagle3" else {},
        vocabulary=vocabulary_of(header, place),
        template=template if isinstance(template, str) else None,
        texts=_records(files) if not files.single else {},
    )


def _gguf_header(files: ModelFiles, name: str) -> GgufHeader:
    """The header, read in growing pieces until it ends."""
    place = files.full(name)
    wanted = FIRST_BYTES
    raw = b""
    while True:
        raw += files.read(name, offset=len(raw), length=wanted - len(raw))
        try:
            return parse_gguf(raw, place)
        except NeedMore:
            if len(raw) < wanted:
                raise CheckpointError(
                    f"{place}: cut off within its header ({len(raw)} bytes are there)", next_step="fetch it again"
                ) from None
            if wanted >= LARGEST_GGUF_HEADER:
                raise CheckpointError(
                    f"{place}: its header does not end within {LARGEST_GGUF_HEADER} bytes: damaged, or no checkpoint",
                    next_step="convert it again",
                ) from None
            wanted = min(wanted * 4, LARGEST_GGUF_HEADER)
