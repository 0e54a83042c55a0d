"""What the decode lines of a log measured at one number of running requests, all by one estimator.

All tokens over all time, all tokens over all forwards, all time over all forwards: pooled alike, so that tokens per
second = accept length / step holds between them. Medians of each would be sturdier and would not multiply.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence

from specdoctor.core.model import Frozen
from specdoctor.core.server import DecodeWindow, ServerView

ENOUGH_LINES = 3
"""Lines from which a number of running requests counts as one that was served, not passed through."""
PAUSE = 4.0
"""A line whose step is this many times the median one holds a pause (a compilation, a stop), and is left out."""


class LoggedFigures(Frozen):
    """Speed of all requests together, tokens of one request per forward (None where no line says), and ms of a forward.

    `lines` were pooled and `paused` were left out; `line` is one of them, for a citation, `acceptance_line` the one
    that shows its accept length.
    """

    running: int
    lines: int
    paused: int
    throughput_tok_s: float
    accept_length: float | None
    step_ms: float
    line: int
    acceptance_line: int

    @property
    def estimator(self) -> str:
        """How the figures were got, in words."""
        line = "line" if self.lines == 1 else "lines"
        request = "request" if self.running == 1 else "requests"
        aside = f", {self.paused} with a pause left out" if self.paused else ""
        return f"pooled over {self.lines} clean decode {line} at {self.running} running {request}{aside}"


def living(view: ServerView) -> tuple[DecodeWindow, ...]:
    """Lines that show requests under way."""
    found = view.log.decode if view.log is not None else ()
    return tuple(w for w in found if w.running > 0 and w.tokens != 0 and w.throughput_tok_s > 0)


def usual(windows: Sequence[DecodeWindow]) -> int | None:
    """The number of running requests that most lines show; None without lines."""
    return Counter(w.running for w in windows).most_common(1)[0][0] if windows else None


def served(windows: Sequence[DecodeWindow]) -> tuple[int, ...]:
    """Numbers of running requests that lines enough show, the usual one in any case; the fewest first."""
    counts = Counter(w.running for w in windows)
    most = usual(windows)
    return tuple(sorted(n for n, lines in counts.items() if lines >= ENOUGH_LINES or n == most))


def changing(windows: Sequence[DecodeWindow]) -> frozenset[int]:
    """Lines whose interval began with another number of running requests than it ended with."""
    before: dict[str, int] = {}
    found: set[int] = set()
    for window in windows:
        if before.get(window.rank, window.running) != window.running:
            found.add(window.line)
        before[window.rank] = window.running
    return frozenset(found)


def figures_at(
    windows: Sequence[DecodeWindow], running: int, *, changed: frozenset[int] = frozenset()
) -> LoggedFigures | None:
    """Figures of the lines at that number of running requests; None where there is none.

    Lines that `changed` are left out where enough others remain. Where no line shows drafts, a forward is one token.
    """
    same = [w for w in windows if w.running == running and w.throughput_tok_s > 0]
    lasted = [w for w in same if w.line not in changed]
    same = lasted if len(lasted) >= ENOUGH_LINES else same
    told = [w for w in same if w.accept_length is not None]
    kept = told or same
    steps = [_step_s(w) for w in kept]
    middle = statistics.median(steps) if steps else 0.0
    lasting = [w for w, step in zip(kept, steps, strict=True) if step <= PAUSE * middle]
    if not lasting:
        return None
    forwards = _forwards(lasting)
    total = sum(forwards)
    tokens = sum(n * (w.accept_length or 1.0) for w, n in zip(lasting, forwards, strict=True))
    seconds = sum(n * _step_s(w) for w, n in zip(lasting, forwards, strict=True))
    if not (0.0 < seconds < math.inf and 0.0 < tokens < math.inf):
        return None
    one = lasting[len(lasting) // 2]
    return LoggedFigures(
        running=running,
        lines=len(lasting),
        paused=len(kept) - len(lasting),
        throughput_tok_s=running * tokens / seconds,
        accept_length=tokens / total if told else None,
        step_ms=1000.0 * seconds / total,
        line=one.line,
        acceptance_line=one.shows_acceptance,
    )


def _step_s(window: DecodeWindow) -> float:
    """Seconds of a forward: each request gets its accept length from it."""
    return window.running * (window.accept_length or 1.0) / window.throughput_tok_s


def _forwards(windows: Sequence[DecodeWindow]) -> list[float]:
    """Forwards of each line: as counted where every line counts its drafts, else as many in one as in another."""
    counted = [float(w.counts.drafts or 0) if w.counts is not None else 0.0 for w in windows]
    return counted if all(counted) else [1.0] * len(windows)
