"""The user's own keys: those of the agent and of the identity files, in the order in which they are offered."""

from __future__ import annotations

import base64
import binascii
import io
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import paramiko
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from paramiko.agent import AgentSSH
from paramiko.pkey import UnknownKeyType
from paramiko.ssh_exception import SSHException

from specdoctor.core.input_file import read_input
from specdoctor.core.model import Frozen
from specdoctor.transports.ssh_known_hosts import HostKey, parse_public_key
from specdoctor.transports.ssh_route import SshHop

AskPassphrase = Callable[[str], str | None]
"""Asks the user for the passphrase of the key at a path; None means: leave this key out."""

PASSPHRASE_ATTEMPTS = 3
AGENT_TIMEOUT_S = 60.0
LARGEST_KEY = 1 << 20

_OPENSSH_BEGIN = "-----BEGIN OPENSSH PRIVATE KEY-----"
_OPENSSH_END = "-----END OPENSSH PRIVATE KEY-----"
_OPENSSH_MAGIC = b"openssh-key-v1\0"
_PKCS8_BEGIN = ("-----BEGIN PRIVATE KEY-----", "-----BEGIN ENCRYPTED PRIVATE KEY-----")
_PUBLIC_SUFFIX = ".pub"


class Identity(Frozen):
    """What can be told about an identity file without its passphrase; `public` is None if its format hides it."""

    path: str
    public: HostKey | None
    has_private: bool
    encrypted: bool


@dataclass(frozen=True)
class Candidate:
    """A key ready to be offered; `key` is paramiko's, `label` says where it comes from and its fingerprint."""

    label: str
    key: Any


class KeyRing:
    """Loads and unlocks keys once, however often a connection is made.

    `problems` collects, in words, why keys could not be offered.
    """

    def __init__(self, ask_passphrase: AskPassphrase | None) -> None:
        self._ask = ask_passphrase
        self._loaded: dict[str, Any] = {}
        self._left_out: set[str] = set()
        self.problems: list[str] = []

    def candidates(self, hop: SshHop) -> Iterator[Candidate]:
        """Keys for a hop: the agent's (those named by identity files first), then files, locked ones last.

        With IdentitiesOnly the agent's other keys are not offered. Unlocking asks only when a key's turn has come.
        """
        self.problems = []
        identities = [identity for path in hop.identity_files if (identity := inspect_identity(path))]
        named = {identity.public.blob for identity in identities if identity.public}
        agent = _open_agent(hop.agent, self.problems) if hop.agent else None
        try:
            held = list(agent.get_keys()) if agent else []
            held.sort(key=lambda key: key.blob not in named)
            for key in held:
                if key.blob in named or not hop.identities_only:
                    yield Candidate(label=f"agent {key.comment or key.get_name()} {key.fingerprint}", key=key)
            in_agent = {key.blob for key in held}
            files = [
                identity
                for identity in identities
                if identity.has_private and not (identity.public and identity.public.blob in in_agent)
            ]
            for identity in sorted(files, key=lambda identity: identity.encrypted):
                loaded = self._load(identity)
                if loaded is not None:
                    yield Candidate(label=f"{identity.path} {loaded.fingerprint}", key=loaded)
        finally:
            if agent:
                agent._close()  # noqa: SLF001 - see _open_agent

    def _load(self, identity: Identity) -> Any:
        if identity.path in self._loaded:
            return self._loaded[identity.path]
        if identity.path in self._left_out:
            self.problems.append(f"{identity.path} is locked and was left out")
            return None
        key = self._unlock(identity) if identity.encrypted else self._read(identity, None)
        if key is not None:
            self._loaded[identity.path] = key
        return key

    def _unlock(self, identity: Identity) -> Any:
        for _ in range(PASSPHRASE_ATTEMPTS):
            passphrase = self._ask(identity.path) if self._ask else None
            if passphrase is None:
                self._left_out.add(identity.path)
                self.problems.append(f"{identity.path} is locked and no passphrase was given")
                return None
            key = self._read(identity, passphrase.encode("utf-8"))
            if key is not None:
                return key
        return None

    def _read(self, identity: Identity, passphrase: bytes | None) -> Any:

        try:
            return _read_private(identity.path, passphrase)
        except (OSError, ValueError, TypeError, SSHException, UnknownKeyType, UnsupportedAlgorithm) as error:
            what = "could not be unlocked" if passphrase else "could not be read"
            self.problems.append(f"{identity.path} {what} ({str(error) or type(error).__name__})")
            return None


