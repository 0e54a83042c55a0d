"""Stored states as files, in the layouts that are read."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from specdoctor.drafter.alone.arrays import Table
from specdoctor.drafter.alone.replay import Text
from tests.drafter.folders import Tensors, safetensors_bytes

TYPES = {"float32": "F32", "int64": "I64", "uint8": "U8", "bool": "BOOL"}


def tensor(array: Any) -> tuple[str, tuple[int, ...], bytes]:
    found = np.ascontiguousarray(array)
    return TYPES[found.dtype.name], found.shape, found.tobytes()


def named(texts: Sequence[Text], embedding: Table | None = None) -> dict[str, Any]:
    """Arrays as the export program names them."""
    arrays: dict[str, Any] = {}
    for number, text in enumerate(texts):
        arrays[f"{number}.tokens"] = text.tokens.astype(np.int64)
        arrays[f"{number}.answer"] = np.array([text.answer_at, text.answer_tokens], dtype=np.int64)
        if text.greedy is not None:
            arrays[f"{number}.greedy"] = text.greedy.astype(np.int64)
        arrays |= {f"{number}.{name}": state for name, state in text.states.items()}
    if embedding is not None:
        arrays["embed_tokens.weight"] = embedding.all()
    return arrays


def put_safetensors(path: Path, arrays: Mapping[str, Any]) -> Path:
    found: Tensors = {name: tensor(array) for name, array in arrays.items()}
    path.write_bytes(safetensors_bytes(found))
    return path


class _Named:
    """Pickles as a reference to this module and name, whether or not it can be imported here."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


class _TorchPickler(pickle._Pickler):  # type: ignore[name-defined,misc]
    """Writes what torch.save writes: storages as persistent ids, tensors as calls of _rebuild_tensor_v2."""

    def __init__(self, file: Any, blobs: list[bytes]) -> None:
        super().__init__(file, protocol=2)
        self.blobs = blobs

    def persistent_id(self, obj: Any) -> Any:
        return obj.pid if isinstance(obj, _Storage) else None

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        if isinstance(obj, _Named):
            self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
            return
        if isinstance(obj, np.ndarray):
            kind = {"float32": "FloatStorage", "int64": "LongStorage", "uint8": "ByteStorage"}[obj.dtype.name]
            stride = tuple(step // obj.itemsize for step in np.ascontiguousarray(obj).strides)
            self.blobs.append(np.ascontiguousarray(obj).tobytes())
            pid = ("storage", _Named("torch", kind), str(len(self.blobs) - 1), "cpu", obj.size)
            self.save(_Named("torch._utils", "_rebuild_tensor_v2"))
            self.save((_Storage(pid), 0, tuple(obj.shape), stride, False, {}))
            self.write(pickle.REDUCE)
            return
        super().save(obj, save_persistent_id)


class _Storage:
    def __init__(self, pid: tuple[Any, ...]) -> None:
        self.pid = pid


def torch_bytes(value: Any) -> bytes:
    """A file in torch.save's zip format, made without torch."""
    blobs: list[bytes] = []
    index = io.BytesIO()
    _TorchPickler(index, blobs).dump(value)
    return torch_zip(index.getvalue(), blobs)


def torch_zip(index: bytes, blobs: Sequence[bytes] = ()) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", index)
        archive.writestr("archive/byteorder", "little")
        for number, blob in enumerate(blobs):
            archive.writestr(f"archive/data/{number}", blob)
        archive.writestr("archive/version", "3\n")
    return out.getvalue()
