"""`specdoctor lab up` in a process of its own, and the server on it as the kernel shows it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("specdoctor")
SCALE = 0.1
"""Everything on the practice host takes a tenth of its time, so figures typed by its user would be wrong there."""

UP_S = 150.0
MADE_ANEW = (b"INVOCATION_ID=", b"JOURNAL_STREAM=")
POLL_S = 0.05
FORKED_S = 1.0
END_WITH_PARENT = """
import ctypes, os, signal, sys
PR_SET_PDEATHSIG = 1
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Runs a command that the kernel interrupts when its parent is gone: killed tests leave no practice host behind."""

KIMI_KEY = "sk-eagle-3f9b61c2d8"
"""The API key in the launch line of the world kimi-k2.5-eagle3."""


@dataclass(frozen=True)
class Server:
    """The main process of the server: what a restored one must have in common with the one found."""

    pid: int
    argv: tuple[str, ...]
    environment: frozenset[bytes]
    affinity: frozenset[int]
    cwd: str

    @property
    def lasting_environment(self) -> frozenset[bytes]:
        """The environment without what systemd makes anew for each start."""
        return frozenset(word for word in self.environment if not word.startswith(MADE_ANEW))

    @property
    def surroundings(self) -> tuple[object, ...]:
        return (self.argv, self.lasting_environment, self.affinity, self.cwd)


class Practice:
    """A practice host that lives until `stop`. `state` is its folder; it must not exist yet, or be empty."""

    def __init__(self, world: str, state: Path, *, scale: float = SCALE) -> None:
        self.state = state
        self._log = state.with_name(state.name + ".log")
        self._at_start: tuple[object, ...] = ()
        home = state.with_name(state.name + "-home")
        home.mkdir(parents=True)
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LAB_TIME_SCALE": str(scale)}
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", END_WITH_PARENT, str(PROGRAM), "lab", "up", world, "--state-dir", str(state)],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def await_up(self) -> Practice:
        """Wait for the instructions that `lab up` prints when everything runs."""
        if not eventually(lambda: "Ctrl-C stops it." in self.printed or self.process.poll() is not None, within_s=UP_S):
            self.stop()
            raise AssertionError(f"not up after {UP_S:.0f} s:\n{self.printed}")
        assert self.process.poll() is None, self.printed
        self._at_start = self._state()
        return self

    def as_started(self) -> bool:
        """Whether server and home are as they were when the host came up; the server's process may be another."""
        return self.process.poll() is None and self._state() == self._at_start

    def _state(self) -> tuple[object, ...]:
        server = self.server()
        return (server and server.argv, server and server.environment, self.files_at_home())

    def stop(self) -> int:
        """Ctrl-C; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
        return self.process.wait()

    @property
    def printed(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    @property
    def config(self) -> Path:
        return self.state / "ssh_config"

    @property
    def home(self) -> Path:
        return self.state / "home"

    @property
    def server_log(self) -> Path:
        """The log that the server of the world writes to."""
        return Path(self.told("log"))

    def told(self, label: str) -> str:
        """What `lab up` told its user to type, or where to look."""
        return self._printed_word(rf"^  {label} +(.+)$")

    @property
    def target(self) -> tuple[str, ...]:
        """The words that name this host on a command line."""
        return ("ssh://lab", "--ssh-config", str(self.config))

    @property
    def ssh_port(self) -> int:
        return int(self._printed_word(r"ssh://\w+@127\.0\.0\.1:(\d+)"))

    @property
    def server_port(self) -> int:
        return int(self._printed_word(r"running, pid \d+, port (\d+)"))

    def _printed_word(self, pattern: str) -> str:
        found = re.search(pattern, self.printed, re.MULTILINE)
        assert found is not None, self.printed
        return found.group(1)

    def server(self) -> Server | None:
        """The server's main process, None while there is none. Several at once are an error."""
        found = self._servers()
        if len(found) > 1:
            # A child shows its parent's command line between fork and exec: what is a second server stays one.
            eventually(lambda: len(self._servers()) <= 1, within_s=FORKED_S)
            found = self._servers()
        assert len(found) <= 1, found
        return found[0] if found else None

    def _servers(self) -> list[Server]:
        mark = f"LAB_STATE={self.state}".encode()
        return [s for pid in _pids() if (s := _read_server(pid, mark)) is not None]

    def running(self) -> Server:
        server = self.server()
        assert server is not None, "no server runs"
        return server

    def bind_server(self, cpus: set[int]) -> None:
        """Bind the running server to these CPUs, so that the restored one has something to be equal in."""
        pid = self.running().pid
        for thread in Path(f"/proc/{pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), cpus)

    def healthy(self) -> bool:
        """Whether the server answers a request that carries the key of its command line."""
        server = self.server()
        words = list(server.argv) if server is not None else []
        key = words[words.index("--api-key") + 1] if "--api-key" in words else ""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.server_port}/get_model_info", headers={"Authorization": f"Bearer {key}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def files_at_home(self) -> set[str]:
        """What lies in the home on the host, relative to it."""
        return {str(path.relative_to(self.home)) for path in self.home.rglob("*")}


def check_put_back(practice: Practice, found: Server, files: set[str]) -> None:
    """The server is like the one found, it serves, and nothing else is left on the host."""
    now = practice.running()
    assert now.surroundings == found.surroundings
    assert practice.healthy()
    left = practice.files_at_home()
    assert left == files, f"{sorted(left ^ files)}"


def eventually(condition: Callable[[], bool], *, within_s: float) -> bool:
    """Whether the condition comes true in time."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def _pids() -> Sequence[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def _read_server(pid: int, mark: bytes) -> Server | None:
    entry = Path(f"/proc/{pid}")
    try:
        argv = (entry / "cmdline").read_bytes().rstrip(b"\0").decode(errors="replace").split("\0")
        if "--model-path" not in argv or Path(argv[0]).name not in ("python", "python3", "sglang"):
            return None
        environment = frozenset((entry / "environ").read_bytes().rstrip(b"\0").split(b"\0"))
        if mark not in environment:
            return None
        affinity = frozenset(os.sched_getaffinity(pid))
        return Server(pid, tuple(argv), environment, affinity, str((entry / "cwd").readlink()))
    except OSError:
        return None
