"""The thread that runs an engine core in real time, against absolute deadlines.

The next step is planned to begin when the last one was planned to end, so the time that computing and delivering a
step takes comes out of its own duration, and errors of a sleep do not add up.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from specdoctor.lab.engine_types import GenRequest, HttpReply, StepResult

MAX_LAG_S = 0.25
RATE_WINDOW_S = 0.5


class SteppedCore(Protocol):
    """The part of an engine core that the loop drives."""

    def submit(self, request: GenRequest, now_s: float) -> HttpReply | None: ...

    def abort(self, request_id: str) -> None: ...

    def step(self, now_s: float) -> StepResult | None: ...

    def meta_info(self, request_id: str) -> dict[str, Any]: ...


OnStep = Callable[[StepResult, Mapping[str, dict[str, Any]]], None]


class Clock:
    """Seconds since the epoch that never jump: wall time at the start, monotonic from then on."""

    def __init__(self) -> None:
        self._offset_s = time.time() - time.perf_counter()

    def now(self) -> float:
        return self._offset_s + time.perf_counter()


class StepLoop:
    """Runs `core` until `stop`. All access to the core goes through `lock`.

    `on_step` gets each result when its duration is over, with the meta_info of the unfinished requests in `streamed`;
    it is called from the loop's thread.
    """

    def __init__(self, core: SteppedCore, *, on_step: OnStep, clock: Clock) -> None:
        self.lock = threading.Condition()
        self._core = core
        self._on_step = on_step
        self._clock = clock
        self._streamed: set[str] = set()
        self._stopped = False
        self._step_ends_s: float | None = None
        self._busy_s = 0.0
        self._thread = threading.Thread(target=self._run, name="steps", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End after the step in progress."""
        with self.lock:
            self._stopped = True
            self.lock.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    def submit(self, request: GenRequest) -> HttpReply | None:
        """Queue a request; a reply when it is refused."""
        with self.lock:
            refusal = self._core.submit(request, self._engine_now())
            if refusal is None:
                if request.stream:
                    self._streamed.add(request.id)
                self.lock.notify_all()
            return refusal

    def abort(self, request_id: str) -> dict[str, Any]:
        """Forget a request; returns its last meta_info."""
        with self.lock:
            self._streamed.discard(request_id)
            meta = self._core.meta_info(request_id)
            self._core.abort(request_id)
            self.lock.notify_all()
            return meta

    def take_busy_s(self) -> float:
        """Seconds of work since the last call."""
        with self.lock:
            busy, self._busy_s = self._busy_s, 0.0
            return busy

    def _engine_now(self) -> float:
        """Now, but never past the planned end of the step in progress: the next step begins there."""
        now = self._clock.now()
        return now if self._step_ends_s is None else min(now, self._step_ends_s)

    def _run(self) -> None:
        begins_s = self._clock.now()
        while True:
            with self.lock:
                if self._stopped:
                    return
                result = self._core.step(begins_s)
                if result is None:
                    self._step_ends_s = None
                    self.lock.wait()
                    begins_s = self._clock.now()
                    continue
                ends_s = begins_s + result.duration_s
                self._step_ends_s = ends_s
                self._busy_s += result.duration_s
                metas = {name: self._core.meta_info(name) for name in result.deltas if self._streams_on(name, result)}
                self._streamed -= result.finished.keys()
            delay_s = ends_s - self._clock.now()
            if delay_s > 0:
                time.sleep(delay_s)
            self._on_step(result, metas)
            begins_s = ends_s if self._clock.now() - ends_s < MAX_LAG_S else self._clock.now()

    def _streams_on(self, request_id: str, result: StepResult) -> bool:
        return request_id in self._streamed and request_id not in result.finished
