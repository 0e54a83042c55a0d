"""Model folders on disk: config.json and safetensors whose headers are true and whose data are mostly holes.

A folder's weights are recognised by the checkpoint mark in their header, so a copy (or a folder of links) with an
edited config.json is the same checkpoint under other settings.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from specdoctor.lab.drafting import CALCULATED, drafting_data, said_by, stored_states
from specdoctor.lab.tensor_layouts import Tensor, layout_tensors
from specdoctor.lab.world import Model, World

_SIZES = {"BF16": 2, "F16": 2, "F32": 4, "I64": 8, "I32": 4, "U8": 1, "BOOL": 1, "F8_E4M3": 1}
_NOISE_LIMIT_BYTES = 8 << 20
_NOISE_BLOCK_BYTES = 257 << 10
_SIGNED_SMALL = bytes(0x3C | (byte & 0x80) for byte in range(256))
_MARK = "checkpoint"


def checkpoint_mark(world: World, model: Model) -> str:
    """Name of a checkpoint's content, the same in every copy of its files."""
    return hashlib.sha256(f"{world.name}/{model.id}".encode()).hexdigest()[:16]


def model_tensors(model: Model) -> tuple[Tensor, ...]:
    """All tensors of a model: those of its layout, replaced and completed by the ones it lists, without some."""
    listed = {one.name: Tensor(one.name, one.shape, one.dtype, one.fill) for one in model.tensors}
    found = [listed.pop(tensor.name, tensor) for tensor in layout_tensors(model)]
    return tuple(tensor for tensor in (*found, *listed.values()) if tensor.name not in model.without)


def drafts_lead_astray(model: Model) -> bool:
    """Whether a head's own choice is lost: no `lm_head`, or no map from a reduced vocabulary to the target's."""
    tensors = {tensor.name: tensor for tensor in model_tensors(model)}
    if model.kind != "eagle3" or not tensors:
        return False
    drafted = model.config.get("draft_vocab_size")
    if drafted is None or int(drafted) == int(model.config.get("vocab_size", 0)):
        return False
    return "lm_head.weight" not in tensors or "d2t" not in tensors or tensors["d2t"].fill == "zeros"


def write_models(world: World, root: Path) -> dict[str, Path]:
    """Write every model folder of a world below `root` (which stands for `{models}`); model id -> folder."""
    folders = {}
    for model in world.models:
        folder = Path(world.expand(model.path, models=str(root)))
        write_model(world, model, folder)
        folders[model.id] = folder
    return folders


