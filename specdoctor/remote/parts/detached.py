"""A process that outlives whoever started it: a session of its own, nothing of the connection left open."""

import contextlib
import os
import signal
from typing import Callable, Sequence

Ready = Callable[[], None]


def detached(work: Callable[[Ready], None], keep: Sequence[int] = ()) -> bool:
    """Fork `work` away and return once it has called the function it is given; False if it ended before that.

    It has no terminal, no standard streams, no descriptor but those in `keep`, and belongs to no process group or
    session of the connection: neither the hang-up of a shell nor a signal to the connection's group reaches it.
    """
    ready, tell = os.pipe()
    first = os.fork()
    if first:
        os.waitpid(first, 0)
        os.close(tell)
        began = os.read(ready, 1) == b"."
        os.close(ready)
        return began
    try:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            null = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(null, number)
            _close_all_but({0, 1, 2, tell, *keep})
            work(lambda: _announce(tell))
    finally:
        os._exit(0)


def _close_all_but(keep: "set[int]") -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in keep:
            try:
                os.close(int(name))
            except OSError:
                continue  # the descriptor with which the folder was listed


def _announce(tell: int) -> None:
    """Tell whoever waits; one who was killed meanwhile does not take the work down with him."""
    with contextlib.suppress(OSError):
        os.write(tell, b".")
    os.close(tell)
