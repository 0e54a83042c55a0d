"""Keys and client files of the practice host: everything `ssh -F <folder>/ssh_config lab` needs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import asyncssh

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class SshAccess:
    """Where the files of one SSH service are, and the keys in them."""

    folder: Path
    host_key: asyncssh.SSHKey
    client_key: asyncssh.SSHKey

    @property
    def client_key_path(self) -> Path:
        return self.folder / "client_key"

    @property
    def known_hosts_path(self) -> Path:
        return self.folder / "known_hosts"

    @property
    def config_path(self) -> Path:
        return self.folder / "ssh_config"

    @property
    def host_fingerprint(self) -> str:
        """SHA256 fingerprint of the host key, as `ssh-keygen -l` prints it."""
        return str(self.host_key.get_fingerprint())


def create_access(folder: Path, *, client_key: asyncssh.SSHKey | None = None) -> SshAccess:
    """Keys in OpenSSH format under `folder`; those of an earlier start are used again.

    `client_key` lets several hosts accept one key, as a jump host and the host behind it usually do.
    """
    folder.mkdir(parents=True, exist_ok=True)
    host_key = _key_at(folder / "host_key", comment="practice-host")
    if client_key is None:
        own_key = _key_at(folder / "client_key", comment="practice-client")
    else:
        own_key = client_key
        _write_key(folder / "client_key", own_key)
    return SshAccess(folder=folder, host_key=host_key, client_key=own_key)


def write_client_files(access: SshAccess, *, alias: str, user: str, port: int) -> None:
    """The known_hosts file and the ssh_config fragment; both are rewritten when the port changes."""
    public = access.host_key.export_public_key("openssh").decode().split()
    access.known_hosts_path.write_text(f"[{LOOPBACK}]:{port} {public[0]} {public[1]}\n")
    access.config_path.write_text(_config_block(access, alias=alias, user=user, port=port))


def _config_block(access: SshAccess, *, alias: str, user: str, port: int) -> str:
    lines = [
        f"Host {alias}",
        f"  HostName {LOOPBACK}",
        f"  Port {port}",
        f"  User {user}",
        f"  IdentityFile {_quoted(access.client_key_path)}",
        "  IdentitiesOnly yes",
        f"  UserKnownHostsFile {_quoted(access.known_hosts_path)}",
        "  GlobalKnownHostsFile /dev/null",
        "  StrictHostKeyChecking yes",
        "  PasswordAuthentication no",
        "  KbdInteractiveAuthentication no",
    ]
    return "\n".join(lines) + "\n"


def _quoted(path: Path) -> str:
    return f'"{path}"' if " " in str(path) else str(path)


def _key_at(path: Path, *, comment: str) -> asyncssh.SSHKey:
    if path.exists():
        return asyncssh.read_private_key(str(path))
    key = asyncssh.generate_private_key("ssh-ed25519", comment=comment)
    _write_key(path, key)
    return key


def _write_key(path: Path, key: asyncssh.SSHKey) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key.export_private_key("openssh"))
    path.with_name(path.name + ".pub").write_bytes(key.export_public_key("openssh"))
