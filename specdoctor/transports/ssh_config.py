"""From a destination to a route: asks the system's own ssh client what its configuration means."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from specdoctor.core.errors import UsageError
from specdoctor.core.input_file import InputRefused, open_input
from specdoctor.transports.openssh_needs import needs_system_client
from specdoctor.transports.ssh_destination import SshDestination, parse_destination
from specdoctor.transports.ssh_route import (
    Settings,
    SshHop,
    SshRoute,
    hop_from_settings,
    notes_on,
    parse_settings,
    proxy_jumps,
)

MAX_HOPS = 16
READ_TIMEOUT_S = 20.0

SettingsOf = Callable[[SshDestination], Settings]
"""What the configuration says about one destination, keyword by keyword, as `ssh -G` prints it."""

_SYSTEM_CONFIG = "/etc/ssh/ssh_config"
_READER_DEFAULTS: Settings = {
    "identityfile": ("~/.ssh/id_rsa", "~/.ssh/id_ecdsa", "~/.ssh/id_ed25519"),
    "userknownhostsfile": ("~/.ssh/known_hosts ~/.ssh/known_hosts2",),
    "globalknownhostsfile": ("/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2",),
}


def resolve_route(
    destination: str | SshDestination, *, config_file: str | None = None, environ: Mapping[str, str] | None = None
) -> SshRoute:
    """The way to `destination` by the user's ssh configuration, or by `config_file` alone (as with `ssh -F`).

    Host, Include, Match, ProxyJump chains and tokens mean what they mean to `ssh`, because `ssh -G` is asked. Without
    an ssh client a plain reader is used, which knows no Include; a note says so. Raises UsageError for a destination
    or configuration that cannot be used, and for jump hosts that lead in a circle.
    """
    target = parse_destination(destination) if isinstance(destination, str) else destination
    if config_file is not None:
        _refuse_special(config_file)
    program = shutil.which("ssh")
    settings_of = plain_reader(config_file) if program is None else asking(program, config_file)
    route = walk_route(target, settings_of, environ=os.environ if environ is None else environ)
    notes = ("no ssh client here: Include in its configuration is not read",) if program is None else ()
    return route.model_copy(update={"config_file": config_file, "notes": (*notes, *route.notes)})


def walk_route(target: SshDestination, settings_of: SettingsOf, *, environ: Mapping[str, str]) -> SshRoute:
    """The way to `target` by the settings `settings_of` answers; raises UsageError as `resolve_route` does."""
    walk = _Walk(settings_of, environ)
    hops = walk.hops_to(target, via=None, above=())
    return SshRoute(hops=hops, notes=tuple(walk.notes), client_only=tuple(dict.fromkeys(walk.client_only)))


def plain_reader(config_file: str | None) -> SettingsOf:
    """Settings without an ssh client: Host, Match and tokens, but no Include. Raises UsageError for a bad file."""
    from paramiko.config import SSHConfig
    from paramiko.ssh_exception import ConfigParseError

    config = SSHConfig()
    paths = [Path(config_file)] if config_file else [Path("~/.ssh/config").expanduser(), Path(_SYSTEM_CONFIG)]
    for path in paths:
        try:
            with open_input(path, pipes=False) as file:
                config.parse(io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape"))
        except FileNotFoundError as error:
            if config_file:
                raise _unreadable(str(path), "no such file") from error
        except (OSError, ConfigParseError) as error:
            raise _unreadable(str(path), str(error)) from error

    def settings_of(destination: SshDestination) -> Settings:
        found = config.lookup(destination.host)
        settings = {key: value if isinstance(value, list) else [value] for key, value in found.items()}
        if destination.user:
            settings["user"] = [destination.user]
        if destination.port:
            settings["port"] = [str(destination.port)]
        return {**_READER_DEFAULTS, **settings}

    return settings_of


def _refuse_special(config_file: str) -> None:
    """Raise for what no ssh client can read several times to its end; a file that is not there it will name itself."""
    try:
        open_input(config_file, pipes=False).close()
    except InputRefused as error:
        raise _unreadable(config_file, str(error.strerror)) from error
    except OSError:
        return


class _Walk:
    """Follows jump hosts to their end; each is asked for with its own settings, as ssh does it."""

    def __init__(self, settings_of: SettingsOf, environ: Mapping[str, str]) -> None:
        self._settings_of = settings_of
        self._environ = environ
        self.notes: list[str] = []
        self.client_only: list[str] = []

    def hops_to(
        self, destination: SshDestination, *, via: tuple[str, ...] | None, above: tuple[SshHop, ...]
    ) -> tuple[SshHop, ...]:
        """The hops up to `destination`. `via` are jump hosts given from outside, None lets its configuration say."""
        settings = self._settings_of(destination)
        jumps = proxy_jumps(settings) if via is None else via
        hop = hop_from_settings(destination.host, settings, environ=self._environ, jumped=bool(jumps))
        _refuse_circle(hop, above)
        self.notes += notes_on(destination.host, settings)
        self.client_only += needs_system_client(
            {**settings, "proxycommand": (hop.proxy_command or "none",)},
            identity_files=hop.identity_files,
            environ=self._environ,
        )
        if not jumps:
            return (hop,)
        before = self.hops_to(parse_destination(jumps[-1]), via=jumps[:-1] or None, above=(*above, hop))
        return (*before, hop)


def _refuse_circle(hop: SshHop, above: tuple[SshHop, ...]) -> None:
    place = (hop.hostname.lower(), hop.port, hop.user)
    circle = any((other.hostname.lower(), other.port, other.user) == place for other in above)
    if not circle and len(above) < MAX_HOPS:
        return
    chain = " via ".join([other.alias for other in above] + [hop.alias])
    what = "the jump hosts lead in a circle" if circle else f"more than {MAX_HOPS} jump hosts"
    raise UsageError(
        f"{above[0].alias}: {what}: {chain}",
        tried="ProxyJump of each host in the ssh configuration",
        next_step=f"Take {hop.alias} out of its own way, for example with: Match host *,!{hop.alias}",
    )


def asking(program: str, config_file: str | None) -> SettingsOf:
    """Settings by asking the ssh client; UsageError for a destination whose settings it cannot make out."""

    def settings_of(destination: SshDestination) -> Settings:
        argv = [program, "-G"]
        argv += ["-F", config_file] if config_file else []
        argv += ["-p", str(destination.port)] if destination.port else []
        argv += ["-l", destination.user] if destination.user else []
        argv += ["--", destination.host]
        try:
            done = subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=READ_TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise _unreadable(
                f"ssh -G {destination}", f"no answer within {READ_TIMEOUT_S:g} s (a Match exec?)"
            ) from error
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", errors="replace").strip()
            raise _unreadable(f"ssh -G {destination}", said or f"exit {done.returncode}")
        return parse_settings(done.stdout.decode("utf-8", errors="surrogateescape"))

    return settings_of


def _unreadable(tried: str, came_back: str) -> UsageError:
    return UsageError(
        f"the ssh configuration cannot be used: {came_back}",
        tried=tried,
        next_step="Correct the ssh configuration, or name another one with --ssh-config FILE.",
    )
