"""What in a user's ssh configuration only the system's own client can do."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from specdoctor.transports.ssh_route import Settings

_HARDWARE_KEY = "sk-"
_LONGEST_PUBLIC_KEY = 65536


def needs_system_client(
    settings: Settings,
    *,
    identity_files: tuple[str, ...],
    environ: Mapping[str, str],
    public_half: Callable[[str], str] | None = None,
) -> tuple[str, ...]:
    """The settings of one host (as `ssh -G` prints them) that our own SSH cannot follow, empty if it can.

    `identity_files` are its keys with absolute paths; `public_half` reads the public part of one (nothing if it cannot
    be read). GSSAPI counts only while there is a ticket, since many systems switch it on for everybody.
    """
    found = [name for keyword, name in _SET.items() if _is_set(settings, keyword)]
    if _value(settings, "gssapiauthentication") == "yes" and has_ticket(environ):
        found.append("GSSAPIAuthentication with a ticket")
    if "keyboard-interactive" in _value(settings, "preferredauthentications"):
        found.append("PreferredAuthentications with keyboard-interactive")
    read = public_half or _read_public_half
    found += [f"hardware key {path}" for path in identity_files if read(path).startswith(_HARDWARE_KEY)]
    return tuple(found)


_SET = {
    "proxycommand": "ProxyCommand",
    "proxyusefdpass": "ProxyUseFdpass",
    "certificatefile": "CertificateFile",
    "pkcs11provider": "PKCS11Provider",
    "securitykeyprovider": "SecurityKeyProvider",
    "knownhostscommand": "KnownHostsCommand",
}
_UNSET = {"", "none", "no", "internal"}


def has_ticket(environ: Mapping[str, str]) -> bool:
    """Whether this user seems to hold a Kerberos ticket."""
    return bool(environ.get("KRB5CCNAME")) or Path(f"/tmp/krb5cc_{os.getuid()}").exists()


def _value(settings: Settings, keyword: str) -> str:
    values = settings.get(keyword)
    return values[0].lower() if values else ""


def _is_set(settings: Settings, keyword: str) -> bool:
    return _value(settings, keyword) not in _UNSET


def _read_public_half(path: str) -> str:
    try:
        with Path(f"{path}.pub").open(encoding="ascii", errors="replace") as file:
            return file.read(_LONGEST_PUBLIC_KEY)
    except OSError:
        return ""
