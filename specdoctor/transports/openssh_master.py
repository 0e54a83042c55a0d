"""The system's ssh client as a master: opened with the user's own configuration, left as soon as nobody holds it."""

from __future__ import annotations

import os
import selectors
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from specdoctor.core.errors import HostUnreachable, UsageError
from specdoctor.core.model import Frozen
from specdoctor.transports.openssh_failure import login_failure
from specdoctor.transports.openssh_mux import ControlConnection, MuxGone
from specdoctor.transports.output import LineFeed
from specdoctor.transports.ssh_destination import SshDestination
from specdoctor.transports.ssh_host_key import Notice
from specdoctor.transports.ssh_route import DEFAULT_CONNECT_TIMEOUT_S, DEFAULT_KEEPALIVE_S, Settings

LINGER_S = 20
"""A master that nobody holds any more ends by itself after this long: specdoctor may have been killed."""

QUIET_LOGIN_S = 90.0
ASKING_LOGIN_S = 300.0
"""How long a log-in may take when nobody is asked, and when a person may have to find their hardware key."""

GREETING_S = 20.0
_END_S = 5.0
_PREFIX = "specdoctor-ssh-"
_SOCKET = "s"
# A path in a sockaddr_un has 104 bytes on some systems; while it binds, ssh appends a dot and 16 characters.
_LONGEST_PATH = 103 - 17
_STALE_S = 3600.0
_KEPT_BYTES = 65536
_FROM_PROXY = "UNKNOWN port"
"""How ssh names the other side of a connection that is a pipe to another program."""


class MasterOrder(Frozen):
    """How to log in. `asking`: a person sits at the terminal and can be asked by ssh itself."""

    destination: SshDestination
    config_file: str | None = None
    accept_new: bool = False
    asking: bool = False
    connect_timeout_s: float | None = None
    keepalive_s: float | None = None


def master_order(
    destination: SshDestination, settings: Settings, *, config_file: str | None, accept_new: bool, asking: bool
) -> MasterOrder:
    """The order for a destination whose configuration says `settings` (as `ssh -G` prints them).

    Limits are ours where the user's configuration has none; what it says about host keys is only ever loosened by
    `accept_new`, which the user asked for, and never beyond recording a host not seen before.
    """

    def says_nothing(keyword: str) -> bool:
        return (settings.get(keyword) or ["none"])[0].lower() in {"none", "0", ""}

    strict = (settings.get("stricthostkeychecking") or ["ask"])[0].lower()
    return MasterOrder(
        destination=destination,
        config_file=config_file,
        accept_new=accept_new and strict not in {"no", "off", "false"},
        asking=asking,
        connect_timeout_s=DEFAULT_CONNECT_TIMEOUT_S if says_nothing("connecttimeout") else None,
        keepalive_s=DEFAULT_KEEPALIVE_S if says_nothing("serveraliveinterval") else None,
    )


def master_argv(program: str, order: MasterOrder, control_path: str) -> tuple[str, ...]:
    """The command line of the master. Options before the name; the name can be no option."""
    options = {
        "ControlMaster": "yes",
        "ControlPath": control_path.replace("%", "%%"),
        "ControlPersist": str(LINGER_S),
        "ClearAllForwardings": "yes",
        "ForwardAgent": "no",
        "ForwardX11": "no",
        "PermitLocalCommand": "no",
        "RemoteCommand": "none",
        "RequestTTY": "no",
        "LogLevel": "INFO",
    }
    if not order.asking:
        options["BatchMode"] = "yes"
    if order.accept_new:
        options["StrictHostKeyChecking"] = "accept-new"
    if order.connect_timeout_s:
        options["ConnectTimeout"] = f"{order.connect_timeout_s:.0f}"
    if order.keepalive_s:
        options["ServerAliveInterval"] = f"{order.keepalive_s:.0f}"
    place = order.destination
    argv = [program, "-F", order.config_file] if order.config_file else [program]
    argv += ["-M", "-N", *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]
    argv += ["-p", str(place.port)] if place.port else []
    argv += ["-l", place.user] if place.user else []
    return (*argv, "--", place.host)


