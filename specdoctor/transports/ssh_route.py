"""How to get to a host: each machine on the way with the settings that count there, read from `ssh -G`."""

from __future__ import annotations

import hashlib
import os
import pwd
import re
import socket
from collections.abc import Mapping, Sequence
from typing import Literal

from specdoctor.core.errors import UsageError
from specdoctor.core.input_file import expanded as home_followed
from specdoctor.core.model import Frozen

StrictMode = Literal["yes", "ask", "accept-new", "no"]
AddressFamily = Literal["any", "inet", "inet6"]
Settings = Mapping[str, Sequence[str]]

DEFAULT_PORT = 22
DEFAULT_CONNECT_TIMEOUT_S = 15.0
DEFAULT_KEEPALIVE_S = 15.0

_STRICT_MODES: dict[str, StrictMode] = {
    "yes": "yes",
    "true": "yes",
    "ask": "ask",
    "accept-new": "accept-new",
    "no": "no",
    "off": "no",
    "false": "no",
}
_FAMILIES: dict[str, AddressFamily] = {"any": "any", "inet": "inet", "inet6": "inet6"}
_ENVIRONMENT = re.compile(r"\$\{([^}]+)\}")
_PERCENT = re.compile(r"%(.)")


class SshHop(Frozen):
    """One machine on the way, with the settings that count for it. Paths are absolute, tokens are replaced.

    `agent` is the socket of the authentication agent, None for none. `proxy_command` is set for the first hop only.
    """

    alias: str
    hostname: str
    port: int = DEFAULT_PORT
    user: str
    identity_files: tuple[str, ...] = ()
    identities_only: bool = False
    user_known_hosts: tuple[str, ...] = ()
    global_known_hosts: tuple[str, ...] = ()
    revoked_host_keys: str | None = None
    strict_host_key_checking: StrictMode = "ask"
    hash_known_hosts: bool = False
    host_key_alias: str | None = None
    connect_timeout_s: float = DEFAULT_CONNECT_TIMEOUT_S
    keepalive_s: float = DEFAULT_KEEPALIVE_S
    keepalive_count: int = 3
    address_family: AddressFamily = "any"
    agent: str | None = None
    proxy_command: str | None = None

    @property
    def address(self) -> str:
        host = f"[{self.hostname}]" if ":" in self.hostname else self.hostname
        return host if self.port == DEFAULT_PORT else f"{host}:{self.port}"


class SshRoute(Frozen):
    """The way to a host: jump hosts first, itself last. `notes` say what of the configuration is not followed.

    `client_only` lists the settings on the way that only the system's own client can follow.
    """

    hops: tuple[SshHop, ...]
    config_file: str | None = None
    notes: tuple[str, ...] = ()
    client_only: tuple[str, ...] = ()

    @property
    def target(self) -> SshHop:
        return self.hops[-1]


def parse_settings(text: str) -> dict[str, list[str]]:
    """The lines of `ssh -G` as keyword (lower case) to values, in their order."""
    settings: dict[str, list[str]] = {}
    for line in text.splitlines():
        keyword, _, value = line.strip().partition(" ")
        if keyword:
            settings.setdefault(keyword.lower(), []).append(value.strip())
    return settings


def proxy_jumps(settings: Settings) -> tuple[str, ...]:
    """The jump hosts of a host's own configuration, the first one to be reached first."""
    value = _one(settings, "proxyjump", "none")
    return () if value.lower() == "none" else tuple(part.strip() for part in value.split(","))


def hop_from_settings(alias: str, settings: Settings, *, environ: Mapping[str, str], jumped: bool) -> SshHop:
    """One hop out of the settings `ssh -G` prints for `alias`.

    `jumped` says that jump hosts lead to it, so that a proxy command does not count. Raises UsageError when a setting
    cannot be understood.
    """
    hostname = _one(settings, "hostname", alias)
    user = _one(settings, "user", "") or pwd.getpwuid(os.getuid()).pw_name
    port = _integer(alias, settings, "port", DEFAULT_PORT)
    host_key_alias = _one(settings, "hostkeyalias", "") or None
    tokens = _tokens(alias=alias, hostname=hostname, port=port, user=user, host_key_alias=host_key_alias, jump="")
    proxy_command = _one(settings, "proxycommand", "none")
    interval_s = _integer(alias, settings, "serveraliveinterval", 0)
    return SshHop(
        alias=alias,
        hostname=hostname,
        port=port,
        user=user,
        identity_files=_paths(settings.get("identityfile", ()), tokens, environ),
        identities_only=_one(settings, "identitiesonly", "no") in {"yes", "true"},
        user_known_hosts=_paths(_split_paths(_one(settings, "userknownhostsfile", "")), tokens, environ),
        global_known_hosts=_paths(_split_paths(_one(settings, "globalknownhostsfile", "")), tokens, environ),
        revoked_host_keys=next(iter(_paths(settings.get("revokedhostkeys", ()), tokens, environ)), None),
        strict_host_key_checking=_STRICT_MODES.get(_one(settings, "stricthostkeychecking", "ask").lower(), "yes"),
        hash_known_hosts=_one(settings, "hashknownhosts", "no") in {"yes", "true"},
        host_key_alias=host_key_alias,
        connect_timeout_s=float(_integer(alias, settings, "connecttimeout", 0)) or DEFAULT_CONNECT_TIMEOUT_S,
        keepalive_s=float(interval_s) if interval_s > 0 else DEFAULT_KEEPALIVE_S,
        keepalive_count=max(1, _integer(alias, settings, "serveralivecountmax", 3)),
        address_family=_FAMILIES.get(_one(settings, "addressfamily", "any").lower(), "any"),
        agent=_agent_socket(_one(settings, "identityagent", ""), tokens, environ),
        proxy_command=None if jumped or proxy_command.lower() == "none" else _expand(proxy_command, tokens),
    )


