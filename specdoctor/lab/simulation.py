"""A practice host without processes: the same physics behind the operations port, on a virtual clock.

Client, server and waiting share one clock, so an investigation that would take minutes passes in a moment. What is
simulated here is the host around the engine core; the core itself is the one that the real practice server runs.
"""

from __future__ import annotations

import random
from errno import ENOENT

from specdoctor.core.errors import HostUnreachable
from specdoctor.core.facts import Facts
from specdoctor.core.hypothesis import edited
from specdoctor.core.launch import (
    ORIGINAL,
    HostState,
    LaunchChange,
    LaunchOrder,
    LaunchOutcome,
    RestoreOrder,
    RestoreOutcome,
    apply_change,
)
from specdoctor.core.measurement import BenchPlan, BenchRecord, WatchRecord
from specdoctor.core.operations import OnProgress, Progress, SnapshotRequest
from specdoctor.core.redact import redact, redact_argv, secrets_in_argv
from specdoctor.core.server import ServerRef
from specdoctor.lab.dead_server import crash_lines
from specdoctor.lab.drafting import stored_states
from specdoctor.lab.engine_core import EngineCore, Exit, resolve, startup_script
from specdoctor.lab.engine_types import Resolved, StartupFailure
from specdoctor.lab.past import Past, live_through, run_traffic
from specdoctor.lab.sglang_args import declared_models
from specdoctor.lab.simulated_facts import Look
from specdoctor.lab.simulated_gpus import gpu_table
from specdoctor.lab.simulated_keeping import keeping_of
from specdoctor.lab.simulated_load import closed_loop
from specdoctor.lab.tensors import weights_bytes
from specdoctor.lab.virtual_clock import VirtualClock
from specdoctor.lab.world import Model, World

COMPARED = ("argv", "env", "cwd", "affinity", "limits")