def write_model(world: World, model: Model, folder: Path) -> None:
    """Write one model folder: config, further text files, weights."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(model.config, indent=2) + "\n", encoding="utf-8")
    for name, text in model.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if model.stored_states is not None:
        path = folder / model.stored_states
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(stored_states(world, model))
    tensors = model_tensors(model)
    if not tensors:
        return
    mark = checkpoint_mark(world, model)
    if model.shards <= 1:
        _write_file(folder / "model.safetensors", tensors, mark, model)
        return
    weight_map: dict[str, str] = {}
    total = 0
    for number, shard in enumerate(_split(tensors, model.shards), start=1):
        name = f"model-{number:05d}-of-{model.shards:05d}.safetensors"
        total += _write_file(folder / name, shard, mark, model)
        weight_map |= {tensor.name: name for tensor in shard}
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")


def _split(tensors: Sequence[Tensor], shards: int) -> Iterator[Sequence[Tensor]]:
    for number in range(shards):
        yield tensors[len(tensors) * number // shards : len(tensors) * (number + 1) // shards]


def _bytes(tensor: Tensor) -> int:
    return math.prod(tensor.shape) * _SIZES[tensor.dtype]


_whole: dict[str, bytes] = {}


def weights_bytes(world: World, model: Model) -> bytes:
    """The one weights file of a small model, as `write_model` writes it; made once for each content."""
    mark = checkpoint_mark(world, model)
    key = f"{mark} {model.model_dump_json(include={'config', 'tensors', 'without'})}"
    if key not in _whole:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.safetensors"
            _write_file(path, model_tensors(model), mark, model)
            _whole[key] = path.read_bytes()
    return _whole[key]


def _write_file(path: Path, tensors: Sequence[Tensor], mark: str, model: Model) -> int:
    header: dict[str, Any] = {"__metadata__": {"format": "pt", _MARK: mark}}
    offset = 0
    for tensor in tensors:
        end = offset + _bytes(tensor)
        header[tensor.name] = {"dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        begin = file.tell()
        file.truncate(begin + offset)
        for tensor in tensors:
            if tensor.fill != "zeros" or _calculated(tensor, model):
                file.seek(begin + header[tensor.name]["data_offsets"][0])
                file.write(tensor_data(tensor, model))
    return offset


def tensor_data(tensor: Tensor, model: Model) -> bytes:
    """What stands in the file for one tensor: all of a small one, the beginning of a large one with noise in it."""
    if _calculated(tensor, model):
        return drafting_data(tensor, model)
    if tensor.fill == "zeros":
        return bytes(min(_bytes(tensor), _NOISE_LIMIT_BYTES))
    if tensor.fill in {"d2t", "t2d"}:
        return _vocabulary_map(tensor, model)
    row = max(_bytes(tensor) // max(tensor.shape[0], 1), 1)
    size = max(min(_bytes(tensor), _NOISE_LIMIT_BYTES) // row, 1) * row
    rng = random.Random(f"{model.id}:{tensor.name}")
    # bfloat16 values of both signs around 0.01: the upper byte holds the sign and most of the exponent.
    block = bytearray(_NOISE_BLOCK_BYTES)
    block[0::2] = rng.randbytes(_NOISE_BLOCK_BYTES // 2)
    block[1::2] = rng.randbytes(_NOISE_BLOCK_BYTES // 2).translate(_SIGNED_SMALL)
    return bytes(block * (size // len(block) + 1))[:size]


def _calculated(tensor: Tensor, model: Model) -> bool:
    return model.stored_states is not None and tensor.name in CALCULATED


def _vocabulary_map(tensor: Tensor, model: Model) -> bytes:
    vocabulary = int(model.config.get("vocab_size", 0))
    drafted = int(model.config.get("draft_vocab_size") or vocabulary)
    spread = [index * vocabulary // drafted for index in range(drafted)]
    kept = said_by(model) if model.stored_states is not None else spread
    if tensor.fill == "d2t":
        return struct.pack(f"<{drafted}q", *(target - index for index, target in enumerate(kept)))
    flags = bytearray(vocabulary)
    for target in kept:
        flags[target] = 1
    return bytes(flags)


class ModelFolders(Mapping[str, Model]):
    """What lies in model folders right now, by path: looks at the disk whenever it is asked."""

    def __init__(self, root: Path, world: World) -> None:
        self._root = root
        self._known = {checkpoint_mark(world, model): model for model in world.models}

    def __getitem__(self, path: str) -> Model:
        folder = Path(path)
        found = self._read(folder)
        if found is None:
            raise KeyError(path)
        return found

    def __iter__(self) -> Iterator[str]:
        folders = sorted(path.parent for path in self._root.glob("**/config.json"))
        return (str(folder) for folder in folders if self._read(folder) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _read(self, folder: Path) -> Model | None:
        try:
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            weights = sorted(folder.glob("*.safetensors"))
            mark = read_mark(weights[0]) if weights else None
        except (OSError, ValueError):
            return None
        model = self._known.get(mark or "")
        if model is None or not isinstance(config, dict):
            return None
        return model.model_copy(update={"config": config, "path": str(folder)})


def read_mark(path: Path) -> str | None:
    """The checkpoint mark in a safetensors header; None without one. Raises OSError and ValueError."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > 100 << 20:
            raise ValueError(f"{path}: not a safetensors file")
        header = json.loads(file.read(size))
    mark = header.get("__metadata__", {}).get(_MARK)
    return str(mark) if mark is not None else None


def scan_models(root: Path, world: World) -> ModelFolders:
    """The model folders that a start on this host can see, for `engine_core.resolve`."""
    return ModelFolders(root, world)
