"""Three fields of every Decode line of a log, as columns: for logs too long to look at line by line.

What `read_log` says of each line (clean or not, by rank, graph) is not here; it keeps the newest lines of a long log,
while these columns hold all of them.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from specdoctor.core.server import WholeLog
from specdoctor.engines.sglang_columns import MARK, PLAIN, SPEC, Piece, Taken

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

    def take(self, piece: bytes) -> None:
        """Add the lines of a piece that ends with one: those of the usual layout together, others by pattern."""
        if MARK not in piece:
            return
        import numpy as np

        read = Piece(piece)
        everything = np.arange(len(read.marks))
        spec = read.take(SPEC, everything)
        left = np.setdiff1d(everything, spec.which, assume_unique=True)
        plain = read.take(PLAIN, left)
        others: dict[int, list[float]] = {}
        for number in np.setdiff1d(left, plain.which, assume_unique=True).tolist():
            match = _SPEC.match(piece, at := int(read.marks[number])) or _PLAIN.match(piece, at)
            if match is not None:
                others[number] = [float(value) for value in match.groups()]
        self._add((self.accept_length, self.accept_rate, self.throughput_tok_s), spec, others)
        self._add((self.plain_tok_s,), plain, others)

    def _add(self, columns: tuple[array[float], ...], taken: Taken, others: dict[int, list[float]]) -> None:
        """Put values that were read both ways into their columns, in the order of the log."""
        import numpy as np

        rows = {number: values for number, values in others.items() if len(values) == len(columns)}
        order = np.argsort(np.concatenate((taken.which, np.array(list(rows), np.int64)))) if rows else None
        for n, column in enumerate(columns):
            values = taken.values[n]
            if order is not None:
                values = np.concatenate((values, np.array([row[n] for row in rows.values()])))[order]
            column.frombytes(values.astype(np.float64).tobytes())

    def means(self) -> WholeLog:
        """Plain means over all lines."""
        speeds = self.throughput_tok_s or self.plain_tok_s
        return WholeLog(
            lines=self.lines,
            accept_length=sum(self.accept_length) / len(self.accept_length) if self.accept_length else None,
            throughput_tok_s=sum(speeds) / len(speeds) if speeds else None,
        )


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
        found.take(piece)
    return found


def whole_log(text: bytes) -> WholeLog:
    """Means over all Decode lines of a log."""
    return decode_series(blocks(text)).means()
