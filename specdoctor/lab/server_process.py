"""The process that `python3 -m sglang.launch_server` starts on a practice host: the engine core in real time.

It resolves its command line, writes the log of its start while the seconds pass, holds GPU memory through its workers,
opens the HTTP port when the model is loaded, and then steps. It binds loopback only, whatever --host says.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from specdoctor.lab.containers import IMAGE_VARIABLE, image_id
from specdoctor.lab.cpu_shares import format_list
from specdoctor.lab.engine_core import EngineCore, resolve
from specdoctor.lab.engine_types import Exit, Occupancy, Resolved, StartupFailure, StartupStep
from specdoctor.lab.http_server import HttpServer
from specdoctor.lab.lab_state import STATE_VARIABLE, TIME_SCALE_VARIABLE, gpu_holdings, note_ready, read_world, scale_of
from specdoctor.lab.memory_policy import policy_of
from specdoctor.lab.past import Past, live_through, take_past
from specdoctor.lab.physics import placed
from specdoctor.lab.proc_view import hide_process, show_process
from specdoctor.lab.server_children import Worker, Workers
from specdoctor.lab.server_front import ServerFront
from specdoctor.lab.server_requests import Requests
from specdoctor.lab.server_shutdown import Shutdown
from specdoctor.lab.sglang_failures import port_in_use
from specdoctor.lab.sglang_stamp import stamp
from specdoctor.lab.sglang_startup import StartupLog
from specdoctor.lab.step_loop import Clock, StepLoop
from specdoctor.lab.tensors import scan_models
from specdoctor.lab.time_scale import scaled
from specdoctor.lab.world import World
from specdoctor.lab.world_keeper import ContainerKeeper

LOOPBACK = "127.0.0.1"
SWITCH_INTERVAL_S = 0.0005
BUSY_INTERVAL_S = 0.5
MIB_PER_GIB = 1024
SEEDS_PER_WORLD = 1000


def load_world(state: Path) -> World:
    """The host's world, as its processes may know it: without symptom and answer."""
    facts = read_world(state)
    blank = {"ask": {"symptom": ""}, "truth": {"verdict": "not-enough-evidence"}}
    return World.model_validate({**facts, **blank})


def in_image(world: World, identity: str | None) -> World:
    """The world as a server in a container of this image finds it: another engine, other times."""
    keeper = world.keeper
    others = keeper.other_images if isinstance(keeper, ContainerKeeper) else ()
    other = next((each for each in others if image_id(each.image) == identity), None)
    if other is None:
        return world
    own = world.physics
    factors = {"host_factor": own.host_factor * other.host_factor, "gpu_factor": own.gpu_factor * other.gpu_factor}
    engine = world.engine.model_copy(update={"version": other.version})
    return world.model_copy(update={"engine": engine, "physics": own.model_copy(update=factors)})


def main(state_text: str) -> int:
    """Run one server to its end; returns the exit code, or ends by a signal."""
    state = Path(state_text)
    os.environ.setdefault(STATE_VARIABLE, state_text)
    argv = Path("/proc/self/cmdline").read_text(encoding="utf-8").split("\0")[:-1]
    past = take_past(state)
    age_s = past.started_s_ago if past is not None else 0.0
    show_process(state, read_world(state), os.getpid(), title=Path(argv[0]).name, aged_s=age_s)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        return _end(asyncio.run(_Server(state, argv, past).run()))
    finally:
        hide_process(state, os.getpid())


def _end(exit_code: int) -> int:
    """Leave as the real process does: negative codes are signals that it gets from its own clean-up."""
    sys.stderr.flush()
    if exit_code < 0:
        os.kill(os.getpid(), -exit_code)
    return exit_code


def time_scale(state: Path) -> float:
    """The host's scale, from the environment or (when that was emptied) from the host's own record."""
    given = os.environ.get(TIME_SCALE_VARIABLE)
    return float(given) if given else scale_of(state)


def occupancy(state: Path, port: int | None) -> Occupancy:
    """GPU memory that this host's other processes hold now, and whether the wanted port is taken."""
    held: dict[int, float] = {}
    for holding in gpu_holdings(state):
        for gpu, mib in holding.memory_mib.items():
            held[gpu] = held.get(gpu, 0.0) + mib / MIB_PER_GIB
    return Occupancy(ports=frozenset({port}) if port is not None and _taken(port) else frozenset(), gpu_memory_gb=held)


def count_start(state: Path) -> int:
    """How many servers were started on this host before this one: restarts must not repeat each other's noise."""
    counter = state / "run" / "starts"
    with counter.open("ab") as file:
        before = file.tell()
        file.write(b".")
    return before


def _taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return True
    return False


