"""Bearing a link that breaks: what can be asked twice is asked again until the link is back, for a bounded time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from specdoctor.core.errors import ConnectionLost, HostUnreachable
from specdoctor.core.operations import Clock, OnProgress, Progress

LINK_PATIENCE_S = 600.0
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 15.0

Answer = TypeVar("Answer")


def unseen(progress: Progress) -> None:
    """For those who show no progress."""


@dataclass(frozen=True)
class Patience:
    """A link is tried again with growing pauses, for at most `limit_s` from its first loss."""

    clock: Clock
    limit_s: float = LINK_PATIENCE_S

    def bear(
        self,
        ask: Callable[[], Answer],
        *,
        again: Callable[[], Answer] | None = None,
        on_progress: OnProgress = unseen,
    ) -> Answer:
        """What `ask` answers; after a loss `again` (else the same) is asked, which must find out what happened first.

        Raises the last ConnectionLost or HostUnreachable when the time is over.
        """
        since: float | None = None
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                return ask() if since is None or again is None else again()
            except (ConnectionLost, HostUnreachable):
                now = self.clock.now()
                since = now if since is None else since
                if now - since + pause_s > self.limit_s:
                    raise
                phase = "the connection is lost; the host goes on by itself; trying again"
                on_progress(Progress(phase=phase, done=round(now - since), total=round(self.limit_s), unit="s"))
            self.clock.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