def notes_on(alias: str, settings: Settings) -> tuple[str, ...]:
    """What of a host's configuration this transport does not follow, each with what happens instead."""
    notes = []
    strict = _one(settings, "stricthostkeychecking", "ask").lower()
    if _STRICT_MODES.get(strict) == "no":
        notes.append(
            f"{alias}: StrictHostKeyChecking {strict} in the ssh configuration is not followed: unknown and changed "
            "host keys are refused"
        )
    if _one(settings, "knownhostscommand", "none").lower() != "none":
        notes.append(f"{alias}: KnownHostsCommand is not run; only known_hosts files are read")
    if _one(settings, "certificatefile", ""):
        notes.append(
            f"{alias}: CertificateFile is not read; a certificate counts if it lies beside its key as KEY-cert.pub"
        )
    return tuple(notes)


def _one(settings: Settings, keyword: str, default: str) -> str:
    values = settings.get(keyword)
    return values[0] if values else default


def _integer(alias: str, settings: Settings, keyword: str, default: int) -> int:
    value = _one(settings, keyword, "none")
    if value.lower() == "none":
        return default
    try:
        return int(value)
    except ValueError as error:
        raise UsageError(
            f"{alias}: {keyword} in the ssh configuration is {value!r}, expected a whole number",
            tried=f"ssh -G {alias}",
            next_step="Correct the entry in the ssh configuration.",
        ) from error


def _split_paths(value: str) -> list[str]:
    """`ssh -G` prints several paths unquoted on one line; a word that starts no path belongs to the path before it."""
    paths: list[str] = []
    for word in value.split(" "):
        if paths and word and word[0] not in "/~%$" and word.lower() != "none":
            paths[-1] += f" {word}"
        elif word:
            paths.append(word)
    return paths


def _paths(values: Sequence[str], tokens: Mapping[str, str], environ: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(_path(value, tokens, environ) for value in values if value.lower() != "none")


def _path(value: str, tokens: Mapping[str, str], environ: Mapping[str, str]) -> str:
    with_environment = _ENVIRONMENT.sub(lambda match: environ.get(match.group(1), match.group()), value)
    expanded = _expand(with_environment, tokens)
    if expanded == "~" or expanded.startswith("~/"):
        return tokens["d"] + expanded[1:]
    return str(home_followed(expanded)) if expanded.startswith("~") else expanded


def _agent_socket(value: str, tokens: Mapping[str, str], environ: Mapping[str, str]) -> str | None:
    if value.lower() == "none":
        return None
    if value in {"", "SSH_AUTH_SOCK"}:
        return environ.get("SSH_AUTH_SOCK") or None
    if re.fullmatch(r"\$\w+", value):
        return environ.get(value[1:]) or None
    return _path(value, tokens, environ)


def _tokens(
    *, alias: str, hostname: str, port: int, user: str, host_key_alias: str | None, jump: str
) -> dict[str, str]:
    """The percent tokens of ssh_config(5) that can stand in paths and commands."""
    account = pwd.getpwuid(os.getuid())
    local_name = socket.gethostname()
    return {
        "%": "%",
        "d": account.pw_dir,
        "h": hostname,
        "i": str(os.getuid()),
        "j": jump,
        "k": host_key_alias or alias,
        "L": local_name.split(".", maxsplit=1)[0],
        "l": local_name,
        "n": alias,
        "p": str(port),
        "r": user,
        "u": account.pw_name,
        "C": hashlib.sha1(f"{local_name}{hostname}{port}{user}{jump}".encode(), usedforsecurity=False).hexdigest(),
    }


def _expand(value: str, tokens: Mapping[str, str]) -> str:
    return _PERCENT.sub(lambda match: tokens.get(match.group(1), match.group()), value)
