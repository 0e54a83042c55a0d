"""Keeping in touch with the guard on the host while a server is changed, whatever else we wait for."""

from __future__ import annotations

import threading

from specdoctor.core.errors import TargetError
from specdoctor.operations.conversation import Conversation, Refused

CONTACT_TIMEOUT_S = 30.0


class Heartbeat:
    """A thread that says every `interval_s` that the run is still steered; also while a person thinks about a question.

    A link that is down is nobody's news here: the next beat tries again, and whoever works over the link finds out.
    """

    def __init__(self, conversation: Conversation, *, interval_s: float) -> None:
        self._conversation = conversation
        self._interval_s = interval_s
        self._ended = threading.Event()
        self._run: str | None = None
        self._thread: threading.Thread | None = None

    def begin(self, run: str) -> None:
        """Keep in touch for `run` until `end`; begun twice it goes on."""
        if self._run == run:
            return
        self.end()
        self._run, self._ended = run, threading.Event()
        self._thread = threading.Thread(target=self._beat, args=(run, self._ended), name="guard-contact", daemon=True)
        self._thread.start()

    def end(self, *, wait_s: float = 0.0) -> None:
        """No further beat; one that is on its way is waited for, up to `wait_s`, so that it does not come after."""
        self._ended.set()
        self._run = None
        if wait_s and self._thread is not None:
            self._thread.join(wait_s)

    def _beat(self, run: str, ended: threading.Event) -> None:
        while not ended.wait(self._interval_s):
            try:
                self._conversation.ask("contact", {"run": run}, timeout_s=CONTACT_TIMEOUT_S)
            except (TargetError, Refused):
                continue
