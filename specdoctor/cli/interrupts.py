"""Ctrl-C while a server may be changed: the first one puts it back, the second leaves at once."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import CodeType, FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
POSTPONED_S = 0.02
TOGETHER_S = 0.5
"""Signals this near to the first are the same wish: `timeout` and a shell whose terminal closes send theirs twice."""
_STDERR = 2


class LeftAtOnce(BaseException):
    """Somebody asked to stop once more: what the first time began is left too.

    No KeyboardInterrupt, which would be taken for the first one by whoever has not yet dealt with that.
    """


@contextmanager
def interrupts(
    *,
    first: Callable[[], str],
    then: Callable[[], str],
    whole: CodeType,
    together_s: float = TOGETHER_S,
    tell: Callable[[str], None] | None = None,
) -> Iterator[None]:
    """Raise KeyboardInterrupt for the first signal that asks to stop, LeftAtOnce for more; say what happens now.

    `first` gives the words for the first one, `then` those for any further. A signal that lands while the function
    with code `whole` runs (writing an event) is delivered right after it, so that no event is half written. What comes
    within `together_s` of the first is taken for the same one. `tell` says the words in place of standard error; it
    must bear to be called from a signal handler.
    """
    seen = 0
    first_at = 0.0

    def on_signal(number: int, frame: FrameType | None) -> None:
        nonlocal seen, first_at
        now = time.monotonic()
        if seen and now - first_at < together_s:
            return
        if _inside(frame, whole):
            signal.setitimer(signal.ITIMER_REAL, POSTPONED_S)
            return
        seen += 1
        first_at = first_at or now
        # Not print: the signal may have arrived in the middle of one. Nor may it fail: a closed terminal hangs up.
        words = first() if seen == 1 else then()
        if tell is not None:
            tell(words)
        else:
            with suppress(OSError):
                os.write(_STDERR, f"\n{words}\n".encode())
        raise KeyboardInterrupt if seen == 1 else LeftAtOnce

    # Under nohup a hang-up is ignored, and stays so.
    taken = [n for n in (*SIGNALS, signal.SIGALRM) if n != signal.SIGHUP or signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, on_signal) for number in taken}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _inside(frame: FrameType | None, code: CodeType) -> bool:
    while frame is not None:
        if frame.f_code is code:
            return True
        frame = frame.f_back
    return False