class Master:
    """A connection that the system's ssh client holds in the background, and the thread of life to it.

    The client ends LINGER_S after the last connection to its socket is closed. `_life` is one that is kept open, so the
    client lives as long as this object, and not much longer than a specdoctor that was killed.
    """

    def __init__(self, order: MasterOrder, *, on_notice: Notice) -> None:
        """Log in; ssh itself asks on the terminal if `order.asking`, and `on_notice` is told what it says besides.

        Raises UsageError without an ssh client, and HostUnreachable, HostKeyUnknown, HostKeyChanged or
        AuthenticationRefused with what ssh said.
        """
        program = ssh_program()
        self._folder = _private_folder()
        self.path = str(self._folder / _SOCKET)
        complete = False
        try:
            _log_in(master_argv(program, order, self.path), order, on_notice)
            self._life = ControlConnection(self.path, timeout_s=GREETING_S)
            complete = True
        except MuxGone as error:
            raise HostUnreachable(
                f"{order.destination.host}: ssh logged in and was gone at once ({error})",
                tried=f"its control socket {self.path}",
                next_step="Try again; if it stays so, use --ssh paramiko, or report it with your version of ssh.",
            ) from error
        finally:
            if not complete:
                shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def alive(self) -> bool:
        return self._life.alive

    def close(self) -> None:
        """End the client and what still runs over it; nothing of it is left."""
        self._life.end_master(timeout_s=_END_S)
        self._life.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def ssh_program() -> str:
    """Where the system's ssh client is. Raises UsageError."""
    program = shutil.which("ssh")
    if program is None:
        raise UsageError(
            "the openssh transport needs the ssh client, and there is none here",
            tried="ssh on the PATH",
            next_step="install it (Debian: apt-get install openssh-client), or use --ssh paramiko",
        )
    return program


def _log_in(argv: Sequence[str], order: MasterOrder, on_notice: Notice) -> None:
    limit_s = ASKING_LOGIN_S if order.asking else QUIET_LOGIN_S
    code, said = _to_its_end(argv, limit_s=limit_s, asking=order.asking, on_notice=on_notice)
    if code == 0:
        return
    if _FROM_PROXY in said:
        # A client that goes to the background keeps what its jump host or proxy command says to itself.
        said += _to_its_end(in_foreground(argv), limit_s=QUIET_LOGIN_S, asking=False, on_notice=on_notice)[1]
    raise login_failure(order.destination.host, said, code=code, asking=order.asking, config=order.config_file)


def in_foreground(argv: Sequence[str]) -> tuple[str, ...]:
    """The same log-in to see why it fails: no master, no questions, nothing that stays."""
    words = [word for word in argv if word not in {"-M", "-N"}]
    return (words[0], "-o", "BatchMode=yes", "-o", "ControlMaster=no", "-o", "ControlPath=none", *words[1:], "true")


def _to_its_end(argv: Sequence[str], *, limit_s: float, asking: bool, on_notice: Notice) -> tuple[int, str]:
    """Exit code and standard error of an ssh that logs in; raises HostUnreachable when it takes too long."""
    # In a session of its own neither ssh nor the client of a jump host finds a terminal to ask on.
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=dict(os.environ) if asking else {**os.environ, "SSH_ASKPASS_REQUIRE": "never"},
        start_new_session=not asking,
    )
    try:
        said = _listen(process, time.monotonic() + limit_s, LineFeed(on_notice if asking else None))
        return process.wait(timeout=_END_S), said
    except subprocess.TimeoutExpired as error:
        raise HostUnreachable(
            f"{argv[-1]}: ssh did not log in within {limit_s:g} s",
            tried=f"ssh {argv[-1]}",
            next_step=f"Make this work first:  ssh {argv[-1]} true",
        ) from error
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        if process.stderr is not None:
            process.stderr.close()


def _listen(process: subprocess.Popen[bytes], deadline: float, lines: LineFeed) -> str:
    """What ssh wrote to standard error until it ended or went to the background, told line by line meanwhile."""
    stream, said = process.stderr, b""
    assert stream is not None
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while selector.select(timeout=max(0.0, deadline - time.monotonic())):
            chunk = os.read(stream.fileno(), _KEPT_BYTES)
            if not chunk:
                return said.decode("utf-8", errors="replace")
            said = (said + chunk)[-_KEPT_BYTES:]
            lines.add(chunk)
    raise subprocess.TimeoutExpired(process.args, deadline)


def _private_folder() -> Path:
    """A fresh folder for a control socket that only this user can enter, with a path short enough for one."""
    for base in dict.fromkeys((os.environ.get("XDG_RUNTIME_DIR") or "", tempfile.gettempdir(), "/tmp")):
        if not base or len(os.fsencode(f"{base}/{_PREFIX}12345678/{_SOCKET}")) > _LONGEST_PATH:
            continue
        with suppress(OSError):
            sweep(Path(base))
        with suppress(OSError):
            return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
    raise UsageError(
        "no folder can hold the control socket of ssh",
        tried=f"XDG_RUNTIME_DIR, {tempfile.gettempdir()} and /tmp: writable, and with a short path",
        next_step="set TMPDIR to a short path that can be written to, or use --ssh paramiko",
    )


def sweep(base: Path) -> None:
    """Remove what specdoctors that were killed have left: folders of this user, old, in which no master listens."""
    for folder in base.glob(f"{_PREFIX}*"):
        state = folder.lstat()
        if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid() or time.time() - state.st_mtime < _STALE_S:
            continue
        try:
            ControlConnection(str(folder / _SOCKET), timeout_s=1.0).close()
        except MuxGone:
            shutil.rmtree(folder, ignore_errors=True)
