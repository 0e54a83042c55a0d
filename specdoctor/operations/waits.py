"""Waiting for an order that a worker on the host carries out: poll, collect its log, tell how far it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from specdoctor.core.operations import Clock, OnProgress, Progress
from specdoctor.operations.conversation import Conversation, Document

POLL_S = 1.0
FIRST_POLL_S = 0.25
CALL_TIMEOUT_S = 60.0
LOG_LIMIT = 2_000_000
LAST_POLLS = 16


@dataclass
class Order:
    """One order under way: its log so far, and the last state that was seen."""

    conversation: Conversation
    clock: Clock
    run: str
    action: str
    expected_start_s: float | None
    log: str = ""
    offsets: list[int] = field(default_factory=list)
    state: Document = field(default_factory=dict)

    def take(self, state: Document) -> None:
        self.state = state
        offsets = state.get("offsets")
        if isinstance(offsets, list):
            self.offsets = [int(each) for each in offsets if isinstance(each, int)]
        self.log += str(state.get("log") or "")
        if len(self.log) > LOG_LIMIT:
            self.log = self.log[: LOG_LIMIT // 2] + "\n" + self.log[-LOG_LIMIT // 2 :]

    def poll(self) -> None:
        params: Document = {"cmd": "poll", "run": self.run, "action": self.action, "offsets": list(self.offsets)}
        self.take(self.conversation.ask("lifecycle", params, timeout_s=CALL_TIMEOUT_S))

    @property
    def outcome(self) -> Document | None:
        found = self.state.get("outcome")
        return found if isinstance(found, dict) else None

    @property
    def lost(self) -> bool:
        """The worker died before the end: giving the order again takes it up."""
        return self.outcome is None and not self.state.get("worker_alive")

    def progress(self) -> Progress:
        elapsed = self.state.get("elapsed_s")
        elapsed_s = float(elapsed) if isinstance(elapsed, int | float) and self.state.get("launched") else None
        total = self.expected_start_s
        left = max(0.0, total - elapsed_s) if total is not None and elapsed_s is not None else total
        return Progress(
            phase=str(self.state.get("phase")),
            done=_whole(elapsed_s),
            total=_whole(total),
            unit="s",
            eta_s=left,
        )

    def wait(self, give: Callable[[], Document], on_progress: OnProgress) -> Document:
        """Give the order, then poll until it has an outcome. A broken link is raised; calling again re-attaches."""
        self.take(give())
        pause_s = FIRST_POLL_S
        while self.outcome is None:
            on_progress(self.progress())
            self.clock.sleep(pause_s)
            pause_s = POLL_S
            if self.lost:
                give()
            self.poll()
        for _ in range(LAST_POLLS):
            if not self._more_log():
                break
        on_progress(self.progress())
        return self.outcome or {}

    def _more_log(self) -> bool:
        if not self.offsets:
            return False
        before = list(self.offsets)
        self.poll()
        return self.offsets != before


def heard(line: str, on_progress: OnProgress, started: float, now: float) -> None:
    """A line of a program's standard error, handed on if it tells of progress; seconds left by the pace so far."""
    try:
        progress = json.loads(line).get("progress")
        done, total = float(progress["done"]), float(progress["total"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return
    left = (total - done) * (now - started) / done if done else None
    on_progress(Progress(phase=str(progress.get("stage")), done=done, total=total, eta_s=left))


def _whole(seconds: float | None) -> float | None:
    """Seconds without a fraction, for progress lines."""
    return None if seconds is None else float(round(seconds))
