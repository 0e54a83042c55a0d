"""A real sshd on loopback with a client's configuration, and the command line run against it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.transports.ssh_servers import OpenSshServer, make_key, why_no_sshd

ALIAS = "live"
PUT_BACK_S = 900.0
"""How long an interrupted investigation may take to put the server back."""


@dataclass(frozen=True)
class Outcome:
    """How an investigation ended: exit code, its document, how long it took."""

    code: int
    document: dict[str, Any]
    seconds: float
    said: str


class Ground:
    """One login, and the folder of a user who investigates."""

    def __init__(self, folder: Path, sshd: OpenSshServer, config: Path) -> None:
        self.folder = folder
        self._sshd = sshd
        self._config = config

    def investigate(self, *words: str, longest_s: float) -> Outcome:
        """Run the command line as its user would; after so long it is interrupted, and puts the server back."""
        program = Path(sys.executable).with_name("specdoctor")
        argv = [str(program), "investigate", f"ssh://{ALIAS}", "--ssh-config", str(self._config), "--json", *words]
        environment = {**os.environ, "HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder / "data")}
        begun = time.monotonic()
        with subprocess.Popen(
            argv, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        ) as run:  # fmt: skip
            try:
                told, said = run.communicate(timeout=longest_s)
            except subprocess.TimeoutExpired:
                put_back(run)
                return Outcome(-1, {}, longest_s, f"no end after {longest_s:.0f} s: it was interrupted")
            except BaseException:
                put_back(run)
                raise
        try:
            document = json.loads(told)
        except ValueError:
            document = {}
        return Outcome(run.returncode, document, time.monotonic() - begun, said)


def put_back(run: subprocess.Popen[str]) -> None:
    """Interrupt an investigation, which then puts the server back, and wait for that; a killed one would leave it to
    the guard on the host, which acts after we are gone.
    """
    run.send_signal(signal.SIGINT)
    try:
        run.communicate(timeout=PUT_BACK_S)
    except subprocess.TimeoutExpired:
        run.kill()


@contextmanager
def ground(folder: Path) -> Iterator[Ground]:
    """A login over a real sshd for as long as it is used; raises RuntimeError with the reason where there is none."""
    reason = why_no_sshd()
    if reason:
        raise RuntimeError(reason)
    folder.mkdir(parents=True, exist_ok=True)
    host_key, user_key = make_key(folder / "host_key"), make_key(folder / "user_key")
    sshd = OpenSshServer(folder / "sshd", [host_key], [user_key])
    known = folder / "known_hosts"
    known.write_text(sshd.server.known_hosts(), encoding="ascii")
    config = folder / "ssh_config"
    lines = [f"Host {ALIAS}", "  HostName 127.0.0.1", f"  Port {sshd.server.port}", f"  User {sshd.server.user}"]
    lines += [f"  IdentityFile {user_key.path}", "  IdentitiesOnly yes", f"  UserKnownHostsFile {known}"]
    config.write_text("\n".join(lines) + "\n", encoding="ascii")
    try:
        yield Ground(folder, sshd, config)
    finally:
        sshd.close()


def runs_again(argv: tuple[str, ...], port: int) -> bool:
    """Whether the server on our port has this very command line: an investigation must have put it back."""
    words = tuple(word.encode() for word in argv)
    return any(_words_of(pid) == words for pid in servers_on(port))


def _words_of(pid: int) -> tuple[bytes, ...]:
    try:
        return tuple(Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1])
    except OSError:
        return ()


def servers_on(port: int) -> list[int]:
    """Every process whose command line names this port of ours with `--port`."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in pids if (b"--port", str(port).encode()) in pairwise(_words_of(pid))]


def _with_descendants(pids: list[int]) -> list[int]:
    """These processes and their children, workers that carry other names included."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                told = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(told[1])
    found = set(pids)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found)


def stop_all_on(port: int) -> None:
    """End what a scenario has left on its own port, workers too, by process id."""
    left = _with_descendants(servers_on(port))
    for sent, patience_s in ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0)):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, sent)
        give_up = time.monotonic() + patience_s
        while any(_words_of(pid) for pid in left) and time.monotonic() < give_up:
            time.sleep(0.05)
        left = [pid for pid in left if _words_of(pid)]
