"""Waiting for an order that a worker on the host carries out: poll, collect its log, tell how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from specdoctor.core.operations import Clock, OnProgress, Progress
from specdoctor.operations.conversation import Conversation, Document, Refused
from specdoctor.operations.patience import Patience

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
    patience: Patience
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

    def _asked(self) -> Document:
        params: Document = {"cmd": "poll", "run": self.run, "action": self.action, "offsets": list(self.offsets)}
        return self.conversation.ask("lifecycle", params, timeout_s=CALL_TIMEOUT_S)

    def poll(self) -> None:
        self.take(self._asked())

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
        """Give the order, then poll until it has an outcome.

        A broken link is borne: an order that may have arrived is asked about before it is given again. Raises
        ConnectionLost when the link stays away; calling again re-attaches.
        """
        self.take(self.patience.bear(give, again=lambda: self._found_or(give), on_progress=on_progress))
        pause_s = FIRST_POLL_S
        while self.outcome is None:
            on_progress(self.progress())
            self.clock.sleep(pause_s)
            pause_s = POLL_S
            if self.lost:
                self.take(self.patience.bear(give, on_progress=on_progress))
            if self.outcome is None:
                self.patience.bear(self.poll, on_progress=on_progress)
        for _ in range(LAST_POLLS):
            if not self._more_log():
                break
        on_progress(self.progress())
        return self.outcome or {}

    def _found_or(self, give: Callable[[], Document]) -> Document:
        """How the order stands on the host; given again only where nothing is known of it."""
        try:
            return self._asked()
        except Refused as refusal:
            if refusal.kind != "unknown-action":
                raise
            return give()

    def _more_log(self) -> bool:
        if not self.offsets:
            return False
        before = list(self.offsets)
        self.patience.bear(self.poll)
        return self.offsets != before


def _whole(seconds: float | None) -> float | None:
    """Seconds without a fraction, for progress lines."""
    return None if seconds is None else float(round(seconds))
