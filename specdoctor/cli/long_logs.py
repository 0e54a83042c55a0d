"""A long log in little memory: its beginning and its end whole, of what is between the telling lines and a sample.

Dropped lines are left empty, so that every line keeps its number.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

WHOLE_BYTES = 24 << 20
"""A text up to this is read as it is."""
HEAD_BYTES = 1 << 20
TAIL_BYTES = 2 << 20
CHUNK_BYTES = 1 << 20
STRIDE_BYTES = 64 << 10
"""Of each stretch of this length one run of statistics lines is kept."""
RUN_LINES = 3
MOST_MARKED = 2000
LONGEST_LINE = 64 << 10
"""Of a longer line in the middle nothing is kept."""
_SAMPLED = (b"Decode batch", b"Avg generation throughput", b"draft acceptance", b"eval time =")
_TELLING = (
    (b"server_args=", b"="), (b"Initializing a V1 LLM", b"V"), (b"fired up and ready", b"!"), (b"Traceback (", b""),
    (b"hutdown", b"hut"), (b"hutting down", b"hut"), (b"ut of memory", b"y"), (b"ERROR", b"E"), (b"Retract", b"R"),
)  # fmt: skip
"""What marks a telling line, and a part of it that most pieces do not have: one letter is looked for much faster."""


class LongText:
    """What was kept of a text: `text`, its whole length, and in words what was left out ("" where nothing was)."""

    def __init__(self, text: bytes, *, total: int, kept: int) -> None:
        self.text = text
        self.total = total
        self.left_out = ""
        if kept < total:
            self.left_out = (
                f"{total >> 20} MiB long: the first {HEAD_BYTES >> 20} and the last {TAIL_BYTES >> 20} MiB were read, "
                "of what is between errors, starts and a sample of the statistics"
            )


def gathered(chunks: Iterable[bytes], *, watch: Callable[[bytes], None] | None = None) -> LongText:
    """All of a text from its pieces, thinned beyond `WHOLE_BYTES` while it is read.

    Of a text that is thinned `watch` gets everything, in pieces that end with a line where there is an end.
    """
    whole: list[bytes] = []
    total = 0
    feed = iter(chunks)
    for chunk in feed:
        whole.append(chunk)
        total += len(chunk)
        if total > WHOLE_BYTES:
            return _thinned(b"".join(whole), feed, watch or _nobody)
    return LongText(b"".join(whole), total=total, kept=total)


def _nobody(piece: bytes) -> None:
    """Watches nothing."""


def _thinned(begun: bytes, feed: Iterator[bytes], watch: Callable[[bytes], None]) -> LongText:
    cut = begun.rfind(b"\n", 0, HEAD_BYTES) + 1 or HEAD_BYTES
    out = [begun[:cut]]
    watch(begun[:cut])
    total, marked = len(begun), 0
    waiting = deque(_pieces(begun[cut:]))
    held = len(begun) - cut
    for chunk in feed:
        total += len(chunk)
        waiting.append(chunk)
        held += len(chunk)
        while held - len(waiting[0]) > TAIL_BYTES:
            piece, held = _whole_lines(waiting, held)
            watch(piece)
            thin, found = _thin(piece, MOST_MARKED - marked)
            marked += found
            out.append(thin)
    while held > TAIL_BYTES and len(waiting) > 1:
        piece, held = _whole_lines(waiting, held)
        watch(piece)
        thin, found = _thin(piece, MOST_MARKED - marked)
        marked += found
        out.append(thin)
    rest = b"".join(waiting)
    watch(rest)
    return LongText(b"".join((*out, rest)), total=total, kept=0)


def _pieces(text: bytes) -> Iterator[bytes]:
    for start in range(0, len(text), CHUNK_BYTES):
        yield text[start : start + CHUNK_BYTES]


def _whole_lines(waiting: deque[bytes], held: int) -> tuple[bytes, int]:
    """The oldest piece up to its last line's end; the rest joins the next piece."""
    piece = waiting.popleft()
    cut = piece.rfind(b"\n") + 1
    if cut and waiting:
        waiting[0] = piece[cut:] + waiting[0]
        return piece[:cut], held - cut
    return piece, held - len(piece)


def _thin(piece: bytes, room: int) -> tuple[bytes, int]:
    """A piece with all but its telling lines and a sample left empty, and how many telling lines it had."""
    telling: set[int] = set()
    there = {part: part in piece for _, part in _TELLING}
    for mark, part in _TELLING:
        at = piece.find(mark) if there[part] else -1
        while at >= 0 and len(telling) < room:
            telling.add(piece.rfind(b"\n", 0, at) + 1)
            at = piece.find(mark, piece.find(b"\n", at) + 1 or len(piece))
    starts = telling | {start for at in range(0, len(piece), STRIDE_BYTES) for start in _run(piece, at)}
    out: list[bytes] = []
    done = 0
    for start in sorted(starts):
        end = piece.find(b"\n", start) + 1 or len(piece)
        if start < done or end - start > LONGEST_LINE:
            continue
        out += [b"\n" * piece.count(b"\n", done, start), piece[start:end]]
        done = end
    out.append(b"\n" * piece.count(b"\n", done))
    return b"".join(out), len(telling)


def _run(piece: bytes, at: int) -> list[int]:
    """Where the lines of the first statistics after `at` begin, the few after it included."""
    found = next((p for mark in _SAMPLED if (p := piece.find(mark, at, at + STRIDE_BYTES)) >= 0), None)
    if found is None:
        return []
    starts = [piece.rfind(b"\n", 0, found) + 1]
    for _ in range(RUN_LINES - 1):
        end = piece.find(b"\n", starts[-1]) + 1
        if not end:
            break
        starts.append(end)
    return [start for start in starts if start < len(piece)]