class _Server:
    """One server from its command line to its end."""

    def __init__(self, state: Path, argv: list[str], past: Past | None) -> None:
        self._state = state
        self._argv = argv
        self._scale = time_scale(state)
        world = in_image(load_world(state), os.environ.get(IMAGE_VARIABLE))
        cpus = format_list(os.sched_getaffinity(0))
        self._world = scaled(placed(world, cpus=cpus, memory=policy_of(state, os.getpid())), self._scale)
        self._clock = Clock()
        self._past = past
        self._age_s = past.started_s_ago if past is not None else 0.0

    async def run(self) -> int:
        self._loop = asyncio.get_running_loop()
        outcome = self._resolve()
        if isinstance(outcome, StartupFailure):
            for step in outcome.steps:
                await asyncio.sleep(step.delay_s)
                self._write(*step.lines)
            return outcome.exit_code
        self._resolved = outcome
        self._shutdown = Shutdown(outcome, self._write_note, scale=self._scale)
        self._workers = Workers(self._state, self._worker_died, aged_s=self._age_s)
        try:
            return await self._start_and_serve()
        finally:
            self._workers.kill()

    def _resolve(self) -> Resolved | StartupFailure:
        environment = dict(os.environ)
        models = scan_models(self._state / "models", self._world)

        def outcome(port: int | None) -> Resolved | StartupFailure:
            return resolve(
                self._argv,
                environment,
                self._world,
                models=models,
                occupied=occupancy(self._state, port),
                read_file=lambda path: Path(path).read_text(encoding="utf-8"),
            )

        first = outcome(None)
        return first if isinstance(first, StartupFailure) else outcome(first.port)

    async def _start_and_serve(self) -> int:
        began_s = self._clock.now() - self._age_s
        seed = self._world.seed + SEEDS_PER_WORLD * count_start(self._state)
        rng = random.Random(seed)
        passed_s = 0.0
        log = StartupLog(self._resolved, self._world, rng, began_s, os.getpid())
        front: ServerFront | None = None
        try:
            for step in self._timed(log.steps()):
                if isinstance(step, Exit):
                    return step.exit_code
                passed_s += step.delay_s
                if self._past is None and await self._shutdown.pause(step.delay_s):
                    return -signal.SIGKILL
                if step.phase == "http" and any("Uvicorn running" in line for line in step.lines):
                    front = await self._open(seed, ready_s=began_s + passed_s, timings=log.timings())
                    if front is None:
                        return 1
                self._write(*step.lines)
                if step.gpu_memory_gb is not None:
                    self._workers.hold(step.gpu_memory_gb)
            assert front is not None
            return await self._serve(front)
        finally:
            if front is not None:
                await self._http.close()
                self._steps.stop()

    def _timed(self, script: Iterator[StartupStep | Exit]) -> Iterator[StartupStep | Exit]:
        """The script, with the workers started when the arguments have been read."""
        started = False
        for step in script:
            yield step
            if not started and isinstance(step, StartupStep):
                started = True
                self._workers.start(self._resolved.args, self._resolved.gpus)

    async def _open(self, seed: int, *, ready_s: float, timings: dict[str, float]) -> ServerFront | None:
        """Open the HTTP port; None, with uvicorn's words in the log, when it is taken."""
        self._core = EngineCore(self._resolved, self._world, seed, ready_s=ready_s, timings=timings)
        self._requests = Requests(self._loop)
        self._steps = StepLoop(self._core, on_step=self._stepped, clock=self._clock)
        self._requests.run_on(self._steps)
        front = ServerFront(
            self._core,
            self._steps,
            self._requests,
            self._resolved,
            clock=self._clock,
            write_line=self._write,
            time_scale=self._scale,
        )
        self._http = HttpServer(front.handle, front.note_answer)
        try:
            await self._http.listen(LOOPBACK, self._resolved.port)
        except OSError:
            failure = port_in_use(self._resolved.host, self._resolved.port)
            for line in failure.lines:
                self._write_note(line.removeprefix("\t").replace("{pid}", str(os.getpid())))
            return None
        return front

    async def _serve(self, front: ServerFront) -> int:
        if self._past is not None:
            self._write(*live_through(self._core, self._past, until_s=self._clock.now()))
        gc.collect()
        gc.freeze()
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._shutdown.asked.set)
        self._steps.start()
        front.ready.set()
        note_ready(self._state, os.getpid())
        reporting = asyncio.create_task(self._report_busy())
        try:
            return await self._shutdown.wait(front, self._requests, self._workers)
        finally:
            reporting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reporting

    async def _report_busy(self) -> None:
        """Keep the GPUs' utilisation on disk while there is work."""
        was_busy = False
        while True:
            await asyncio.sleep(BUSY_INTERVAL_S)
            busy = min(1.0, self._steps.take_busy_s() / BUSY_INTERVAL_S)
            if busy > 0 or was_busy:
                self._workers.note_busy(busy)
            was_busy = busy > 0

    def _stepped(self, result: Any, metas: Any) -> None:
        self._write(*result.log_lines)
        self._requests.deliver(result, metas)

    def _worker_died(self, worker: Worker, exit_code: int) -> None:
        self._loop.call_soon_threadsafe(self._shutdown.note_death, worker, exit_code)

    def _write_note(self, text: str) -> None:
        self._write(f"{stamp(time.time(), release=self._resolved.release)}{text}")

    @staticmethod
    def _write(*lines: str) -> None:
        """Log lines go to standard error, each in one piece."""
        if lines:
            os.write(2, ("\n".join(lines) + "\n").encode())
