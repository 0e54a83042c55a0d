"""A practice host without processes: the same physics behind the operations port, on a virtual clock.

Client, server and waiting share one clock, so an investigation that would take minutes passes in a moment. What is
simulated here is the host around the engine core; the core itself is the one that the real practice server runs.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import random
from collections.abc import Callable, Sequence
from errno import ENOENT
from pathlib import PurePosixPath

from specdoctor.core.errors import HostUnreachable
from specdoctor.core.facts import (
    CommandFacts,
    Facts,
    FileFacts,
    HostFacts,
    HttpReply,
    LogFacts,
    PackageFacts,
    ProcessFacts,
)
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
from specdoctor.core.measurement import BenchPlan, BenchRecord, RequestRecord, WatchRecord
from specdoctor.core.operations import OnProgress, Progress, SnapshotRequest
from specdoctor.core.redact import redact, redact_argv, secret_name, secrets_in_argv
from specdoctor.core.server import ServerRef
from specdoctor.lab.cpu_shares import span
from specdoctor.lab.dead_server import crash_lines
from specdoctor.lab.drafting import stored_states
from specdoctor.lab.earlier import earlier_logs
from specdoctor.lab.engine_core import EngineCore, Exit, resolve, startup_script
from specdoctor.lab.engine_types import GenRequest, Resolved, StartupFailure, Token
from specdoctor.lab.machine import node_cpus
from specdoctor.lab.past import Past, live_through, run_traffic
from specdoctor.lab.sglang_args import declared_models
from specdoctor.lab.shims.gpu_pages import topology_page
from specdoctor.lab.shims.gpu_view import Gpu, gpu_fields
from specdoctor.lab.simulated_keeping import ancestors, keeping_of
from specdoctor.lab.tensor_lists import tensor_lists
from specdoctor.lab.tensors import weights_bytes
from specdoctor.lab.world import Install, Model, World

EPOCH_S = 1_771_000_000.0
COMPARED = ("argv", "env", "cwd", "affinity", "limits")
CORRECT_KEYS = ("spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num")
PROPOSED_KEYS = ("spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num")
HISTOGRAM_KEYS = ("spec_correct_drafts_histogram", "spec_accept_histogram")
GPU_COLUMNS = (
    "index name uuid driver_version clocks.sm clocks.max.sm power.draw power.limit power.default_limit temperature.gpu "
    "utilization.gpu clocks_event_reasons.active persistence_mode"
).split()
SHOWN_ENV = ("SGLANG_", "NCCL_", "CUDA_", "HF_", "SLURM_", "KUBERNETES_SERVICE_HOST")


class VirtualClock:
    """Time that passes only when somebody waits or works."""

    def __init__(self, start_s: float = EPOCH_S) -> None:
        self._now_s = start_s

    def now(self) -> float:
        return self._now_s

    def sleep(self, seconds: float) -> None:
        self._now_s += max(seconds, 0.0)

    def reach(self, at_s: float) -> None:
        """Let time pass until `at_s`."""
        self._now_s = max(self._now_s, at_s)


class SimulatedHost:
    """Operations over a world on a virtual clock. `clock` is the one to give to the run as well."""

    def __init__(self, world: World, *, seed: int = 0) -> None:
        self.world = world
        self.clock = VirtualClock()
        self.starts = 0
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
        log = "\n".join(self._log) + "\n"
        secrets = secrets_in_argv(self._argv)
        http: dict[str, dict[str, HttpReply]] = {}
        if self._core is not None and request.http:
            bodies = {
                "/server_info": self._core.server_info(self.clock.now()),
                "/model_info": self._core.model_info(),
                "/v1/models": self._core.models(),
            }
            http[str(self._ref.port)] = {
                path: HttpReply(status=200, body=redact(json.dumps(body), known=secrets))
                for path, body in bodies.items()
            }
        keep = request.log_bytes
        return Facts(
            taken_at=self.clock.now(),
            duration_s=0.4,
            host=HostFacts(
                hostname=self.world.host.name,
                now=self.clock.now(),
                boot_id=hashlib.sha256(self.world.name.encode()).hexdigest()[:32],
                booted_at=EPOCH_S - self.world.host.up_since_s,
                kernel=self.world.host.kernel,
                cpu_count=self.world.host.cpus,
                numa_nodes=self._nodes(),
                user=self.world.host.user,
                uid=1000,
                cpu_governor=self.world.host.governor,
            ),
            processes=self._processes() if self._core is not None else (),
            packages=self._packages() if self._core is not None else {},
            files=self._files(),
            logs=(
                LogFacts(
                    path=self.world.expand(self.world.launch.log),
                    pid=self._pid if self._core is not None else None,
                    size=len(log),
                    head=redact(log[:keep], known=secrets),
                    tail=redact(log[max(keep, len(log) - keep) :], known=secrets),
                    gap_bytes=max(len(log) - 2 * keep, 0),
                ),
            ),
            older_logs=self._older_logs() if request.history else (),
            http=http,
            commands={"gpus": self._gpus(), "gpu_topology": self._topology(), **self._keeping.commands},
        )

    def _processes(self) -> tuple[ProcessFacts, ...]:
        argv = redact_argv(apply_change(self._argv, self._launch))
        log = self.world.expand(self.world.launch.log)
        keeping = self._keeping
        above = ancestors(keeping)
        env = {**self._env, **keeping.env}
        launcher = ProcessFacts(
            pid=self._pid,
            ppid=above[0].pid if above else 1,
            start_ticks=self._ref.start_ticks,
            started_at=self.clock.now() - 60.0,
            uid=1000,
            user=self.world.host.user,
            comm="python3",
            state="S",
            argv=argv,
            env_names=tuple(sorted(env)),
            env={k: "***" if secret_name(k) else redact(v) for k, v in env.items() if k.startswith(SHOWN_ENV)},
            cwd=self.world.expand(self.world.launch.cwd),
            exe=self._interpreter(argv),
            cgroup=keeping.cgroup,
            container_id=keeping.container,
            container_started_at=self._container_started_at(),
            cpus_allowed=f"0-{self.world.host.cpus - 1}",
            mems_allowed="0",
            stdout=log,
            stderr=log,
            listen_ports=(self._ref.port,),
        )
        ranks = self._resolved.tp_size if self._resolved else 1
        titles = [f"sglang::scheduler_TP{i}" if ranks > 1 else "sglang::scheduler" for i in range(ranks)]
        children = tuple(
            ProcessFacts(
                pid=self._pid + 1 + i,
                ppid=self._pid,
                start_ticks=self._ref.start_ticks + 5,
                uid=1000,
                comm=title[:15],
                argv=(title,),
                cgroup=keeping.cgroup,
                cpus_allowed=self._cpus_of_rank(i, ranks),
            )
            for i, title in enumerate([*titles, "sglang::detokenizer"])
        )
        return (*above, launcher, *children)

    def _cpus_of_rank(self, rank: int, ranks: int) -> str:
        """As --numa-node binds it; any CPU without."""
        bound = self._resolved.args.get("numa_node") if self._resolved is not None else None
        if not bound or rank >= ranks:
            return span(0, self.world.host.cpus - 1)
        world = self.world.model_dump(mode="json", include={"host"})
        return span(*node_cpus(world, int(bound[rank % len(bound)])))

    def _interpreter(self, argv: Sequence[str]) -> str:
        return argv[0] if argv[0].startswith("/") else f"{self.world.engine.venv}/bin/python3"

    def _nodes(self) -> dict[str, str]:
        """The CPUs of each NUMA node, as in sysfs."""
        world = self.world.model_dump(mode="json", include={"host"})
        return {str(node): span(*node_cpus(world, node)) for node in range(self.world.host.numa_nodes)}

    def _container_started_at(self) -> float | None:
        ago_s = self.world.host.container_started_s_ago
        return None if ago_s is None else EPOCH_S - ago_s

    def _packages(self) -> dict[str, tuple[PackageFacts, ...]]:
        """What is installed for the interpreter that runs the server."""
        engine = self.world.engine
        where = self._interpreter(apply_change(self._argv, self._launch))
        install = self._install()
        at = EPOCH_S - engine.installed_s_ago
        found = [PackageFacts(name=n, version=version, installed_at=at) for n, version in engine.packages.items()]
        if install is not None:
            url = f"file://{self.world.expand(install.source)}/python"
            one = PackageFacts(
                name="sglang",
                version=engine.version,
                editable_url=url,
                git_commit=install.commit,
                installed_at=at,
            )
            found = [one, *(package for package in found if package.name != "sglang")]
        return {where: tuple(found)}

    def _older_logs(self) -> tuple[LogFacts, ...]:
        """Those beside the present log."""
        folder = PurePosixPath(self.world.expand(self.world.launch.log)).parent
        secrets = secrets_in_argv(self._argv)
        resolved = lambda words, world: resolve(words, self._env, world)  # noqa: E731
        found = []
        for path, at, lines in earlier_logs(self.world, self._argv, now_s=EPOCH_S, resolved=resolved):
            if PurePosixPath(self.world.expand(path)).parent != folder:
                continue
            text = redact("\n".join(lines) + "\n", known=secrets)
            found.append(LogFacts(path=self.world.expand(path), size=len(text), mtime=at, head=text))
        return tuple(found)

    def _install(self) -> Install | None:
        """The editable install that the server runs in."""
        where = self._interpreter(apply_change(self._argv, self._launch))
        return next((i for i in self.world.engine.installs if where.startswith(self.world.expand(i.venv) + "/")), None)

    def _capture_rules(self) -> dict[str, FileFacts]:
        """The engine's own source for a target, as a look at the host lists it: of an install that has its own."""
        install = self._install()
        folder = f"{self.world.expand(install.source)}/python/sglang/srt/models/" if install is not None else ""
        out: dict[str, FileFacts] = {}
        for model in self.world.models if folder else ():
            for name, text in self.world.host.files.items():
                where = self.world.expand(name)
                if where.startswith(folder) and f"class {model.architecture}" in text:
                    key = str(PurePosixPath(self.world.expand(model.path)) / "capture-rule.py")
                    out[key] = FileFacts(path=where, text=text, size=len(text))
        return out

    def _files(self) -> dict[str, FileFacts]:
        out: dict[str, FileFacts] = self._capture_rules()
        for model in self.world.models:
            folder = PurePosixPath(self.world.expand(model.path))
            texts = {"config.json": json.dumps(model.config), **model.files}
            for name, text in texts.items():
                path = str(folder / name)
                out[path] = FileFacts(path=path, text=text, size=len(text))
            if model.kind != "target":
                where = str(folder / "model.safetensors")
                for name, text in zip(("tensors.txt", "values.txt"), tensor_lists(model), strict=True):
                    if text:
                        out[str(folder / name)] = FileFacts(path=where, text=text, size=len(text))
            if model.stored_states is not None:
                raw = {"model.safetensors": weights_bytes(self.world, model)}
                raw[model.stored_states] = stored_states(self.world, model)
                text = "".join(f"{len(content)} {name}\n" for name, content in raw.items())
                out[str(folder / "stored.txt")] = FileFacts(path=str(folder), text=text, size=len(text))
        return out

    def _gpus(self, *, busy: float = 0.0) -> CommandFacts:
        """The table of GPUs as the practice host's own tool prints it."""
        fields = gpu_fields()
        head = ", ".join(name + (f" [{fields[name].unit}]" if fields[name].unit else "") for name in GPU_COLUMNS)
        rows = [", ".join(fields[name].value(gpu) for name in GPU_COLUMNS) for gpu in self._gpu_list(busy)]
        return CommandFacts(argv=("nvidia-smi",), exit_code=0, stdout="\n".join([head, *rows]) + "\n")

    def _gpu_list(self, busy: float) -> list[Gpu]:
        world = self.world.model_dump(mode="json", include={"name", "gpus", "host"})
        return [Gpu(i, world, 1000, busy, self._core is not None) for i in range(self.world.gpus.count)]

    def _topology(self) -> CommandFacts:
        page = topology_page(self._gpu_list(0.0))
        return CommandFacts(argv=("nvidia-smi", "topo", "-m"), exit_code=0, stdout=page)

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
        self._load(core, plan, plan.warmup, "warm", lambda done: None)
        before = len(self._log)
        records = self._load(
            core,
            plan,
            plan.requests,
            "r",
            lambda done: on_progress(Progress(phase="benchmark", done=done, total=plan.requests)),
        )
        return BenchRecord(
            action=plan.action,
            started_at=started,
            ended_at=self.clock.now(),
            warmed_up=True,
            requests=tuple(records),
            log="\n".join(self._log[before:]),
            gpus=self._gpus(busy=0.9),
        )

    def _load(
        self, core: EngineCore, plan: BenchPlan, count: int, name: str, on_done: Callable[[int], None]
    ) -> list[RequestRecord]:
        prompts = plan.prompt_set.prompts
        due = [(self.clock.now(), i) for i in range(min(plan.concurrency, count))]
        if plan.rate_per_s is not None and name == "r":
            source, at_s, due = random.Random(plan.seed), self.clock.now(), []
            for i in range(count):
                due.append((at_s, i))
                at_s += source.expovariate(plan.rate_per_s)
        heapq.heapify(due)
        sent = len(due)
        open_requests: dict[str, _Open] = {}
        records: list[RequestRecord] = []
        while due or open_requests:
            while due and due[0][0] <= self.clock.now():
                at_s, number = heapq.heappop(due)
                prompt = prompts[number % len(prompts)]
                key = f"{plan.action}-{name}{number}"
                request = GenRequest(
                    id=key,
                    prompt=prompt.text,
                    max_new_tokens=plan.max_new_tokens,
                    temperature=plan.temperature,
                    structured=bool(plan.json_schema),
                    stream=True,
                )
                core.submit(request, at_s)
                open_requests[key] = _Open(prompt.id, prompt.category, at_s, plan.keep)
            result = core.step(self.clock.now())
            if result is None:
                if not due:
                    break
                self.clock.reach(due[0][0])
                continue
            self.clock.sleep(result.duration_s)
            self._log += result.log_lines
            for key, tokens in result.deltas.items():
                if key in open_requests:
                    open_requests[key].chunk(self.clock.now(), tokens)
            for key, finished in result.finished.items():
                if key not in open_requests:
                    continue
                records.append(open_requests.pop(key).record(key, finished.meta_info))
                on_done(len(records))
                if sent < count:
                    heapq.heappush(due, (self.clock.now() + 0.001, sent))
                    sent += 1
        return records

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

    def close(self) -> None:
        return None


