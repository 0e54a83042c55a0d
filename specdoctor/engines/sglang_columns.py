"""Decode lines of the usual layout, many at once: numbers are found and converted as columns, not line by line.

A line is taken here only if every byte of it stands as the layout says; all others are left to whoever reads them by
pattern, so that both together give what the pattern alone would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Positions = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

MARK = b"Decode batch"
_FIRST = b" #running-req: "
_GRAPH = b", cuda graph: "
_HEAD = (b", #token: ", b", token usage: ")
_TAIL = (_GRAPH, b", gen throughput (token/s): ")
SPEC = (*_HEAD, b", accept len: ", b", accept rate: ", *_TAIL)
PLAIN = (*_HEAD, *_TAIL)
_WORD = 8
_ZEROS, _POINTS = 0x3030303030303030, 0x2E2E2E2E2E2E2E2E
_ONES, _HIGHS = 0x0101010101010101, 0x8080808080808080
_FIRST_COLON = len(MARK) + 1 + len(_FIRST) - 2


class Taken(NamedTuple):
    """Of the lines that were taken: which of the marks they are (by number), and their decimals, one array a field."""

    which: Positions
    values: tuple[Floats, ...]


class Piece:
    """A piece of a log; `marks` are the places where MARK stands."""

    def __init__(self, piece: bytes) -> None:
        import numpy as np

        self._np = np
        letters = np.frombuffer(piece, np.uint8)
        # Every eight bytes as one number, at every place.
        room = len(piece) + 3 * _WORD
        self._words: Any = np.ndarray((room,), dtype="<u8", buffer=piece + bytes(4 * _WORD), strides=(1,))
        capitals = np.flatnonzero(letters == MARK[0])
        self.marks: Positions = capitals[self._stands(MARK, capitals)]
        self._masks = np.array([(1 << (8 * n)) - 1 for n in range(_WORD + 1)], np.uint64)
        self._places = np.array([0x80 << (8 * n) for n in range(_WORD)], np.uint64)
        self._colons: Positions = np.flatnonzero(letters == ord(":"))

    def take(self, layout: tuple[bytes, ...], among: Positions) -> Taken:
        """The lines of one layout among the marks with these numbers: their decimals, in the order of the layout."""
        np, empty = self._np, self._np.zeros(0)
        if not len(among) or not len(self._colons):
            return Taken(among[:0], tuple(empty for name in layout if name not in (*_HEAD, _GRAPH)))
        marks = self.marks[among]
        first = np.searchsorted(self._colons, marks)
        places = np.minimum(first[:, None] + np.arange(len(layout) + 1), len(self._colons) - 1)
        colons = self._colons[places]
        good = colons[:, 0] == marks + _FIRST_COLON
        good &= self._stands(b". #running-req: ", marks + len(MARK)) | self._stands(
            b", #running-req: ", marks + len(MARK)
        )
        for n, name in enumerate(layout, start=1):
            good &= self._stands(name, np.maximum(colons[:, n] - (len(name) - 2), 0))
        among, colons = among[good], colons[good]
        starts = [colons[:, n] + 2 for n in range(len(layout) + 1)]
        ends = [colons[:, n] - (len(name) - 2) for n, name in enumerate(layout, start=1)]
        good = self._digits(starts[0], ends[0]) & self._digits(starts[1], ends[1])
        good &= self._letter(starts[1]) != ord("0")
        good &= self._hundredths(starts[2], ends[2])[1]
        values: list[Floats] = []
        for n in range(3, len(starts)):
            if layout[n - 1] == _GRAPH:
                good &= self._switch(starts[n], ends[n])
                continue
            end = ends[n] if n < len(ends) else self._end(starts[n])
            value, fits = self._hundredths(starts[n], end)
            values.append(value)
            good &= fits
        good &= self._letter(self._end(starts[-1])) == ord(",")
        return Taken(among[good], tuple(value[good] for value in values))

    def _stands(self, literal: bytes, at: Positions) -> Flags:
        """Where these bytes stand, for each place."""
        good: Flags = self._np.ones(len(at), bool)
        for start in range(0, len(literal), _WORD):
            part = literal[start : start + _WORD]
            wanted = self._np.uint64(int.from_bytes(part, "little"))
            mask = self._np.uint64((1 << (8 * len(part))) - 1)
            good &= (self._words[at + start] & mask) == wanted
        return good

    def _letter(self, at: Positions) -> Any:
        return self._words[at] & self._np.uint64(0xFF)

    def _digits(self, start: Positions, end: Positions) -> Flags:
        """Whether one to eight digits stand there, and nothing else."""
        length = end - start
        kept = self._below(length)
        found: Flags = (length >= 1) & (length <= _WORD)
        return found & self._all_digits((self._words[start] & kept) | (self._u(_ZEROS) & ~kept))

    def _switch(self, start: Positions, end: Positions) -> Flags:
        on = self._stands(b"True", start) & (end - start == 4)
        found: Flags = on | (self._stands(b"False", start) & (end - start == 5))
        return found

    def _end(self, start: Positions) -> Positions:
        """Two letters behind the first point: where a number with two decimals ends."""
        other = self._words[start] ^ self._u(_POINTS)
        zero = (other - self._u(_ONES)) & ~other & self._u(_HIGHS)
        lowest = zero & (~zero + self._u(1))
        place: Positions = start + self._np.searchsorted(self._places, lowest) + 3
        return place

    def _hundredths(self, start: Positions, end: Positions) -> tuple[Floats, Flags]:
        """Numbers with two decimals, exactly as `float` reads them, and which are that."""
        length = end - start
        fits: Flags = (length >= 4) & (length <= _WORD)
        length = self._np.clip(length, 4, _WORD)
        fits &= self._letter(start + length - 3) == ord(".")
        words, whole = self._words[start], self._below(length - 3)
        digits = (words & whole) | ((words >> self._u(8)) & ~whole & self._below(length - 1))
        shift = (8 * (_WORD + 1 - length)).astype(self._np.uint64)  # the last digit goes to the highest place
        digits = (digits << shift) | (self._u(_ZEROS) & ((self._u(1) << shift) - self._u(1)))
        fits &= self._all_digits(digits)
        pairs = digits - self._u(_ZEROS)
        pairs = (pairs * self._u(10) + (pairs >> self._u(8))) & self._u(0x00FF00FF00FF00FF)
        pairs = (pairs * self._u(100) + (pairs >> self._u(16))) & self._u(0x0000FFFF0000FFFF)
        pairs = (pairs * self._u(10000) + (pairs >> self._u(32))) & self._u(0xFFFFFFFF)
        # Both are whole numbers below 2 ** 53, so that the quotient is the nearest double, as that of `float` is.
        value: Floats = pairs.astype(self._np.float64) / 100.0
        return value, fits

    def _all_digits(self, words: Any) -> Flags:
        high = self._u(0xF0F0F0F0F0F0F0F0)
        zeros = self._u(_ZEROS)
        found: Flags = ((words & high) == zeros) & (((words + self._u(0x0606060606060606)) & high) == zeros)
        return found

    def _below(self, count: Positions) -> Any:
        """A mask of the first `count` letters of a word."""
        return self._masks[self._np.clip(count, 0, _WORD)]

    def _u(self, value: int) -> Any:
        return self._np.uint64(value)