class SimulatedHost:
    """Operations over a world on a virtual clock. `clock` is the one to give to the run as well."""

    def __init__(self, world: World, *, seed: int = 0) -> None:
        self.world = world
        self.clock = VirtualClock()
        self.starts = 0
        self.left: tuple[int | None, str] | None = None
        """The last word of whoever steered a run."""
        self._seed = seed + world.seed
        self._log: list[str] = []
        self._core: EngineCore | None = None
        self._resolved: Resolved | None = None
        self._pid = 4120
        self._argv = tuple(world.expand(word) for word in world.launch.argv)
        self._env = {k: world.expand(v) for k, v in world.launch.env.items()}
        self._launch = ORIGINAL
        self._touched = False
        self._recorded = False
        self._done: dict[str, LaunchOutcome | RestoreOutcome] = {}
        self._keeping = keeping_of(world, self._argv)
        self._boot()

    @property
    def target(self) -> str:
        return f"simulated:{self.world.name}"

    # ---- the server's life

    def _boot(self) -> None:
        world, now = self.world, self.clock.now()
        began = now - world.server.started_s_ago
        ready, _ = self._start(ORIGINAL, began)
        if world.server.state == "down":
            self._core = None
            crash = world.server.crash
            self._log += crash_lines(world, crash, at_s=now - crash.ago_s) if crash is not None else []
            return
        if self._core is not None:
            past = Past(started_s_ago=now - ready, history=world.history)
            self._log += live_through(self._core, past, until_s=now)

    def _start(self, change: LaunchChange, at_s: float) -> tuple[float, str | None]:
        """Start with a change; returns when it was ready (or dead), and why it failed if it did."""
        self._pid += 10
        self._launch = change
        env = {**self._env, **change.set_env}
        resolved = resolve(list(apply_change(self._argv, change)), env, self.world, models=self._models(change))
        self._core = None
        if isinstance(resolved, StartupFailure):
            self._log += resolved.lines
            self._resolved = None
            return at_s + sum(s.delay_s for s in resolved.steps), f"exit code {resolved.exit_code}"
        self._resolved = resolved
        rng = random.Random(f"{self._seed}:{self._pid}")
        for step in startup_script(resolved, self.world, rng, now_s=at_s, pid=self._pid):
            if isinstance(step, Exit):
                return at_s, f"exit code {step.exit_code}"
            at_s += step.delay_s
            self._log += step.lines
        self._core = EngineCore(resolved, self.world, self._seed + self._pid, ready_s=at_s, pid=self._pid)
        return at_s, None

    def _models(self, change: LaunchChange) -> dict[str, Model]:
        """What lies in the models' folders, and in a copy that the change makes of one."""
        found = declared_models(self.world)
        asked = change.copies
        if asked is not None and asked.source in found:
            of = found[asked.source]
            found[asked.place] = of.model_copy(update={"config": edited(of.config, asked.edits), "path": asked.place})
        return found

    @property
    def _ref(self) -> ServerRef:
        port = self._resolved.port if self._resolved else 30000
        return ServerRef(pid=self._pid, start_ticks=self._pid * 100, port=port)

    # ---- the port

    def snapshot(self, request: SnapshotRequest) -> Facts:
        """Facts as a probe of this host would give them."""
        self.clock.sleep(0.4)
        look = Look(
            world=self.world,
            now=self.clock.now(),
            typed=self._argv,
            env=self._env,
            launch=self._launch,
            ref=self._ref,
            resolved=self._resolved,
            core=self._core,
            keeping=self._keeping,
        )
        return look.facts(request, self._log)

    def read_range(self, path: str, *, offset: int, length: int) -> bytes:
        """Of the drafters that can be calculated, weights and stored states."""
        for model in self.world.models:
            folder = self.world.expand(model.path)
            if model.stored_states is not None and path.startswith(f"{folder}/"):
                name = path.removeprefix(f"{folder}/")
                if name == "model.safetensors":
                    return weights_bytes(self.world, model)[offset : offset + length]
                if name == model.stored_states:
                    return stored_states(self.world, model)[offset : offset + length]
        raise FileNotFoundError(ENOENT, "no such file", path)

    def watch(self, server: ServerRef, *, seconds: float, log_path: str | None) -> WatchRecord:
        """Let the time pass; the world's live clients, if any, work meanwhile."""
        core = self._running()
        begin = self.clock.now()
        lines: list[str] = []
        if self.world.live_traffic is not None:
            lines = list(run_traffic(core, self.world.live_traffic, begin_s=begin, end_s=begin + seconds))
            self._log += lines
        self.clock.sleep(seconds)
        foreign = sum(1 for line in lines if "POST /generate" in line)
        return WatchRecord(seconds=seconds, foreign_requests=foreign, means=("log",), log="\n".join(lines))

    def _running(self) -> EngineCore:
        if self._core is None:
            raise HostUnreachable(f"{self.target}: no server is running", next_step="start it")
        return self._core

    def bench(self, plan: BenchPlan, on_progress: OnProgress) -> BenchRecord:
        """The plan's load in virtual time: a closed loop of `concurrency` clients."""
        core, started = self._running(), self.clock.now()
        closed_loop(core, plan, plan.warmup, "warm", clock=self.clock, log=self._log, on_done=lambda done: None)
        before = len(self._log)
        records = closed_loop(
            core,
            plan,
            plan.requests,
            "r",
            clock=self.clock,
            log=self._log,
            on_done=lambda done: on_progress(Progress(phase="benchmark", done=done, total=plan.requests)),
        )
        return BenchRecord(
            action=plan.action,
            started_at=started,
            ended_at=self.clock.now(),
            warmed_up=True,
            requests=tuple(records),
            log="\n".join(self._log[before:]),
            gpus=gpu_table(self.world, running=self._core is not None, busy=0.9),
        )

    def relaunch(self, order: LaunchOrder, on_progress: OnProgress) -> LaunchOutcome:
        """Stop and start with the order's change; the same order again returns the same outcome."""
        done = self._done.get(order.action)
        if isinstance(done, LaunchOutcome):
            return done
        self.starts += 1
        self._touched = True
        self._recorded = True
        on_progress(Progress(phase="stopping"))
        self.clock.sleep(1.0)
        mark, began = len(self._log), self.clock.now()
        ready, failed = self._start(order.change, began)
        self.clock.reach(ready)
        on_progress(Progress(phase="ready"))
        outcome = LaunchOutcome(
            action=order.action,
            status="failed" if failed else "ready",
            server=None if failed else self._ref,
            argv=redact_argv(apply_change(self._argv, order.change)),
            stop_s=1.0,
            start_s=ready - began,
            downtime_s=ready - began + 1.0,
            log=redact("\n".join(self._log[mark:]), known=secrets_in_argv(self._argv)),
            reason=failed or "",
        )
        self._done[order.action] = outcome
        return outcome

    def restore(self, order: RestoreOrder, on_progress: OnProgress) -> RestoreOutcome:
        """Start the original again, if anything was changed."""
        done = self._done.get(order.action)
        if isinstance(done, RestoreOutcome):
            return done
        equal = dict.fromkeys(COMPARED, True)
        if not self._touched:
            return RestoreOutcome(action=order.action, status="nothing-to-do", server=self._ref, equal=equal)
        self.starts += 1
        on_progress(Progress(phase="restoring"))
        self.clock.sleep(1.0)
        began = self.clock.now()
        ready, failed = self._start(ORIGINAL, began)
        self.clock.reach(ready)
        self._touched = bool(failed)
        outcome = RestoreOutcome(
            action=order.action,
            status="failed" if failed else "restored",
            server=None if failed else self._ref,
            equal={} if failed else equal,
            start_s=ready - began,
            downtime_s=ready - began + 1.0,
            reason=failed or "",
        )
        self._done[order.action] = outcome
        return outcome

    def state(self, run: str) -> HostState:
        """What lies on this host for a run."""
        return HostState(
            run=run,
            way_back=self._recorded,
            running=self._ref if self._core is not None else None,
            running_is_original=self._launch.is_original,
        )

    def release(self, run: str) -> tuple[str, ...]:
        """Nothing lies on a simulated host but that there is a way back."""
        self._recorded = False
        return ()

    def leave(self, run: str, *, exit_code: int | None, words: str) -> float | None:
        """There is no guard on a simulated host."""
        self.left = (exit_code, words)
        return None

    def close(self) -> None:
        return None
