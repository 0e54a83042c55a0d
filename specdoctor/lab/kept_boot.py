"""Starts a world's server under its keeper, as somebody once did: `docker run -d`, or a unit and `systemctl start`."""

from __future__ import annotations

import json
import shlex
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from specdoctor.lab.containers import container_id, image_id
from specdoctor.lab.errors import LabError
from specdoctor.lab.keeper import (
    Record,
    change_record,
    descendants,
    is_kept,
    new_record,
    read_record,
    start_kept,
    write_record,
)
from specdoctor.lab.kept_surroundings import SESSION_CGROUP
from specdoctor.lab.lab_state import noted_processes
from specdoctor.lab.pods import world_pod
from specdoctor.lab.shims.docker_create import given_of, make_container, words_of
from specdoctor.lab.slurm_jobs import world_job
from specdoctor.lab.unit_runs import launch as start_unit
from specdoctor.lab.units import Manager
from specdoctor.lab.world_keeper import (
    ContainerKeeper,
    RayKeeper,
    ShellLoopKeeper,
    SupervisorKeeper,
    SystemdKeeper,
    TmuxKeeper,
)

if TYPE_CHECKING:
    from specdoctor.lab.host import PracticeHost

UNIT = """[Unit]
Description=SGLang inference server
After=network-online.target

[Service]
Type=simple
User={user}
WorkingDirectory={cwd}
{environment}ExecStart={exec_start}
Restart={restart}
RestartSec={restart_s}
StandardOutput={output}
StandardError=inherit
{lines}
[Install]
WantedBy=multi-user.target
"""
POLL_S = 0.03
SERVER_S = 10.0
_NEEDS_QUOTES = frozenset(" \t\"'\\;#")


def prepare_keeper(host: PracticeHost) -> None:
    """Put down what the keeper's tools know before anything runs: images, folders for units."""
    keeper = host.world.keeper
    known = {}
    if isinstance(keeper, ContainerKeeper):
        envs = {keeper.image: keeper.image_env, **{other.image: other.env for other in keeper.other_images}}
        for name, env in envs.items():
            known[name] = {
                "id": image_id(name),
                "env": env,
                "entrypoint": list(keeper.entrypoint),
                "workdir": host.expand(host.world.launch.cwd),
            }
    (host.state_dir / "images.json").write_text(json.dumps(known), encoding="utf-8")
    (host.state_dir / "files/run/systemd/system").mkdir(parents=True, exist_ok=True)
    (host.state_dir / "etc/systemd/system").mkdir(parents=True, exist_ok=True)


def start_container(host: PracticeHost, keeper: ContainerKeeper, argv: Sequence[str]) -> Record:
    """Run the world's container."""
    facts = host.facts["keeper"]
    facts["mounts"] = [
        {**mount, "source": host.expand(mount["source"]), "target": host.expand(mount["target"])}
        for mount in facts["mounts"]
    ]
    env = {name: host.expand(value) for name, value in host.world.launch.env.items()}
    record = make_container(
        host.state_dir,
        keeper.kind,
        given_of(keeper.kind, words_of(facts, env=env, command=list(argv))),
        base_env=host.inner_environment,
        workdir=host.expand(host.world.launch.cwd),
        identity=container_id(host.facts),
    )
    change_record(host.state_dir, record["name"], delay_s=keeper.start_s * host.time_scale)
    return _started(host, record["name"])


def start_service(host: PracticeHost, keeper: SystemdKeeper, argv: Sequence[str]) -> Record:
    """Write the world's unit and start it."""
    manager = Manager(host.state_dir, keeper.scope, host.home)
    folder = manager.folders[0][0]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / keeper.unit).write_text(unit_text(host, keeper, argv), encoding="utf-8")
    manager.reload()
    unit = manager.loaded(keeper.unit)
    if unit is None:
        raise LabError(f"the unit {keeper.unit} of the practice host could not be read")
    start_unit(host.state_dir, host.facts, manager, unit)
    return _age(host, manager.record_name(keeper.unit))


def start_in_terminal(host: PracticeHost, keeper: TmuxKeeper, argv: Sequence[str]) -> Record:
    """Type the world's command at a shell in a window of tmux."""
    shell = shutil.which("bash") or "/bin/sh"
    env = {**host.environment, "TMUX": "/tmp/tmux-1000/default,4012,0", "TERM": "tmux-256color", "SHELL": shell}
    settings = {name: host.expand(value) for name, value in host.world.launch.env.items()}
    typed = shlex.join([*(f"{name}={value}" for name, value in settings.items()), *argv])
    unit = "user.slice/user-1000.slice/user@1000.service/tmux-spawn-0d1f52c4-8f0a-4c5b-9a55-f1f3a1e7c9b2.scope"
    record = new_record(
        "tmux",
        argv=["-" + Path(shell).name],
        env=env,
        cwd=host.expand(host.world.launch.cwd),
        policy="no",
        delay_s=0.0,
        output=f"terminal:{host.state_dir / 'kept' / 'tmux.screen'}",
        surroundings={"cgroup": f"0::/{unit}\n", "spaces": [], "keeper_cgroup": f"0::/{unit}\n"},
        title=f"tmux new-session -d -s {keeper.session}",
        comm="tmux: server",
        program=shell,
        typed=typed,
        show_child=True,
    )
    return _server_of(host, record)


