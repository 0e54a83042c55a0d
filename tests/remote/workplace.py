"""A fake server as a real process, and the remote programs run on it by the oldest Python that this machine has."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from specdoctor.operations.programs import ProgramName, joined_parts, program_text

FAKES = Path(__file__).parent / "fakes"
REAL_HOME = Path.home()
SHARED_PLACES = ("/run/lock", "/dev/shm", "/tmp")
SHARED_LINE = 'SHARED = ("/run/lock", "/dev/shm", "/tmp")\n'
"""Where leases lie that all users see, in the programs."""


def pythons() -> list[str]:
    """This Python, and the oldest other one from 3.6 on that is installed here."""
    candidates = [shutil.which(f"python3.{minor}") for minor in range(6, 11)]
    candidates = [found for found in candidates if found and "/shims/" not in found]
    candidates += [str(path) for path in sorted(REAL_HOME.glob(".pyenv/versions/3.[6-9].*/bin/python"))]
    for candidate in candidates:
        tried = [candidate, "-S", "-c", "import _ssl"]
        if subprocess.run(tried, check=False, capture_output=True).returncode == 0:
            return [candidate, sys.executable]
    return [sys.executable]


PYTHONS = pythons()
PYTHON = PYTHONS[0]


def free_port() -> int:
    """A port below those that outgoing connections take, so that no client of another test sits on it."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as listener:
            if listener.connect_ex(("127.0.0.1", port)) != 0:
                return port


def start_ticks(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def is_alive(pid: int) -> bool:
    """Whether any of its threads still runs: the first one dies before the last, which keeps sockets open."""
    for thread in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):
            if thread.read_text().rpartition(")")[2].split()[0] not in "ZX":
                return True
    return False


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_for(what: Callable[[], Any], limit_s: float = 15.0) -> Any:
    """The first true value of `what`; fails the test after `limit_s`."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        found = what()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited {limit_s} s in vain")


def _of_test(pid: str, root: Path) -> bool:
    """Whether a process works in this test's folder or has it for a home, as the programs that were sent have."""
    try:
        if Path(f"/proc/{pid}/cwd").readlink().is_relative_to(root):
            return True
        return b"HOME=" + os.fsencode(root) in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def end_sessions_of(root: Path) -> None:
    """End whatever still runs for this test, in rounds: a guard may just be starting the server that was ended."""
    for _ in range(10):
        left = [
            int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _of_test(entry.name, root)
        ]
        left = [pid for pid in left if pid != os.getpid() and is_alive(pid)]
        if not left:
            return
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


@dataclass
class FakeServer:
    """A running fake: its process, port, log and launch line."""

    pid: int
    port: int
    log: Path
    argv: list[str]
    process: subprocess.Popen[bytes]

    @property
    def ref(self) -> dict[str, int]:
        return {"pid": self.pid, "start_ticks": start_ticks(self.pid), "port": self.port}


@dataclass
class Workplace:
    """One test's host: a folder for everything, and the programs run as over a connection."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)
    servers: list[FakeServer] = field(default_factory=list)

    def start(self, *flags: str, ready: bool = True, env: dict[str, str] | None = None, **popen: Any) -> FakeServer:
        port = free_port()
        argv = [sys.executable, "-m", "sglang.launch_server", "--port", str(port), *flags]
        log = self.root / f"server-{port}.log"
        surroundings = {"PATH": os.environ["PATH"], "PYTHONPATH": str(FAKES), "HOME": str(self.root), **(env or {})}
        with log.open("ab") as stream:
            popen = {"stdin": subprocess.DEVNULL, "stdout": stream, "stderr": subprocess.STDOUT, **popen}
            process = subprocess.Popen(argv, cwd=self.root, env=surroundings, start_new_session=True, **popen)
        server = FakeServer(process.pid, port, log, argv, process)
        self.servers.append(server)
        if ready:
            wait_for(lambda: "ready to roll" in log.read_text())
        return server

    def command(self, python: str = PYTHON) -> list[str]:
        return [python, "-I", "-S", "-B", "-"]

    @property
    def leases(self) -> Path:
        """The leases of this test's host alone: each has a run1, and others work beside it."""
        return self.root.parent / f"{self.root.name}-leases"

    def text(self, name: ProgramName, params: dict[str, Any]) -> str:
        """A program as it would be sent, but for the place of its leases."""
        whole = program_text(name, params)
        assert name != "lifecycle" or SHARED_LINE in whole
        self.leases.mkdir(exist_ok=True)
        return whole.replace(SHARED_LINE, f"SHARED = ({str(self.leases)!r},)\n")

    def surroundings(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.root), **self.env}

    def raw(
        self, name: ProgramName, params: dict[str, Any], python: str = PYTHON
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            self.command(python),
            input=self.text(name, params).encode(),
            capture_output=True,
            env=self.surroundings(),
            timeout=60,
            check=False,
        )

    def run(self, name: ProgramName, params: dict[str, Any], python: str = PYTHON) -> dict[str, Any]:
        """The document that a program prints; anything on standard error but progress fails the test."""
        done = self.raw(name, params, python)
        noise = [line for line in done.stderr.splitlines() if not line.startswith(b'{"progress"')]
        assert noise == []
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def proc_view(self, *pids: int) -> Path:
        """A HOST_PROC in which only these processes (and the machine itself) can be seen."""
        view = self.root / "proc"
        view.mkdir(exist_ok=True)
        for name in ["stat", "meminfo", "loadavg", "cpuinfo", "sys", "net", *map(str, pids)]:
            if not (view / name).is_symlink():
                (view / name).symlink_to(f"/proc/{name}")
        self.env["HOST_PROC"] = str(view)
        return view


def opened(root: Path) -> Iterator[Workplace]:
    """A workplace whose processes end with the test, whatever they have been restarted as."""
    workplace = Workplace(root)
    yield workplace
    for server in workplace.servers:
        for pid in [*(children(server.pid) if is_alive(server.pid) else []), server.pid]:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)
        server.process.wait()
    end_sessions_of(root)
    for server in workplace.servers:
        for lease in (f"{place}/specdoctor-port-{server.port}-user-{os.geteuid()}.lease" for place in SHARED_PLACES):
            Path(lease).unlink(missing_ok=True)


def loaded(name: str) -> SimpleNamespace:
    """The names of one remote module with all its parts, made from the joined text as the host sees it."""
    names: dict[str, Any] = {"__name__": f"remote.{name}"}
    exec(compile(joined_parts(name), f"<{name}>", "exec"), names)
    return SimpleNamespace(**names)
