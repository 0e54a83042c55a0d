"""What a probe reads on a simulated host."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from specdoctor.core.facts import Facts, FileFacts, HostFacts, HttpReply, LogFacts, PackageFacts, ProcessFacts
from specdoctor.core.launch import LaunchChange, apply_change
from specdoctor.core.operations import SnapshotRequest
from specdoctor.core.redact import redact, redact_argv, secret_name, secrets_in_argv
from specdoctor.core.server import ServerRef
from specdoctor.lab.cpu_shares import span
from specdoctor.lab.drafting import stored_states
from specdoctor.lab.earlier import earlier_logs
from specdoctor.lab.engine_core import EngineCore, resolve
from specdoctor.lab.engine_types import Resolved
from specdoctor.lab.machine import node_cpus
from specdoctor.lab.simulated_gpus import gpu_table, gpu_topology
from specdoctor.lab.simulated_keeping import Keeping, ancestors
from specdoctor.lab.tensor_lists import tensor_lists
from specdoctor.lab.tensors import weights_bytes
from specdoctor.lab.virtual_clock import EPOCH_S
from specdoctor.lab.world import Install, World

SHOWN_ENV = ("SGLANG_", "NCCL_", "CUDA_", "HF_", "SLURM_", "KUBERNETES_SERVICE_HOST")


@dataclass(frozen=True)
class Look:
    """A simulated host at one moment: `typed` is the server's launch line as found, `launch` the change in force.

    `core` and `resolved` are None where no server runs.
    """

    world: World
    now: float
    typed: tuple[str, ...]
    env: dict[str, str]
    launch: LaunchChange
    ref: ServerRef
    resolved: Resolved | None
    core: EngineCore | None
    keeping: Keeping

    def facts(self, request: SnapshotRequest, lines: Sequence[str]) -> Facts:
        """Facts as a probe of this host would give them; `lines` are those of its log."""
        log = "\n".join(lines) + "\n"
        secrets = secrets_in_argv(self.typed)
        http: dict[str, dict[str, HttpReply]] = {}
        if self.core is not None and request.http:
            bodies = {
                "/server_info": self.core.server_info(self.now),
                "/model_info": self.core.model_info(),
                "/v1/models": self.core.models(),
            }
            http[str(self.ref.port)] = {
                path: HttpReply(status=200, body=redact(json.dumps(body), known=secrets))
                for path, body in bodies.items()
            }
        keep = request.log_bytes
        return Facts(
            taken_at=self.now,
            duration_s=0.4,
            host=HostFacts(
                hostname=self.world.host.name,
                now=self.now,
                boot_id=hashlib.sha256(self.world.name.encode()).hexdigest()[:32],
                booted_at=EPOCH_S - self.world.host.up_since_s,
                kernel=self.world.host.kernel,
                cpu_count=self.world.host.cpus,
                numa_nodes=self._nodes(),
                user=self.world.host.user,
                uid=1000,
                cpu_governor=self.world.host.governor,
            ),
            processes=self._processes() if self.core is not None else (),
            packages=self._packages() if self.core is not None else {},
            files=self._files(),
            logs=(
                LogFacts(
                    path=self.world.expand(self.world.launch.log),
                    pid=self.ref.pid if self.core is not None else None,
                    size=len(log),
                    head=redact(log[:keep], known=secrets),
                    tail=redact(log[max(keep, len(log) - keep) :], known=secrets),
                    gap_bytes=max(len(log) - 2 * keep, 0),
                ),
            ),
            older_logs=self._older_logs() if request.history else (),
            http=http,
            commands={
                "gpus": gpu_table(self.world, running=self.core is not None),
                "gpu_topology": gpu_topology(self.world, running=self.core is not None),
                **self.keeping.commands,
            },
        )

    def _processes(self) -> tuple[ProcessFacts, ...]:
        argv = redact_argv(apply_change(self.typed, self.launch))
        log = self.world.expand(self.world.launch.log)
        keeping = self.keeping
        above = ancestors(keeping)
        env = {**self.env, **keeping.env}
        launcher = ProcessFacts(
            pid=self.ref.pid,
            ppid=above[0].pid if above else 1,
            start_ticks=self.ref.start_ticks,
            started_at=self.now - 60.0,
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
            listen_ports=(self.ref.port,),
        )
        ranks = self.resolved.tp_size if self.resolved else 1
        titles = [f"sglang::scheduler_TP{i}" if ranks > 1 else "sglang::scheduler" for i in range(ranks)]
        children = tuple(
            ProcessFacts(
                pid=self.ref.pid + 1 + i,
                ppid=self.ref.pid,
                start_ticks=self.ref.start_ticks + 5,
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
        bound = self.resolved.args.get("numa_node") if self.resolved is not None else None
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
        where = self._interpreter(apply_change(self.typed, self.launch))
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
        secrets = secrets_in_argv(self.typed)
        resolved = lambda words, world: resolve(words, self.env, world)  # noqa: E731
        found = []
        for path, at, lines in earlier_logs(self.world, self.typed, now_s=EPOCH_S, resolved=resolved):
            if PurePosixPath(self.world.expand(path)).parent != folder:
                continue
            text = redact("\n".join(lines) + "\n", known=secrets)
            found.append(LogFacts(path=self.world.expand(path), size=len(text), mtime=at, head=text))
        return tuple(found)

    def _install(self) -> Install | None:
        """The editable install that the server runs in."""
        where = self._interpreter(apply_change(self.typed, self.launch))
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
