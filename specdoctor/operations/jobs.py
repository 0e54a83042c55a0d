"""A benchmark that runs on the host by itself: begun once, asked about, its result fetched whole and checked."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from specdoctor.core.errors import SpecdoctorError, TargetError
from specdoctor.core.operations import Clock, OnProgress, Progress
from specdoctor.operations.conversation import Conversation, Document, Refused
from specdoctor.operations.patience import Patience
from specdoctor.operations.waits import CALL_TIMEOUT_S

FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 2.0
STOP_TIMEOUT_S = 20.0
PART_BYTES = 4 << 20
TRIES = 3


@dataclass
class Job:
    """One benchmark, by its run and action."""

    conversation: Conversation
    clock: Clock
    patience: Patience
    run: str
    action: str

    def carry_out(self, params: Document, *, limit_s: float, on_progress: OnProgress) -> Document:
        """Begin it, or attach to it, and wait for its result.

        Raises TargetError when its end is unknown (its process is gone and left no result) or it takes longer than
        `limit_s`, ConnectionLost when the link stays away, Refused as the program does.
        """
        try:
            return self._awaited(params, limit_s, on_progress)
        except KeyboardInterrupt:
            self._stop()
            raise

    def _awaited(self, params: Document, limit_s: float, on_progress: OnProgress) -> Document:
        state = self.patience.bear(
            lambda: self.conversation.ask("bench", params, timeout_s=CALL_TIMEOUT_S), on_progress=on_progress
        )
        since, pause_s = self.clock.now(), FIRST_PAUSE_S
        while not isinstance(state.get("outcome"), dict):
            if not state.get("runs"):
                self._drop()
                raise self._unknown("its process is gone and has left no result")
            passed_s = self.clock.now() - since
            if passed_s > limit_s:
                self._stop()
                raise self._unknown(f"it has not come to its end in {limit_s:.0f} s and was stopped")
            on_progress(_progress(state, passed_s))
            self.clock.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            state = self.patience.bear(lambda: self._ask({"cmd": "poll"}), on_progress=on_progress)
        on_progress(_progress(state, self.clock.now() - since))
        outcome = state["outcome"]
        assert isinstance(outcome, dict)
        document = self._fetched(outcome)
        self._drop()
        return document

    def _fetched(self, outcome: Document) -> Document:
        """The whole result, whose hash was written beside it; fetched again when it does not agree."""
        size = outcome["size"]
        assert isinstance(size, int)
        if not size:
            self._drop()
            raise self._unknown(f"it broke: {outcome.get('problem')}")
        for _ in range(TRIES):
            raw = b"".join(self._part(offset) for offset in range(0, size, PART_BYTES))
            if hashlib.sha256(raw).hexdigest() == outcome["sha256"]:
                document = json.loads(raw)
                assert isinstance(document, dict)
                return document
        raise self._unknown(f"its result of {size} bytes arrived damaged {TRIES} times")

    def _part(self, offset: int) -> bytes:
        params: Document = {"cmd": "fetch", "offset": offset, "limit": PART_BYTES}
        return str(self.patience.bear(lambda: self._ask(params)).get("part")).encode("ascii", "replace")

    def _ask(self, params: Document) -> Document:
        whole: Document = {**params, "run": self.run, "action": self.action}
        return self.conversation.ask("job", whole, timeout_s=CALL_TIMEOUT_S)

    def _drop(self) -> None:
        self.patience.bear(lambda: self._tell("drop", CALL_TIMEOUT_S))

    def _stop(self) -> None:
        """End it on the host as far as the link allows; an interrupted user is not kept waiting for a lost one."""
        try:
            self._tell("stop", STOP_TIMEOUT_S)
        except SpecdoctorError:
            return

    def _tell(self, command: str, timeout_s: float) -> None:
        try:
            self.conversation.ask("job", {"cmd": command, "run": self.run, "action": self.action}, timeout_s=timeout_s)
        except Refused:
            return  # there is no such job any more, which is what was wanted

    def _unknown(self, why: str) -> TargetError:
        return TargetError(
            f"the benchmark {self.action} on {self.conversation.target} has no known end: {why}",
            tried="ask the host for its result",
            next_step="look at the host (specdoctor status TARGET), then measure again",
        )


def _progress(state: Document, passed_s: float) -> Progress:
    """How far the present stage is; the time left by its own pace where the host tells that, else by `passed_s`."""
    done, total, own_s, tokens = (state.get(key) for key in ("done", "total", "passed_s", "tokens"))
    if not isinstance(done, int) or not isinstance(total, int) or not total:
        return Progress(phase=str(state.get("stage")))
    stage_s = own_s if isinstance(own_s, float) and own_s > 0.0 else None
    left = (total - done) * (stage_s or passed_s) / done if done else None
    speed = tokens / stage_s if isinstance(tokens, float) and tokens and stage_s is not None else None
    return Progress(phase=str(state.get("stage")), done=float(done), total=float(total), eta_s=left, tok_s=speed)
