"""How a practice server ends: a polite stop that drains, and the end that follows the death of a worker."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

from specdoctor.lab.engine_types import Resolved
from specdoctor.lab.server_children import Worker, Workers
from specdoctor.lab.server_requests import Requests

if TYPE_CHECKING:
    from specdoctor.lab.server_front import ServerFront

FIRST_LOOK_S = 0.3
DRAIN_INTERVAL_S = 5.0
SETTLE_S = 5.0
SPOKEN_CRASHES = (0, 5, 10)
SPOKEN_KILLS = (0, 5, 14)


class Shutdown:
    """Waits for the reason to end, then says and does what SGLang does; `write` stamps and logs a line."""

    def __init__(self, resolved: Resolved, write: Callable[[str], None], *, scale: float) -> None:
        self._release = resolved.release
        self._write = write
        self._scale = scale
        self.asked = asyncio.Event()
        self._death: tuple[Worker, int] | None = None
        self._died = asyncio.Event()

    def note_death(self, worker: Worker, exit_code: int) -> None:
        """A worker has ended; the first one counts."""
        if self._death is None:
            self._death = (worker, exit_code)
            self._died.set()

    async def pause(self, seconds: float) -> bool:
        """Let time pass during the start; True (and said) when a worker died meanwhile."""
        try:
            await asyncio.wait_for(self._died.wait(), seconds)
        except TimeoutError:
            return False
        assert self._death is not None
        worker, exit_code = self._death
        rank = worker.name.removeprefix("scheduler_")
        self._write(
            f"Rank {rank} scheduler died during initialization (exit code: {exit_code}). If exit code is -9 (SIGKILL), "
            "a common cause is the OS OOM killer. Run `dmesg -T | grep -i oom` to check."
        )
        return True

    async def wait(self, front: ServerFront, requests: Requests, workers: Workers) -> int:
        """Serve until asked to stop or until a worker dies; returns the exit code."""
        asked = asyncio.create_task(self.asked.wait())
        died = asyncio.create_task(self._died.wait())
        try:
            await asyncio.wait({asked, died}, return_when=asyncio.FIRST_COMPLETED)
            front.closing = True
            if asked.done():
                self._write("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
                await self._drain(requests, died)
            if died.done():
                return await self._crash(workers)
            workers.kill()
            self._say_kill()
            return -signal.SIGKILL
        finally:
            asked.cancel()
            died.cancel()

    async def _drain(self, requests: Requests, died: asyncio.Task[bool]) -> None:
        """Wait for the requests under way, or for a worker that got the signal too."""
        await asyncio.wait({died}, timeout=FIRST_LOOK_S)
        drained = asyncio.create_task(requests.drained())
        try:
            while not died.done():
                done, _ = await asyncio.wait(
                    {drained, died}, timeout=DRAIN_INTERVAL_S * self._scale, return_when=asyncio.FIRST_COMPLETED
                )
                left = requests.ids
                self._write(
                    f"Gracefully exiting... Remaining number of requests {len(left)}. Remaining requests {left}."
                )
                if drained in done:
                    return
        finally:
            drained.cancel()

    async def _crash(self, workers: Workers) -> int:
        assert self._death is not None
        worker, exit_code = self._death
        if self._release >= SPOKEN_CRASHES:
            self._write(
                f"Subprocess {worker.name} (pid={worker.pid}) crashed with exit code {exit_code}. "
                "Triggering SIGQUIT for cleanup..."
            )
            self._write("SIGQUIT received. signum=None, frame=None. It usually means one child failed.")
            self._write("Sleeping 5 seconds before crash diagnostics to let GPU activity settle.")
            await asyncio.sleep(SETTLE_S * self._scale)
            schedulers = [one for one in workers.all if one.gpu is not None and one.process.poll() is None]
            if not schedulers:
                self._write("No live scheduler processes found; skipping py-spy and CUDA coredump.")
        else:
            self._write("Received sigquit from a child process. It usually means the child failed.")
        workers.kill()
        self._say_kill()
        return -signal.SIGKILL

    def _say_kill(self) -> None:
        if self._release >= SPOKEN_KILLS:
            pid = os.getpid()
            self._write(f"kill_process_tree called: parent_pid={pid}, include_parent=True, pid={pid}")
