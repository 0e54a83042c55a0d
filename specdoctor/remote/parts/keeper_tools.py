"""Running a keeper's own commands: as this login where it may, else through `sudo -n`; never through a shell."""

import contextlib
import os
import subprocess
import threading
from typing import Any, Dict, Optional, Sequence, Tuple

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.commands import run_command

RUN = os.environ.get("HOST_RUN") or "/run"
SUDO = ("sudo", "-n")
ASK_S = 15.0
COPY_STEP_S = 0.5
DENIED = ("permission denied", "interactive authentication required", "access denied", "not authorized")


def is_root() -> bool:
    return os.geteuid() == 0


def may_sudo() -> bool:
    """Whether root's rights are to be had without a password."""
    return bool(run_command([*SUDO, "true"], ASK_S)["exit_code"] == 0)


def said(reply: Dict[str, Any]) -> str:
    """What a command that failed said, in one line."""
    words = str(reply["error"] or reply["stdout"] or "exit %s" % reply["exit_code"])
    return " | ".join(line.strip() for line in words.splitlines()[-3:] if line.strip())[:300]


def done_or_refused(argv: Sequence[str], timeout_s: float, env: Optional[Dict[str, str]] = None) -> str:
    """Standard output of a command that has to succeed. Raises Refusal with its own words."""
    reply = run_command(argv, timeout_s, env)
    if reply["exit_code"] != 0:
        raise Refusal("keeper-refused", "`%s` failed: %s" % (" ".join(argv[:6]), said(reply)))
    return str(reply["stdout"])


def by_right(argv: Sequence[str], env: Optional[Dict[str, str]] = None) -> Tuple[Dict[str, Any], Tuple[str, ...]]:
    """The reply of a reading command, and what had to stand before it: nothing, or sudo."""
    reply = run_command(argv, ASK_S, env, limit=1 << 24)
    if reply["exit_code"] == 0 or is_root() or not any(word in said(reply).lower() for word in DENIED):
        return reply, ()
    raised = run_command([*SUDO, *argv], ASK_S, env, limit=1 << 24)
    return (raised, SUDO) if raised["exit_code"] == 0 else (reply, ())


class LogCopy:
    """Copies what a keeper has collected of a server's output into a file, so that it can be watched as any log is."""

    def __init__(self, argv: Sequence[str], path: str, env: Optional[Dict[str, str]] = None) -> None:
        self.argv = list(argv)
        self.path = path
        self.env = env
        self.copied = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        with contextlib.suppress(OSError), open(self.path, "ab"):  # without it a start is known by its port alone
            os.chmod(self.path, 0o600)
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        self._thread.join(ASK_S + 2 * COPY_STEP_S)  # a command that does not end even when killed is not waited for

    def _run(self) -> None:
        while not self._end.wait(COPY_STEP_S):
            self._copy()
        self._copy()

    def _copy(self) -> None:
        """Everything since the start is asked for each time; what was copied before is left out."""
        try:
            reply = subprocess.run(
                self.argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=dict(os.environ if self.env is None else self.env, LC_ALL="C"),
                timeout=ASK_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return
        lines = reply.stdout[: reply.stdout.rfind(b"\n") + 1] if reply.returncode == 0 else b""
        if len(lines) > self.copied:
            with contextlib.suppress(OSError), open(self.path, "ab") as log:
                log.write(lines[self.copied :])
            self.copied = len(lines)
