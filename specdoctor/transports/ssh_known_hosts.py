"""known_hosts files: what they say about a host, line by line, and whether a key fits it."""

from __future__ import annotations

import base64
import binascii
import fnmatch
import hashlib
import hmac
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from specdoctor.core.input_file import read_input
from specdoctor.core.model import Frozen
from specdoctor.transports.ssh_route import DEFAULT_PORT, SshHop

Marker = Literal["", "@revoked", "@cert-authority"]
KeyStatus = Literal["known", "unknown", "changed", "revoked"]

_MARKERS: dict[str, Marker] = {"@revoked": "@revoked", "@cert-authority": "@cert-authority"}
LARGEST_LIST = 64 << 20
_HASH_MAGIC = "|1|"
_SALT_BYTES = 20


class HostKey(Frozen):
    """A public key as it goes over the wire; `key_type` is its name there, for example ssh-ed25519."""

    key_type: str
    blob: bytes

    @property
    def fingerprint(self) -> str:
        """As OpenSSH prints it: SHA256 in base64 without padding."""
        return "SHA256:" + base64.b64encode(hashlib.sha256(self.blob).digest()).decode("ascii").rstrip("=")

    @property
    def kind(self) -> str:
        """ED25519, ECDSA, RSA: how OpenSSH calls the type towards people."""
        return self.key_type.removeprefix("ssh-").removeprefix("sk-").split("-", maxsplit=1)[0].upper()


class KnownKey(Frozen):
    """One line of a known_hosts file."""

    file: str
    line: int
    patterns: tuple[str, ...]
    key: HostKey
    marker: Marker = ""

    @property
    def place(self) -> str:
        return f"{self.file} line {self.line}"

    def names(self, name: str) -> bool:
        """Whether the line is about the host `name` (`host` or `[host]:port`, lower case)."""
        found = False
        for pattern in self.patterns:
            if pattern.startswith("!"):
                if _fits(pattern[1:], name):
                    return False
            elif _fits(pattern, name):
                found = True
        return found


class KeyFinding(Frozen):
    """What the files say about a key. `entry` is the line that decided, `others` the host's keys of other types."""

    status: KeyStatus
    entry: KnownKey | None = None
    others: tuple[KnownKey, ...] = ()
    authority: KnownKey | None = None


class KnownHosts(Frozen):
    """All lines that count for one host, from its user and global files in order.

    `name` is what the host is looked up as; `bare_name` is tried when nothing is recorded under a name with a port.
    """

    name: str
    bare_name: str | None
    entries: tuple[KnownKey, ...]

    def key_types(self) -> tuple[str, ...]:
        """Types of the keys known for the host, in the order of the files."""
        return tuple(dict.fromkeys(entry.key.key_type for entry in self._plain()))

    def find(self, key: HostKey) -> KeyFinding:
        """Whether `key` is the host's: the same key anywhere will do, another one of its type means changed."""
        about = self._about(self.name) + (self._about(self.bare_name) if self.bare_name else ())
        revoked = next((entry for entry in about if entry.marker == "@revoked" and entry.key == key), None)
        if revoked:
            return KeyFinding(status="revoked", entry=revoked)
        authority = next((entry for entry in about if entry.marker == "@cert-authority"), None)
        plain = self._plain()
        same = next((entry for entry in plain if entry.key == key), None)
        if same:
            return KeyFinding(status="known", entry=same)
        exact = tuple(entry for entry in plain if entry.names(self.name))
        conflict = next((entry for entry in exact if entry.key.key_type == key.key_type), None)
        if conflict:
            return KeyFinding(status="changed", entry=conflict, authority=authority)
        return KeyFinding(status="unknown", others=exact, authority=authority)

    def _about(self, name: str) -> tuple[KnownKey, ...]:
        return tuple(entry for entry in self.entries if entry.names(name))

    def _plain(self) -> tuple[KnownKey, ...]:
        exact = tuple(entry for entry in self._about(self.name) if not entry.marker)
        if exact or self.bare_name is None:
            return exact
        return tuple(entry for entry in self._about(self.bare_name) if not entry.marker)


