"""What a kept command has written: one JSON object per line, as docker's json-file driver and a journal remember it."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class Line:
    """One line of output. `at` is seconds since the epoch."""

    text: str
    stream: str
    at: float


def pump_into(path: Path, source: IO[bytes], *, stream: str) -> threading.Thread:
    """Copy lines from a pipe into the file until its end, in a thread."""
    thread = threading.Thread(target=_pump, args=(path, source, stream), daemon=True)
    thread.start()
    return thread


def _pump(path: Path, source: IO[bytes], stream: str) -> None:
    rest = b""
    with path.open("ab", buffering=0) as log:
        while True:
            try:
                piece = os.read(source.fileno(), CHUNK_BYTES)
            except OSError:  # a terminal whose last user has gone
                piece = b""
            lines = (rest + piece).split(b"\n")
            rest = lines.pop()
            if not piece and rest:
                lines.append(rest)
            now = time.time()
            texts = (line.decode("utf-8", "replace") for line in lines)
            out = "".join(json.dumps({"log": text, "stream": stream, "time": now}) + "\n" for text in texts)
            if out:
                log.write(out.encode())
            if not piece:
                return


def read_lines(path: Path, *, tail: int | None = None, since: float = 0.0) -> list[Line]:
    """The remembered lines, oldest first: the last `tail` of those written after `since`."""
    found = [line for line in _parsed(path) if line.at >= since]
    if tail is None:
        return found
    return found[-tail:] if tail > 0 else []


def _parsed(path: Path) -> Iterator[Line]:
    if not path.exists():
        return
    for raw in path.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(raw)
        except ValueError:
            continue
        yield Line(text=entry["log"], stream=entry["stream"], at=entry["time"])
