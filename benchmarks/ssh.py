"""Checks over one connection against one new ssh connection for each check, and ControlMaster beside them."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.rows import Row, judged, quick, skipped
from specdoctor.core.host import Host

CHECKS = 50
COMMAND = ("cat", "/proc/loadavg")
GOAL = 20.0
LIMIT_S = 20.0
ALIAS = "bench-host"


@dataclass(frozen=True)
class Daemon:
    """A real sshd on loopback and the ssh configuration that leads to it."""

    config: Path
    log: Path

    def ssh(self, *options: str, command: tuple[str, ...] = COMMAND) -> list[str]:
        return ["ssh", "-F", str(self.config), *options, ALIAS, *command]


def why_not() -> str:
    """Why sshd and ssh cannot be used here, or nothing."""
    if not sshd_program() or not shutil.which("ssh") or not shutil.which("ssh-keygen"):
        return "no sshd and ssh on this machine (Debian: apt-get install openssh-server)"
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    return ""


def sshd_program() -> str:
    return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin") or ""


@contextmanager
def daemon(folder: Path) -> Iterator[Daemon]:
    """An sshd that knows one key; it ends with the block."""
    for name in ("host", "user"):
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(argv, check=True, timeout=LIMIT_S)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    lines = [f"Port {port}", "ListenAddress 127.0.0.1", f"AuthorizedKeysFile {folder}/user.pub", "StrictModes no"]
    # Without SHLVL bash takes sshd for rshd and reads the start files of whoever runs this at each command.
    lines += ["SetEnv SHLVL=5", "UsePAM no", "PidFile none", "PasswordAuthentication no", f"HostKey {folder}/host"]
    (folder / "sshd_config").write_text("\n".join([*lines, "Subsystem sftp internal-sftp", ""]))
    kind, key = (folder / "host.pub").read_text().split()[:2]
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {kind} {key}\n")
    client = [f"Host {ALIAS}", "HostName 127.0.0.1", f"Port {port}", f"User {pwd.getpwuid(os.getuid()).pw_name}"]
    client += [f"IdentityFile {folder}/user", "IdentitiesOnly yes", f"UserKnownHostsFile {folder}/known_hosts"]
    (folder / "ssh_config").write_text("\n  ".join([*client, "BatchMode yes", "ControlPath none"]) + "\n")
    log = folder / "sshd.log"
    with log.open("wb") as stream:
        running = subprocess.Popen([sshd_program(), "-D", "-e", "-f", str(folder / "sshd_config")], stderr=stream)
        try:
            await_port(port)
            yield Daemon(config=folder / "ssh_config", log=log)
        finally:
            running.terminate()
            running.wait(LIMIT_S)


def await_port(port: int) -> None:
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise RuntimeError("sshd does not listen")


def each_anew(there: Daemon, checks: int) -> float:
    """Seconds for one new connection per check."""
    began = time.monotonic()
    for _ in range(checks):
        subprocess.run(there.ssh(), check=True, capture_output=True, timeout=LIMIT_S)
    return time.monotonic() - began


def over_master(there: Daemon, checks: int, folder: Path) -> float:
    """Seconds through a ControlMaster, its start included."""
    place = ["-o", f"ControlPath={folder}/master"]
    began = time.monotonic()
    subprocess.run(
        there.ssh("-M", "-N", "-f", *place, command=()), check=True, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, timeout=LIMIT_S,
    )  # fmt: skip
    for _ in range(checks):
        subprocess.run(there.ssh(*place), check=True, capture_output=True, timeout=LIMIT_S)
    took = time.monotonic() - began
    subprocess.run(there.ssh("-O", "exit", *place, command=()), check=False, capture_output=True, timeout=LIMIT_S)
    return took


def opened(there: Daemon, transport: Literal["paramiko", "openssh"]) -> Host:
    from specdoctor.transports.connect import connect

    return connect(f"ssh://{ALIAS}", config_file=str(there.config), ssh_transport=transport)


def in_one_program(there: Daemon, checks: int) -> float:
    """Seconds for one program that reads what all checks want, sent as the probe is; logging in included."""
    program = f"for _ in range({checks}):\n    print(open({COMMAND[1]!r}).read())\n"
    began = time.monotonic()
    host = opened(there, "paramiko")
    try:
        if host.run(("python3", "-I", "-S", "-"), stdin=program.encode()).text.count("/") != checks:
            raise RuntimeError("the program did not read everything")
        return time.monotonic() - began
    finally:
        host.close()


def one_by_one(there: Daemon, checks: int, transport: Literal["paramiko", "openssh"]) -> float:
    """Seconds for a command of its own for each check, all over one connection; logging in included."""
    began = time.monotonic()
    host = opened(there, transport)
    try:
        for _ in range(checks):
            if host.run(COMMAND).exit_code != 0:
                raise RuntimeError("the check failed")
        return time.monotonic() - began
    finally:
        host.close()


def whole_snapshot(there: Daemon) -> float:
    """Seconds for everything that a snapshot reads of this machine; logging in included."""
    from specdoctor.assembly.connections import connect_operations
    from specdoctor.core.operations import SnapshotRequest

    began = time.monotonic()
    operations = connect_operations(f"ssh://{ALIAS}", ssh_config=there.config)
    try:
        operations.snapshot(SnapshotRequest())
        return time.monotonic() - began
    finally:
        operations.close()


def rows() -> Iterator[Row]:
    checks = CHECKS
    what = f"{checks} checks read by one program over one connection"
    reason = why_not()
    if reason:
        yield skipped(what, reason)
        return
    with tempfile.TemporaryDirectory(prefix="sb") as name, daemon(Path(name)) as there:
        one_by_one(there, 1, "paramiko")  # imports are no part of it
        ways: dict[str, Callable[[], float]] = {
            "anew": lambda: each_anew(there, checks),
            "program": lambda: in_one_program(there, checks),
            "paramiko": lambda: one_by_one(there, checks, "paramiko"),
            "openssh": lambda: one_by_one(there, checks, "openssh"),
            "master": lambda: over_master(there, checks, Path(name)),
            "snapshot": lambda: whole_snapshot(there),
        }
        rounds = [{way: measure() for way, measure in ways.items()} for _ in range(1 if quick() else 2)]
    best = {way: min(each[way] for each in rounds) for way in ways}
    anew, master = f"{best['anew']:.2f} s (ssh each time)", f"{best['master']:.2f} s (ControlMaster)"
    ratio = best["anew"] / best["program"]
    note = (
        f"ssh: seconds for {checks} times `{' '.join(COMMAND)}`, logging in included, least of {len(rounds)} rounds. A "
        "snapshot reads for all checks in one program; commands of their own are sent where one has to follow another, "
        "each under a time limit on the host, which costs a few processes there."
    )
    met = judged(ratio >= GOAL)
    yield Row(what, f"{best['program']:.2f} s", anew, f"{ratio:.1f} x", f">= {GOAL:.0f} x", met, (note,))
    yield Row("  the same", f"{best['program']:.2f} s", master, f"{best['master'] / best['program']:.1f} x")
    for way, words in (("paramiko", "own SSH"), ("openssh", "the ssh client")):
        ours = f"{best[way]:.2f} s"
        yield Row(f"  a command for each, {words}", ours, anew, f"{best['anew'] / best[way]:.1f} x")
        yield Row(f"  a command for each, {words}", ours, master, f"{best['master'] / best[way]:.1f} x")
    yield Row("  a whole snapshot of this machine", f"{best['snapshot']:.2f} s")