def lookup_name(hop: SshHop) -> str:
    """What a hop is recorded as: its HostKeyAlias, or its name, in brackets with the port if that is not 22."""
    if hop.host_key_alias:
        return hop.host_key_alias.lower()
    name = hop.hostname.lower()
    return name if hop.port == DEFAULT_PORT else f"[{name}]:{hop.port}"


def known_hosts_for(hop: SshHop) -> KnownHosts:
    """Read the hop's files; one that does not exist or cannot be read counts as empty, as it does for ssh."""
    entries: list[KnownKey] = []
    for file in (*hop.user_known_hosts, *hop.global_known_hosts):
        try:
            text = read_input(file, limit=LARGEST_LIST, pipes=False).decode("utf-8", errors="replace")
        except OSError:
            continue
        entries += parse_known_hosts(text, file=file)
    has_bare_name = hop.host_key_alias is None and hop.port != DEFAULT_PORT
    return KnownHosts(
        name=lookup_name(hop), bare_name=hop.hostname.lower() if has_bare_name else None, entries=tuple(entries)
    )


def parse_known_hosts(text: str, *, file: str) -> tuple[KnownKey, ...]:
    """The lines of a known_hosts file that can be read; comments and malformed lines are passed over, as ssh does."""
    entries = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        marker: Marker = ""
        if words[0].startswith("@"):
            if words[0] not in _MARKERS:
                continue
            marker = _MARKERS[words[0]]
            words = words[1:]
        key = parse_public_key(words[1:])
        if key is not None:
            entries.append(
                KnownKey(file=file, line=number, patterns=tuple(words[0].split(",")), key=key, marker=marker)
            )
    return tuple(entries)


def parse_public_key(words: Sequence[str]) -> HostKey | None:
    """A key from `TYPE BASE64 [comment]`, None when it is none or when the blob is of another type than it says."""
    if len(words) < 2:
        return None
    try:
        blob = base64.b64decode(words[1], validate=True)
    except (binascii.Error, ValueError):
        return None
    name = words[0].encode("utf-8", errors="replace")
    if blob[:4] != len(name).to_bytes(4, "big") or blob[4 : 4 + len(name)] != name:
        return None
    return HostKey(key_type=words[0], blob=blob)


def known_hosts_line(name: str, key: HostKey, *, hashed: bool) -> str:
    """A line for a known_hosts file, the name hashed if the user's configuration wants that."""
    shown = hash_name(name, os.urandom(_SALT_BYTES)) if hashed else name
    return f"{shown} {key.key_type} {base64.b64encode(key.blob).decode('ascii')}\n"


def hash_name(name: str, salt: bytes) -> str:
    """The hashed form of a name, as HashKnownHosts writes it: HMAC-SHA1 keyed with the salt."""
    digest = hmac.new(salt, name.encode("utf-8"), hashlib.sha1).digest()
    parts = (base64.b64encode(part).decode("ascii") for part in (salt, digest))
    return _HASH_MAGIC + "|".join(parts)


def append_key(file: str, line: str) -> None:
    """Add a line to a known_hosts file, made with its folder (readable by the user only) if need be; raises OSError."""
    path = Path(file)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "r+b") as opened:
        size = opened.seek(0, os.SEEK_END)
        needs_break = False
        if size:
            opened.seek(size - 1)
            needs_break = opened.read(1) != b"\n"
        opened.write((b"\n" if needs_break else b"") + line.encode("utf-8"))


def others_text(entries: Iterable[KnownKey]) -> str:
    """Known keys in one line, for a message: `ED25519 (FILE line 3), RSA (FILE line 4)`."""
    return ", ".join(f"{entry.key.kind} ({entry.place})" for entry in entries)


def _fits(pattern: str, name: str) -> bool:
    if pattern.startswith(_HASH_MAGIC):
        salt, _, _ = pattern.removeprefix(_HASH_MAGIC).partition("|")
        try:
            return hmac.compare_digest(hash_name(name, base64.b64decode(salt, validate=True)), pattern)
        except (binascii.Error, ValueError, TypeError):
            return False
    # Only * and ? are special in these files; fnmatch would read more into brackets.
    escaped = re.sub(r"\[", "[[]", pattern.lower())
    return fnmatch.fnmatchcase(name, escaped)
