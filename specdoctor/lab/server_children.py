"""The worker processes below a practice server: titled as the real ones, and gone when their launcher is."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specdoctor.lab.lab_state import hold_gpu, read_world
from specdoctor.lab.machine import node_cpus
from specdoctor.lab.proc_view import hide_process, show_process

ORPHAN_NOTICES_S = 0.4
COMM_LENGTH = 15
MIB_PER_GIB = 1024

_WORKER = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
with open("/proc/self/comm", "w") as comm:
    comm.write({comm!r})
os.read({lifeline}, 1)
time.sleep({notices_s})
"""


@dataclass(frozen=True)
class Worker:
    """One child: its process, its title, the name its launcher logs for it, and the GPU it runs on."""

    process: subprocess.Popen[bytes]
    title: str
    name: str
    gpu: int | None

    @property
    def pid(self) -> int:
        return self.process.pid


def scheduler_titles(args: Mapping[str, Any], ranks: int) -> list[str]:
    """Process titles of the schedulers, one per GPU; the suffix names the ranks that exist."""
    data_parallel = int(args.get("dp_size") or 1)
    if data_parallel > 1 and not args.get("enable_dp_attention"):
        per_replica = max(ranks // data_parallel, 1)
    else:
        per_replica = ranks
    titles = []
    for rank in range(ranks):
        parts = ["sglang::scheduler"]
        if data_parallel > 1:
            replica = rank * data_parallel // ranks if args.get("enable_dp_attention") else rank // per_replica
            parts.append(f"DP{replica}")
        if per_replica > 1:
            parts.append(f"TP{rank % per_replica}")
        if int(args.get("ep_size") or 1) > 1:
            parts.append(f"EP{rank * int(args['ep_size']) // ranks}")
        titles.append("_".join(parts))
    return titles


class Workers:
    """Starts the workers of one launcher and watches them. `on_death` is called from a thread, once per child."""

    def __init__(self, state: Path, on_death: Callable[[Worker, int], None], *, aged_s: float = 0.0) -> None:
        self._state = state
        self._world = read_world(state)
        self._on_death = on_death
        self._aged_s = aged_s
        self._lifeline, self._held = os.pipe()
        self._held_mib: dict[int, int] = {}
        self._ending = False
        self.all: list[Worker] = []

    def start(self, args: Mapping[str, Any], gpus: tuple[int, ...]) -> None:
        """One scheduler per GPU, and a detokenizer."""
        for rank, (title, gpu) in enumerate(zip(scheduler_titles(args, len(gpus)), gpus, strict=True)):
            self._spawn(title, name=f"scheduler_{rank}", gpu=gpu)
            bound = args.get("numa_node")
            if bound:
                first, last = node_cpus(self._world, int(bound[rank % len(bound)]))
                os.sched_setaffinity(self.all[-1].pid, range(first, last + 1))
        self._spawn("sglang::detokenizer", name="detokenizer", gpu=None)

    def hold(self, memory_gb: Mapping[int, float], *, busy: float = 0.0) -> None:
        """Record the GPU memory (GiB by GPU) that the schedulers hold now."""
        self._held_mib = {gpu: round(amount * MIB_PER_GIB) for gpu, amount in memory_gb.items()}
        self.note_busy(busy)

    def note_busy(self, busy: float) -> None:
        """Record the share of recent time in which the GPUs worked."""
        for worker in self.all:
            if worker.gpu in self._held_mib and worker.process.poll() is None:
                memory = {worker.gpu: self._held_mib[worker.gpu]}
                hold_gpu(self._state, worker.pid, title=worker.title, memory_mib=memory, busy=busy)

    def kill(self) -> None:
        """End them all at once and wait for them."""
        self._ending = True
        for worker in self.all:
            worker.process.kill()
        for worker in self.all:
            worker.process.wait()
            hide_process(self._state, worker.pid)

    def _spawn(self, title: str, *, name: str, gpu: int | None) -> None:
        """A real Python whose whole command line is the title; its program comes over standard input."""
        process = subprocess.Popen(
            [title],
            executable=Path(sys.executable).resolve(),
            stdin=subprocess.PIPE,
            pass_fds=(self._lifeline,),
            env={**os.environ, "PYTHONHOME": sys.base_prefix},
        )
        worker = Worker(process, title, name, gpu)
        assert process.stdin is not None
        program = _WORKER.format(comm=title[:COMM_LENGTH], lifeline=self._lifeline, notices_s=ORPHAN_NOTICES_S)
        process.stdin.write(program.encode())
        process.stdin.close()
        show_process(self._state, self._world, process.pid, title=title, aged_s=self._aged_s)
        self.all.append(worker)
        threading.Thread(target=self._watch, args=(worker,), daemon=True).start()

    def _watch(self, worker: Worker) -> None:
        exit_code = worker.process.wait()
        hide_process(self._state, worker.pid)
        if not self._ending:
            self._on_death(worker, exit_code)
