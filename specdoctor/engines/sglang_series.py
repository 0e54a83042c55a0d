"""Three fields of every Decode line of a log, as columns: for logs too long to look at line by line.

What `read_log` says of each line (clean or not, by rank, graph) is not here; it keeps the newest lines of a long log,
while these columns hold all of them.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from specdoctor.core.server import WholeLog

BLOCK_BYTES = 1 << 20
_HEAD = rb"Decode batch[.,] #running-req: \d+, #token: [1-9]\d*, token usage: [\d.]+, "
_TAIL = rb"(?:\w+ graph: \w+, )?gen throughput \(token/s\): (\d+\.\d+)"
_SPEC = re.compile(_HEAD + rb"accept len: (\d+\.\d+), accept rate: (\d+\.\d+), " + _TAIL)
_PLAIN = re.compile(_HEAD + _TAIL)


@dataclass
class DecodeSeries:
    """Values in the order of the log, of lines with living requests (`#token` above 0).

    `accept_length` (tokens/cycle, bonus token included), `accept_rate` as printed and `throughput_tok_s` are equally
    long; `plain_tok_s` are the throughputs of lines that print no acceptance.
    """

    accept_length: array[float] = field(default_factory=lambda: array("d"))
    accept_rate: array[float] = field(default_factory=lambda: array("d"))
    throughput_tok_s: array[float] = field(default_factory=lambda: array("d"))
    plain_tok_s: array[float] = field(default_factory=lambda: array("d"))

    @property
    def lines(self) -> int:
        return len(self.throughput_tok_s) + len(self.plain_tok_s)


def blocks(text: bytes, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Pieces of about `size` bytes that end with a line; small ones stay in the processor's cache."""
    at = 0
    while at < len(text):
        end = text.rfind(b"\n", at, at + size) + 1 if at + size < len(text) else len(text)
        if end <= at:  # one line longer than a block
            end = text.find(b"\n", at + size) + 1 or len(text)
        yield text[at:end]
        at = end


def decode_series(pieces: Iterable[bytes]) -> DecodeSeries:
    """The columns of a log given in pieces that end with a line (see `blocks`)."""
    found = DecodeSeries()
    for piece in pieces:
        rows = _SPEC.findall(piece)
        values = array("d", map(float, chain.from_iterable(rows)))
        found.accept_length.extend(values[0::3])
        found.accept_rate.extend(values[1::3])
        found.throughput_tok_s.extend(values[2::3])
        if len(rows) < piece.count(b"Decode batch"):
            found.plain_tok_s.extend(map(float, _PLAIN.findall(piece)))
    return found


def whole_log(text: bytes) -> WholeLog:
    """Means over all Decode lines of a log."""
    found = decode_series(blocks(text))
    lengths = found.accept_length
    speeds = found.throughput_tok_s or found.plain_tok_s
    return WholeLog(
        lines=found.lines,
        accept_length=sum(lengths) / len(lengths) if lengths else None,
        throughput_tok_s=sum(speeds) / len(speeds) if speeds else None,
    )
