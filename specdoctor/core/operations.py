"""The port between an investigation and the world: read, watch, load, restart, restore.

Two implementations pass one contract suite: over a real host (programs sent to it), and a simulated one on a virtual
clock. Nothing above this port knows how a fact was fetched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from specdoctor.core.facts import Facts
from specdoctor.core.launch import HostState, LaunchOrder, LaunchOutcome, RestoreOrder, RestoreOutcome
from specdoctor.core.measurement import BenchPlan, BenchRecord, WatchRecord
from specdoctor.core.model import Frozen
from specdoctor.core.server import ServerRef


class SnapshotRequest(Frozen):
    """What one probe shall read beside processes and the host: at most `log_bytes` of each end of each log.

    `history`: also the logs of earlier starts, as far as they still lie beside the present ones.
    """

    ports: tuple[int, ...] = ()
    files: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    log_bytes: int = 1_500_000
    http: bool = True
    history: bool = False


class Progress(Frozen):
    """One step of a long operation: a phase in few words, done of total (in `unit`) and seconds left where known.

    `tok_s`: tokens of the requests that have ended, over the time of the phase so far.
    """

    phase: str
    done: float | None = None
    total: float | None = None
    unit: str = ""
    eta_s: float | None = None
    tok_s: float | None = None


OnProgress = Callable[[Progress], None]


class Operations(Protocol):
    """What can be done to a target. Each call is one action of the run; none decides anything.

    Raises TargetError subclasses when the host cannot be reached or the link breaks.
    """

    @property
    def target(self) -> str: ...

    def snapshot(self, request: SnapshotRequest) -> Facts:
        """Read everything in one remote command. Never changes or loads the server."""
        ...

    def read_range(self, path: str, *, offset: int, length: int) -> bytes:
        """Bytes of a file there, fewer at its end. Raises OSError where it cannot be read."""
        ...

    def watch(self, server: ServerRef, *, seconds: float, log_path: str | None) -> WatchRecord:
        """Look on for `seconds`, sending nothing that counts as a request."""
        ...

    def bench(self, plan: BenchPlan, on_progress: OnProgress) -> BenchRecord:
        """Send the plan's requests from the host itself. Failed requests are recorded apart, never raised."""
        ...

    def relaunch(self, order: LaunchOrder, on_progress: OnProgress) -> LaunchOutcome:
        """Stop the proved server and start it changed. Idempotent by `order.action`: a second call re-attaches.

        The way back lies on the host before anything is stopped. A start that fails is an outcome, not an error.
        """
        ...

    def restore(self, order: RestoreOrder, on_progress: OnProgress) -> RestoreOutcome:
        """Bring the original back, compare it with the record, and say what is equal."""
        ...

    def state(self, run: str) -> HostState:
        """What this run left on the host (after a kill: how far its last order came)."""
        ...

    def release(self, run: str) -> tuple[str, ...]:
        """Remove everything this run left on the host; returns what was removed. Refused while not restored."""
        ...

    def leave(self, run: str, *, exit_code: int | None, words: str) -> float | None:
        """The last word of a run that leaves something on the host: nobody steers it any more. One short try.

        Returns the seconds until the guard there puts the original back by itself, None where none will.
        """
        ...

    def close(self) -> None: ...


class Clock(Protocol):
    """Time as a port: the wall clock, or a virtual one shared by client, server and waiting."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def sleep(self, seconds: float) -> None: ...