def start_below(host: PracticeHost, keeper: SupervisorKeeper | RayKeeper, argv: Sequence[str]) -> Record:
    """Start the world's command as the child of a supervisor or a Ray node."""
    again = isinstance(keeper, SupervisorKeeper)
    env = {name: host.expand(value) for name, value in host.world.launch.env.items()}
    unit = "system.slice/supervisor.service" if again else "user.slice/user-1000.slice/session-c2.scope"
    record = new_record(
        keeper.kind,
        argv=argv,
        env={**host.environment, **env},
        cwd=host.expand(host.world.launch.cwd),
        policy="always" if again else "no",
        delay_s=(keeper.pause_s if isinstance(keeper, SupervisorKeeper) else 0.0) * host.time_scale,
        output=f"file:{host.expand(host.world.launch.log)}",
        surroundings={"cgroup": f"0::/{unit}\n", "spaces": [], "keeper_cgroup": f"0::/{unit}\n"},
        title=keeper.title,
        comm="supervisord" if "supervisord" in keeper.title else "",
    )
    return _server_of(host, record)


def start_in_loop(host: PracticeHost, keeper: ShellLoopKeeper, argv: Sequence[str]) -> Record:
    """Start a shell that starts the world's command again and again."""
    env = {name: host.expand(value) for name, value in host.world.launch.env.items()}
    pause = f"{keeper.pause_s * host.time_scale:g}"
    script = f"while true; do {shlex.join(argv)}; sleep {pause}; done"
    record = new_record(
        "shell-loop",
        argv=["sh", "-c", script],
        env={**host.environment, **env},
        cwd=host.expand(host.world.launch.cwd),
        policy="no",
        delay_s=0.0,
        output=f"file:{host.expand(host.world.launch.log)}",
        surroundings={"cgroup": SESSION_CGROUP, "spaces": [], "parent": 1},
        show_child=True,
    )
    return _server_of(host, record)


def start_job(host: PracticeHost, argv: Sequence[str]) -> Record:
    """Submit the world's job."""
    env = {name: host.expand(value) for name, value in host.world.launch.env.items()}
    return _server_of(host, world_job(host.state_dir, host.facts, argv, env={**host.environment, **env}))


def start_pod(host: PracticeHost, argv: Sequence[str]) -> Record:
    """Let the cluster run the world's workload."""
    env = {name: host.expand(value) for name, value in host.world.launch.env.items()}
    cwd = host.expand(host.world.launch.cwd)
    return _server_of(
        host, world_pod(host.state_dir, host.facts, argv, env=env, base_env=host.inner_environment, cwd=cwd)
    )


def _server_of(host: PracticeHost, record: Record) -> Record:
    """Start what is recorded and find the server below it: the record, with the server's own pid."""
    write_record(host.state_dir, record)
    _started(host, record["name"])
    deadline = time.monotonic() + SERVER_S
    while True:
        record = read_record(host.state_dir, record["name"])
        keeper = record["keeper"][0] if record["keeper"] else 0
        noted = {pid for pid, alive in noted_processes(host.state_dir) if alive}
        below = [pid for pid in descendants(keeper) if pid in noted and is_practice_server(pid)]
        if below:
            return {**record, "pid": below[0]}
        if time.monotonic() > deadline or not is_kept(record):
            raise LabError(f"the practice server did not start: {record.get('error', '')}")
        time.sleep(POLL_S)


def is_practice_server(pid: int) -> bool:
    """Whether a process of this host runs the engine's launcher, and is no shell around it."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[0].rsplit(b"/", 1)[-1].startswith((b"python", b"sglang")) and any(b"sglang" in word for word in words)


def unit_text(host: PracticeHost, keeper: SystemdKeeper, argv: Sequence[str]) -> str:
    """The unit file of the world's server."""
    program = shutil.which(argv[0], path=host.environment["PATH"]) or argv[0]
    pairs = [(name, host.expand(value)) for name, value in host.world.launch.env.items()]
    log = host.expand(host.world.launch.log)
    return UNIT.format(
        user=host.user,
        cwd=host.expand(host.world.launch.cwd),
        environment="".join(f"Environment={quoted(f'{name}={value}')}\n" for name, value in pairs),
        exec_start=" ".join(quoted(word) for word in [program, *argv[1:]]),
        restart=keeper.restart,
        restart_s=f"{keeper.restart_s:g}",
        output=keeper.output.replace("{log}", log),
        lines="".join(f"{host.expand(line)}\n" for line in keeper.lines),
    )


def quoted(word: str) -> str:
    """A word as a unit file needs it."""
    text = word.replace("%", "%%").replace("$", "$$")
    if text and not _NEEDS_QUOTES & set(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _started(host: PracticeHost, name: str) -> Record:
    start_kept(host.state_dir, name)
    return _age(host, name)


def _age(host: PracticeHost, name: str) -> Record:
    """Make it as old as the world says."""
    began = time.time() - host.world.server.started_s_ago
    record = change_record(host.state_dir, name, created_at=began, started_at=began)
    if record["pid"] is None:
        raise LabError(f"the keeper of the practice server did not start it: {record.get('error', '')}")
    return record
