"""The log of a server that is no longer there: its start, what it lived through, and how it ended."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from specdoctor.lab.engine_core import EngineCore, resolve
from specdoctor.lab.engine_types import Exit, Resolved, StartupFailure
from specdoctor.lab.host import PracticeHost
from specdoctor.lab.past import Past, live_through
from specdoctor.lab.sglang_failures import scheduler_crash
from specdoctor.lab.sglang_stamp import stamp
from specdoctor.lab.sglang_startup import StartupLog
from specdoctor.lab.tensors import scan_models
from specdoctor.lab.world import Crash, World

PID = 4121
SPOKEN_CRASHES = (0, 5, 10)
SPOKEN_KILLS = (0, 5, 14)


def write_log(host: PracticeHost, argv: Sequence[str], log: Path) -> None:
    """Write what the world's server left behind: a start that failed, or a life and its end."""
    now_s = time.time()
    began_s = now_s - host.world.server.started_s_ago
    settings = {name: host.expand(value) for name, value in host.world.launch.env.items()}
    outcome = resolve(
        argv,
        {**host.environment, **settings},
        host.world,
        models=scan_models(host.models_dir, host.world),
        read_file=lambda path: Path(path).read_text(encoding="utf-8"),
        now_s=began_s,
    )
    lines = list(outcome.lines) if isinstance(outcome, StartupFailure) else life(host.world, outcome, began_s, now_s)
    with log.open("a", encoding="utf-8", newline="") as file:
        file.write("".join(line + "\n" for line in lines))


def life(world: World, resolved: Resolved, began_s: float, now_s: float) -> list[str]:
    """All lines of a server that began then, with the traffic of the world's history, up to its end."""
    start = StartupLog(resolved, world, random.Random(world.seed), began_s, PID)
    lines: list[str] = []
    at_s = began_s
    for step in start.steps():
        if isinstance(step, Exit):
            return lines
        at_s += step.delay_s
        lines += step.lines
    core = EngineCore(resolved, world, world.seed, ready_s=at_s, timings=start.timings())
    lines += live_through(core, Past(started_s_ago=now_s - at_s, history=world.history), until_s=now_s)
    crash = world.server.crash
    return lines if crash is None else lines + crash_lines(world, crash, at_s=now_s - crash.ago_s)


def crash_lines(world: World, crash: Crash, *, at_s: float) -> list[str]:
    """The last words of a server that ended at `at_s`."""
    release = world.engine.release

    def said(text: str, *, later_s: float = 0.0) -> str:
        return stamp(at_s + later_s, release=release) + text

    kill = said(f"kill_process_tree called: parent_pid={PID}, include_parent=True, pid={PID}", later_s=5.1)
    kills = [kill] if release >= SPOKEN_KILLS else []
    if crash.kind == "stopped":
        return [said("SIGTERM received. signum=None frame=None. Draining requests and shutting down..."), *kills]
    if crash.kind == "host-oom-kill":
        if release < SPOKEN_CRASHES:
            return []
        worker = (
            f"Subprocess scheduler_0 (pid={PID + 133}) crashed with exit code -9. Triggering SIGQUIT for cleanup..."
        )
        return [said(worker), *_clean_up(said), *kills]
    frames = [("sglang/srt/managers/scheduler.py", 1240, "event_loop_overlap", "batch_result = self.run_batch(batch)")]
    failure = scheduler_crash("ready", world, frames, _last_words(world, crash))
    lines = [
        said(line[1:]) if line.startswith("\t") else line for line in failure.lines if "Received sigquit" not in line
    ]
    lines = [line for line in lines if "kill_process_tree" not in line]
    if release < SPOKEN_CRASHES:
        return [*lines, said("Received sigquit from a child process. It usually means the child failed.")]
    return [*lines, *_clean_up(said), *kills]


def _clean_up(said: Callable[..., str]) -> list[str]:
    return [
        said("SIGQUIT received. signum=None, frame=None. It usually means one child failed."),
        said("Sleeping 5 seconds before crash diagnostics to let GPU activity settle."),
        said("No live scheduler processes found; skipping py-spy and CUDA coredump.", later_s=5.0),
    ]


def _last_words(world: World, crash: Crash) -> str:
    if crash.kind == "cuda-oom":
        gpus = world.gpus
        free_gb = max(crash.wanted_gb * 0.4, 0.1)
        own_gb = gpus.memory_gb - gpus.idle_used_gb - free_gb
        return (
            f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {crash.wanted_gb:.2f} GiB. GPU {crash.gpu} "
            f"has a total capacity of {gpus.memory_gb:.2f} GiB of which {free_gb * 1024:.2f} MiB is free. Including "
            f"non-PyTorch memory, this process has {own_gb:.2f} GiB memory in use."
        )
    return (
        "torch.AcceleratorError: CUDA error: an illegal memory access was encountered\n"
        "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
        "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions."
    )