def inspect_identity(path: str) -> Identity | None:
    """Look at an identity file without unlocking it; None when there is nothing at `path` to use.

    A public key alone (`path` itself or `path`.pub) names a key that the agent holds.
    """
    beside = _public_key_in(_text_of(path + _PUBLIC_SUFFIX))
    text = _text_of(path)
    if text is None:
        return Identity(path=path, public=beside, has_private=False, encrypted=False) if beside else None
    if _OPENSSH_BEGIN in text:
        return _inspect_openssh(path, text, beside)
    itself = _public_key_in(text)
    if itself:
        return Identity(path=path, public=itself, has_private=False, encrypted=False)
    return Identity(path=path, public=beside, has_private=True, encrypted="ENCRYPTED" in text)


def _inspect_openssh(path: str, text: str, beside: HostKey | None) -> Identity:
    body = text.split(_OPENSSH_BEGIN, 1)[1].split(_OPENSSH_END, 1)[0]
    try:
        data = base64.b64decode("".join(body.split()))
    except (binascii.Error, ValueError):
        data = b""
    if not data.startswith(_OPENSSH_MAGIC):
        return Identity(path=path, public=beside, has_private=True, encrypted=False)
    reader = io.BytesIO(data[len(_OPENSSH_MAGIC) :])
    cipher, _kdf, _kdf_options = _string(reader), _string(reader), _string(reader)
    reader.read(4)  # how many keys; always one
    blob = _string(reader)
    key_type = _string(io.BytesIO(blob)).decode("ascii", errors="replace")
    return Identity(
        path=path, public=HostKey(key_type=key_type, blob=blob), has_private=True, encrypted=cipher != b"none"
    )


def _string(reader: io.BytesIO) -> bytes:
    return reader.read(int.from_bytes(reader.read(4), "big"))


def _text_of(path: str) -> str | None:
    try:
        return read_input(path, limit=LARGEST_KEY, pipes=False).decode("utf-8", errors="replace")
    except OSError:
        return None


def _public_key_in(text: str | None) -> HostKey | None:
    return parse_public_key(text.split()) if text else None


def _read_private(path: str, passphrase: bytes | None) -> Any:
    if not (_text_of(path) or "").lstrip().startswith(_PKCS8_BEGIN):
        return paramiko.PKey.from_path(path, passphrase)
    return _read_pkcs8(path, passphrase)


def _read_pkcs8(path: str, passphrase: bytes | None) -> Any:
    """paramiko knows no PKCS#8 files, so such a key is handed to it in OpenSSH's format."""

    loaded = serialization.load_pem_private_key(read_input(path, limit=LARGEST_KEY, pipes=False), password=passphrase)
    if isinstance(loaded, rsa.RSAPrivateKey):
        kind = paramiko.RSAKey
    elif isinstance(loaded, ec.EllipticCurvePrivateKey):
        kind = paramiko.ECDSAKey
    elif isinstance(loaded, ed25519.Ed25519PrivateKey):
        kind = paramiko.Ed25519Key
    else:
        raise ValueError("a key of this type cannot be used for SSH")
    text = loaded.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    return kind.from_private_key(io.StringIO(text.decode("ascii")))


def _open_agent(path: str, problems: list[str]) -> Any:
    """The agent behind a socket, None if it does not answer.

    paramiko's public class reads SSH_AUTH_SOCK only, which leaves out IdentityAgent; its base class takes a socket.
    """

    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(AGENT_TIMEOUT_S)
    agent = AgentSSH()
    try:
        connection.connect(path)
        agent._connect(connection)  # noqa: SLF001 - see above
    except (OSError, SSHException) as error:
        connection.close()
        problems.append(f"the agent at {path} does not answer ({error})")
        return None
    return agent