class _Open:
    """A request on its way, as the client sees it."""

    def __init__(self, prompt: str, category: str, sent_s: float, keep: str = "") -> None:
        self._prompt, self._category, self._sent_s = prompt, category, sent_s
        self._first_s: float | None = None
        self._last_s: float | None = None
        self._chunks = 0
        self._first_tokens = 0
        self._gaps: list[float] = []
        self._keep, self._tokens = keep, list[Token]()

    def chunk(self, at_s: float, tokens: Sequence[Token]) -> None:
        if self._keep:
            self._tokens += tokens
        if self._first_s is None:
            self._first_s, self._first_tokens = at_s, len(tokens)
        if self._last_s is not None:
            self._gaps.append(at_s - self._last_s)
        self._last_s = at_s
        self._chunks += 1

    def record(self, key: str, meta: dict[str, object]) -> RequestRecord:
        """The finished request with the server's own counts."""
        histogram = next((meta[k] for k in HISTOGRAM_KEYS if k in meta), None)
        return RequestRecord(
            id=key,
            prompt=self._prompt,
            category=self._category,
            ok=True,
            t_send=self._sent_s,
            t_first=self._first_s,
            t_last=self._last_s,
            chunks=self._chunks,
            prompt_tokens=_count(meta, "prompt_tokens"),
            completion_tokens=_count(meta, "completion_tokens"),
            cached_tokens=_count(meta, "cached_tokens"),
            tokens_first_chunk=self._first_tokens,
            verify_ct=_count(meta, "spec_verify_ct"),
            correct_drafts=_count(meta, *CORRECT_KEYS),
            proposed_drafts=_count(meta, *PROPOSED_KEYS),
            histogram=tuple(histogram) if isinstance(histogram, list) else None,
            text="".join(t.text for t in self._tokens) if self._keep else None,
            choices=tuple((t.text, t.gap) for t in self._tokens) if self._keep == "choices" else (),
            gap_p50_ms=1000.0 * sorted(self._gaps)[len(self._gaps) // 2] if self._gaps else None,
        )


def _count(meta: dict[str, object], *keys: str) -> int | None:
    for key in keys:
        value = meta.get(key)
        if isinstance(value, int):
            return value
    return None
