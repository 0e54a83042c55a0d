"""Which layouts are tried, in this order."""

from __future__ import annotations

from specdoctor.drafter.dumps import named, specforge, speculators
from specdoctor.drafter.dumps.dump import Dump, Reader, Stored

READERS: tuple[Reader, ...] = (named.read, specforge.read, speculators.read)
SUFFIXES = (".safetensors", ".npz", ".pt", ".ckpt")


def read_dump(stored: Stored) -> Dump:
    """The sequences of one file. Raises CheckpointError when no layout is recognised, or its arrays disagree."""
    for reader in READERS:
        if (found := reader(stored)) is not None:
            return found
    names = ", ".join(sorted(stored.arrays)[:8]) or "nothing"
    raise stored.fault(f"stored states of no known layout (it holds {names})")
