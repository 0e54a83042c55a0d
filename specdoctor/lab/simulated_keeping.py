"""What a simulated host shows of who keeps its server: control group, ancestors, variables, the keeper's own words."""

from __future__ import annotations

from typing import NamedTuple

from specdoctor.core.facts import CommandFacts, ProcessFacts
from specdoctor.lab.containers import container_id
from specdoctor.lab.kept_surroundings import SESSION_CGROUP
from specdoctor.lab.world import World
from specdoctor.lab.world_keeper import (
    ContainerKeeper,
    KubernetesKeeper,
    RayKeeper,
    ShellLoopKeeper,
    SlurmKeeper,
    SupervisorKeeper,
    SystemdKeeper,
    TmuxKeeper,
)

FIRST_ANCESTOR = 901


Chain = tuple[tuple[str, tuple[str, ...]], ...]


class Keeping(NamedTuple):
    """`ancestors` from the parent up, each a name and a command line; `commands` by the probe's keys."""

    cgroup: str = SESSION_CGROUP.strip()
    container: str | None = None
    ancestors: Chain = ()
    env: dict[str, str] = {}
    commands: dict[str, CommandFacts] = {}


def keeping_of(world: World, argv: tuple[str, ...]) -> Keeping:
    """The world's keeper as a probe sees it."""
    keeper = world.keeper
    if isinstance(keeper, ContainerKeeper):
        return _container(world, keeper)
    if isinstance(keeper, SystemdKeeper):
        return _service(keeper)
    if isinstance(keeper, SlurmKeeper):
        place = f"0::/system.slice/slurmstepd.scope/job_{keeper.job_id}/step_batch/user/task_0"
        script = ("/bin/bash", f"/var/spool/slurmd/job{keeper.job_id}/slurm_script")
        steps: Chain = (("bash", script), ("slurmstepd", (f"slurmstepd: [{keeper.job_id}.batch]",)))
        variables = {"SLURM_JOB_ID": str(keeper.job_id), "SLURM_JOB_PARTITION": keeper.partition}
        return Keeping(cgroup=place, ancestors=steps, env=variables)
    if isinstance(keeper, KubernetesKeeper):
        identity = "9f" * 32
        pod = "kubepods-burstable-pod4d04994d_c883_52d8_81f1_b7f45d5ce6a1.slice"
        place = f"0::/kubepods.slice/kubepods-burstable.slice/{pod}/cri-containerd-{identity}.scope"
        variables = {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}
        return Keeping(cgroup=place, container=identity, ancestors=(_shim("k8s.io", identity),), env=variables)
    if isinstance(keeper, ShellLoopKeeper):
        line = f"while true; do {' '.join(argv)}; sleep {keeper.pause_s:g}; done"
        return Keeping(ancestors=(("sh", ("sh", "-c", line)),))
    if isinstance(keeper, TmuxKeeper):
        panes: Chain = (("bash", ("-bash",)), ("tmux: server", ("tmux", "new-session", "-d", "-s", keeper.session)))
        place = "0::/user.slice/user-1000.slice/user@1000.service/tmux-spawn-0d1f52c4.scope"
        return Keeping(cgroup=place, ancestors=panes, env={"TMUX": "/tmp/tmux-1000/default,4012,0"})
    if isinstance(keeper, SupervisorKeeper | RayKeeper):
        words = tuple(keeper.title.split(" "))
        name = "supervisord" if "supervisord" in keeper.title else words[0].rsplit("/", 1)[-1]
        return Keeping(ancestors=((name, words),))
    return Keeping()


def ancestors(keeping: Keeping) -> tuple[ProcessFacts, ...]:
    """The processes above the server, which is the child of the first one."""
    pids = range(FIRST_ANCESTOR, FIRST_ANCESTOR + len(keeping.ancestors))
    return tuple(
        ProcessFacts(pid=pid, ppid=pid + 1 if pid + 1 in pids else 1, start_ticks=pid, comm=name, argv=words, uid=0)
        for pid, (name, words) in zip(pids, keeping.ancestors, strict=True)
    )


def _shim(namespace: str, identity: str) -> tuple[str, tuple[str, ...]]:
    return "containerd-shim", ("/usr/bin/containerd-shim-runc-v2", "-namespace", namespace, "-id", identity)


def _container(world: World, keeper: ContainerKeeper) -> Keeping:
    identity = container_id(world.model_dump(mode="json"))
    policy = keeper.restart_policy.partition(":")[0]
    reply = CommandFacts(
        argv=(keeper.kind, "inspect", "--format", "", identity),
        exit_code=0,
        stdout=f"/{keeper.name} {policy} {keeper.image}\n",
    )
    place = f"system.slice/docker-{identity}.scope"
    if keeper.kind == "podman":
        place = f"user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{identity}.scope/container"
    chain: Chain = (
        (_shim("moby", identity),) if keeper.kind == "docker" else (("conmon", ("/usr/bin/conmon", "-c", identity)),)
    )
    return Keeping(cgroup=f"0::/{place}", container=identity, ancestors=chain, commands={"container": reply})


def _service(keeper: SystemdKeeper) -> Keeping:
    place = f"system.slice/{keeper.unit}"
    if keeper.scope == "user":
        place = f"user.slice/user-1000.slice/user@1000.service/app.slice/{keeper.unit}"
    own = ("--user",) if keeper.scope == "user" else ()
    reply = CommandFacts(
        argv=("systemctl", *own, "show", keeper.unit),
        exit_code=0,
        stdout=f"Id={keeper.unit}\nRestart={keeper.restart}\nActiveState=active\n",
    )
    return Keeping(cgroup=f"0::/{place}", commands={"unit": reply})
