"""Files of a model on a host, brought here for a calculation: as many bytes as were allowed."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from specdoctor.app.checkpoint_reading import (
    CONFIG,
    LARGEST_CONFIG,
    header_of,
    index_of,
)
from specdoctor.app.model_files import ModelFiles
from specdoctor.core.errors import ApprovalNeeded, CheckpointError, TargetError, UsageError
from specdoctor.drafter.records.table import SUFFIXES
from specdoctor.drafter.safetensors import Tensor

FREE_BYTES = 256 << 20
PIECE_BYTES = 8 << 20
MOST_TEXTS = 32
Ask = Callable[[str], bool]
Wanted = Callable[[str], bool]
Told = Callable[[int, int], None]


class Allowance:
    """How much may be fetched: `limit` bytes in all without a question, more where `ask` is answered with yes.

    `told` hears of (bytes done, bytes of this file).
    """

    def __init__(self, limit: int = FREE_BYTES, *, ask: Ask | None = None, told: Told | None = None) -> None:
        self._left = limit
        self._ask = ask
        self.told: Told = told or (lambda done, total: None)

    def take(self, size: int, what: str) -> None:
        """Raises ApprovalNeeded for what is not allowed."""
        if size > self._left:
            words = f"{what}: {_bytes(size)} would be fetched, {_bytes(max(self._left, 0))} are allowed"
            if self._ask is None or not self._ask(words):
                raise ApprovalNeeded(
                    words, next_step=f"allow it with --fetch {size // 1_000_000 + 1}MB, or copy it here"
                )
            self._left = size
        self._left -= size


def bytes_allowed(words: str) -> int:
    """A size such as 500MB or 4GB. Raises UsageError."""
    units = {"KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}
    number, unit = words.strip()[:-2], words.strip()[-2:].upper()
    if unit not in units or not number.strip().replace(".", "", 1).isdigit():
        raise UsageError(f"--fetch {words}: this is no size", next_step="write one like 500MB or 4GB")
    return int(float(number) * units[unit])


def fetch_file(files: ModelFiles, name: str, into: Path, allowance: Allowance) -> Path:
    """One whole file of a host. Raises CheckpointError and ApprovalNeeded."""
    entry = files.entries.get(name)
    size = entry.size if entry is not None else 0
    allowance.take(size, files.full(name))
    path = into / name
    path.parent.mkdir(parents=True, exist_ok=True)
    _room(into, size)
    with path.open("wb") as file:
        for piece in _pieces(files, name, 0, size, allowance):
            file.write(piece)
    return path


def fetch_drafter(files: ModelFiles, into: Path, allowance: Allowance) -> Path:
    """A drafter's configuration, small texts and all its weights. Raises CheckpointError and ApprovalNeeded."""
    weights = files.names(".safetensors")
    if files.single or not weights:
        return into  # what is no folder with weights is told by whoever reads it
    texts = [n for n, e in files.entries.items() if n.endswith(SUFFIXES) and e.regular and e.size <= LARGEST_CONFIG]
    for name in [*texts[:MOST_TEXTS], *files.names(".safetensors.index.json"), *weights]:
        if not (into / name).exists():
            fetch_file(files, name, into, allowance)
    return into


def fetch_parts(files: ModelFiles, into: Path, allowance: Allowance, *, wanted: Wanted) -> Path:
    """Of a target its configuration and the tensors that are wanted, in one file of their own."""
    if CONFIG not in files.entries or not files.names(".safetensors"):
        return into
    (into / CONFIG).write_bytes(files.whole(CONFIG, limit=LARGEST_CONFIG))
    index = index_of(files)
    shards = sorted({shard for name, shard in index.items() if wanted(name)}) or files.names(".safetensors")
    parts: list[tuple[str, str, Tensor, int]] = []
    for shard in shards:
        tensors, base = header_of(files, shard)
        parts += [(name, shard, tensor, base) for name, tensor in tensors.items() if wanted(name)]
    _write_parts(files, parts, into / "model.safetensors", allowance)
    return into


def _write_parts(
    files: ModelFiles, parts: Sequence[tuple[str, str, Tensor, int]], path: Path, allowance: Allowance
) -> None:
    header: dict[str, object] = {}
    at = 0
    for name, _, tensor, _ in parts:
        size = tensor.end - tensor.begin
        header[name] = {"dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": [at, at + size]}
        at += size
    allowance.take(at, f"{files.label}, {len(parts)} tensors")
    _room(path.parent, at)
    raw = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(raw)) + raw)
        for _, shard, tensor, base in parts:
            for piece in _pieces(files, shard, base + tensor.begin, tensor.end - tensor.begin, allowance):
                file.write(piece)


def _pieces(files: ModelFiles, name: str, offset: int, size: int, allowance: Allowance) -> Iterator[bytes]:
    done = 0
    while done < size:
        wanted = min(PIECE_BYTES, size - done)
        piece = files.read(name, offset=offset + done, length=wanted)
        if len(piece) != wanted:
            raise CheckpointError(
                f"{files.full(name)}: {len(piece)} bytes came where {wanted} were to be read: it is being written, or "
                "cut off",
                next_step="try again when nobody writes it",
            )
        done += wanted
        allowance.told(done, size)
        yield piece


def _room(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < 2 * size:
        raise TargetError(
            f"{folder}: {_bytes(size)} would be fetched, {_bytes(free)} are free here",
            next_step="free some room, or point TMPDIR at another disk",
        )


def _bytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
