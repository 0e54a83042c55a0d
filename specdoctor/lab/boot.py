"""Brings a practice host to the moment at which its world begins: models on disk, log written, server started.

The server is started as its user would have: `nohup`, own session, output appended to a log file.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from specdoctor.core.model import Frozen
from specdoctor.lab.errors import LabError
from specdoctor.lab.host import PracticeHost
from specdoctor.lab.keeper import Record
from specdoctor.lab.kept_boot import (
    prepare_keeper,
    start_below,
    start_container,
    start_in_loop,
    start_in_terminal,
    start_job,
    start_pod,
    start_service,
)
from specdoctor.lab.lab_state import ready_server, start_ticks
from specdoctor.lab.past import Past, leave_past
from specdoctor.lab.port_claims import PortClaims
from specdoctor.lab.python_library import PACKAGE_ROOT
from specdoctor.lab.ssh_access import LOOPBACK
from specdoctor.lab.tensors import write_models
from specdoctor.lab.world import World
from specdoctor.lab.world_keeper import (
    ContainerKeeper,
    KubernetesKeeper,
    PlainKeeper,
    RayKeeper,
    ShellLoopKeeper,
    SlurmKeeper,
    SupervisorKeeper,
    SystemdKeeper,
    TmuxKeeper,
)

POLL_S = 0.02
LOG_TAIL_LINES = 15


class Booted(Frozen):
    """What runs on the host now. `pid` is None when the world's server is down."""

    pid: int | None
    port: int
    log: Path


def boot(host: PracticeHost, *, wait_s: float | None = 120.0, server_port: int | None = None) -> Booted:
    """Set the scene on a started host. `wait_s` None: do not wait until the server is ready.

    `server_port` replaces the world's HTTP port; without it, a free one is taken when the world's is in use.
    Raises LabError when the server ends or is not ready in time; the message holds the end of its log.
    """
    world = host.world
    write_models(world, host.models_dir)
    for path, text in world.host.files.items():
        target = host.place(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    log = Path(host.expand(world.launch.log))
    log.parent.mkdir(parents=True, exist_ok=True)
    prepare_keeper(host)
    argv, port = with_port(
        [host.expand(word) for word in (*_wrappers(world), *world.launch.argv)], host.ports, wanted=server_port
    )
    if world.earlier:
        from specdoctor.lab.earlier import write_earlier

        write_earlier(host, argv, now_s=time.time())
    if world.server.state == "down":
        from specdoctor.lab.dead_server import write_log

        write_log(host, argv, log)
        return Booted(pid=None, port=port, log=log)
    leave_past(host.state_dir, Past(started_s_ago=world.server.started_s_ago, history=world.history))
    if not isinstance(world.keeper, PlainKeeper):
        record = launch_kept(host, argv)
        pid, log = int(record["pid"]), Path(record["output"].partition(":")[2])
    else:
        pid = launch(host, argv, env=world.launch.env, log=log)
    if wait_s is not None:
        wait_ready(host, pid, log=log, timeout_s=wait_s)
    if world.live_traffic is not None:
        start_traffic(host, argv, port)
    return Booted(pid=pid, port=port, log=log)


def _wrappers(world: World) -> tuple[str, ...]:
    """Words before the server's own, which are gone from its command line when it runs."""
    return world.keeper.wrappers if isinstance(world.keeper, PlainKeeper) else ()


def with_port(argv: Sequence[str], ports: PortClaims, *, wanted: int | None) -> tuple[list[str], int]:
    """The command line with the HTTP port to use, and that port, claimed. Raises LabError when `wanted` is taken."""
    words = list(argv)
    place = next((i + 1 for i, word in enumerate(words[:-1]) if word == "--port"), None)
    declared = int(words[place]) if place is not None else 30000
    if wanted is not None and not ports.claim(wanted):
        raise LabError(f"port {wanted} on {LOOPBACK} is in use", next_step="leave it out to get a free one")
    port = wanted if wanted is not None else declared if ports.claim(declared) else ports.claim_any()
    if port != declared:
        words = [*words, "--port", str(port)] if place is None else [*words[:place], str(port), *words[place + 1 :]]
    return words, port


def launch(host: PracticeHost, argv: Sequence[str], *, env: Mapping[str, str], log: Path) -> int:
    """Start a command on the host in the background, as from a shell; returns its pid."""
    settings = [f"{name}={host.expand(value)}" for name, value in env.items()]
    command = " ".join(shlex.quote(word) for word in (["env", *settings, *argv] if settings else argv))
    line = f"nohup {command} >> {shlex.quote(str(log))} 2>&1 < /dev/null & echo $!"
    shell = subprocess.run(
        ["/bin/sh", "-c", line],
        env=host.environment,
        cwd=host.expand(host.world.launch.cwd),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
        check=True,
        text=True,
    )
    return int(shell.stdout)


def launch_kept(host: PracticeHost, argv: Sequence[str]) -> Record:
    """Start the server under the world's keeper; returns the keeper's record of it."""
    keeper = host.world.keeper
    if isinstance(keeper, ContainerKeeper):
        return start_container(host, keeper, argv)
    if isinstance(keeper, SystemdKeeper):
        return start_service(host, keeper, argv)
    if isinstance(keeper, SlurmKeeper):
        return start_job(host, argv)
    if isinstance(keeper, KubernetesKeeper):
        return start_pod(host, argv)
    if isinstance(keeper, TmuxKeeper):
        return start_in_terminal(host, keeper, argv)
    if isinstance(keeper, ShellLoopKeeper):
        return start_in_loop(host, keeper, argv)
    if isinstance(keeper, SupervisorKeeper | RayKeeper):
        return start_below(host, keeper, argv)
    raise LabError(f"nobody keeps the server of {host.world.name}")


def _own_sites() -> list[str]:
    return [path for path in sys.path if path.endswith("site-packages")]


def wait_ready(host: PracticeHost, pid: int, *, log: Path, timeout_s: float) -> None:
    """Wait until the server says that it is ready. Raises LabError when it ends first or takes too long."""
    deadline = time.monotonic() + timeout_s
    while ready_server(host.state_dir) != pid:
        if start_ticks(pid) is None:
            raise LabError(f"the practice server ended during its start; its log ends with\n{_tail(log)}")
        if time.monotonic() > deadline:
            raise LabError(
                f"the practice server was not ready after {timeout_s:.0f} s; its log ends with\n{_tail(log)}"
            )
        time.sleep(POLL_S)


def _tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    return "\n".join(line[:300] for line in lines[-LOG_TAIL_LINES:])


def start_traffic(host: PracticeHost, argv: Sequence[str], port: int) -> None:
    """Start the world's clients in a process of their own; they come back by themselves after a restart."""
    program = (
        f"import sys; sys.path[:0] = {[str(PACKAGE_ROOT), *_own_sites()]!r}; "
        "from specdoctor.lab.traffic import main; sys.exit(main(sys.argv[1:]))"
    )
    keys = [argv[i + 1] for i, word in enumerate(argv[:-1]) if word == "--api-key"]
    subprocess.Popen(
        [os.path.realpath(sys.executable), "-I", "-S", "-c", program, str(host.state_dir), str(port), *keys],
        env=host.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
