"""Bearing a link that breaks and a host that is too busy: what can be asked twice is asked again, within bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from specdoctor.core.errors import CommandTimeout, ConnectionLost, HostUnreachable
from specdoctor.core.operations import Clock, OnProgress, Progress

LINK_PATIENCE_S = 600.0
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 15.0
TIME_OUTS_BORNE = 3
"""In a row, of short commands: a host that works at its limit answers late; one that hangs does not answer at all."""

Answer = TypeVar("Answer")


def unseen(progress: Progress) -> None:
    """For those who show no progress."""


@dataclass(frozen=True)
class Patience:
    """A link is tried again with growing pauses, for at most `limit_s` from its first loss; a command that did not end
    in time is given again `time_outs` times.
    """

    clock: Clock
    limit_s: float = LINK_PATIENCE_S

    def bear(
        self,
        ask: Callable[[], Answer],
        *,
        again: Callable[[], Answer] | None = None,
        on_progress: OnProgress = unseen,
        time_outs: int = TIME_OUTS_BORNE,
    ) -> Answer:
        """What `ask` answers; after a loss `again` (else the same) is asked, which must find out what happened first.

        Raises the last ConnectionLost or HostUnreachable when the time is over, CommandTimeout when those are used up.
        """
        since: float | None = None
        pause_s, left, asked = FIRST_PAUSE_S, time_outs, False
        while True:
            try:
                first, asked = not asked, True
                return ask() if first or again is None else again()
            except CommandTimeout:
                if not left:
                    raise
                left -= 1
                on_progress(Progress(phase="the host is slow to answer; asking again"))
            except (ConnectionLost, HostUnreachable):
                now = self.clock.now()
                since = now if since is None else since
                if now - since + pause_s > self.limit_s:
                    raise
                phase = "the connection is lost; the host goes on by itself; trying again"
                on_progress(Progress(phase=phase, done=round(now - since), total=round(self.limit_s), unit="s"))
            self.clock.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
