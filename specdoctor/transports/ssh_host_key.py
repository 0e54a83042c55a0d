"""Whether a host may be trusted: its key against the user's files, and what to do when it does not fit."""

from __future__ import annotations

import base64
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable

from specdoctor.core.errors import HostKeyChanged, HostKeyUnknown
from specdoctor.core.input_file import read_input
from specdoctor.transports.ssh_known_hosts import (
    LARGEST_LIST,
    HostKey,
    KeyFinding,
    KnownHosts,
    append_key,
    known_hosts_line,
    lookup_name,
    others_text,
    parse_public_key,
)
from specdoctor.transports.ssh_route import DEFAULT_PORT, SshHop, SshRoute

Notice = Callable[[str], None]

_KRL_MAGIC = b"SSHKRL\n\0"
_KEYGEN_TIMEOUT_S = 20.0
_KEYSCAN_TYPES = {"ED25519": "ed25519", "ECDSA": "ecdsa", "RSA": "rsa"}


def require_trusted(
    route: SshRoute, hop: SshHop, key: HostKey, known: KnownHosts, *, accept_new: bool, on_notice: Notice
) -> None:
    """Return if `key` is the recorded one; nothing has been sent to the host before that.

    A host never seen is recorded only with `accept_new`, or if the user's configuration says accept-new; `on_notice`
    is told. Raises HostKeyUnknown or HostKeyChanged with fingerprints, places and the commands to use next.
    """
    if hop.revoked_host_keys:
        _refuse_if_revoked(hop, key, hop.revoked_host_keys)
    finding = known.find(key)
    if finding.status == "known":
        return
    if finding.status == "revoked":
        place = finding.entry.place if finding.entry else "known_hosts"
        raise _revoked(hop, key, place)
    if finding.status == "changed":
        raise _changed(hop, key, finding)
    wanted = accept_new or hop.strict_host_key_checking == "accept-new"
    if wanted and not finding.others:
        _record(route, hop, key, finding, on_notice)
        return
    raise _unknown(route, hop, key, finding)


def _record(route: SshRoute, hop: SshHop, key: HostKey, finding: KeyFinding, on_notice: Notice) -> None:
    file = hop.user_known_hosts[0] if hop.user_known_hosts else ""
    if not file or file == "/dev/null":
        raise _unknown(route, hop, key, finding, why="UserKnownHostsFile names no file to record it in")
    try:
        append_key(file, known_hosts_line(lookup_name(hop), key, hashed=hop.hash_known_hosts))
    except OSError as error:
        raise _unknown(route, hop, key, finding, why=f"it could not be recorded in {file}: {error.strerror}") from error
    on_notice(f"{hop.alias}: first contact; its {key.kind} key {key.fingerprint} was added to {file}")


def _unknown(route: SshRoute, hop: SshHop, key: HostKey, finding: KeyFinding, *, why: str = "") -> HostKeyUnknown:
    lines = [f"{hop.alias}: host key is not known ({key.kind})", f"  got  {key.fingerprint}"]
    if why:
        lines.append(f"  {why}")
    if finding.others:
        lines.append(f"  known for this host, but not shown by it: {others_text(finding.others)}")
    if finding.authority:
        lines.append(
            f"  {finding.authority.place} trusts a certificate authority for it; certificates of hosts are not "
            "checked here, so the host's own key has to be recorded"
        )
    lines.append("  nothing was sent")
    return HostKeyUnknown(
        "\n".join(lines),
        tried=_looked_in(hop),
        next_step=_ways_to_record(route, hop, key, finding),
        by_authority=finding.authority is not None,
    )


def _ways_to_record(route: SshRoute, hop: SshHop, key: HostKey, finding: KeyFinding) -> str:
    by_ssh = ["ssh"]
    by_ssh += ["-F", route.config_file] if route.config_file else []
    by_ssh += ["-p", str(hop.port)] if hop.port != DEFAULT_PORT else []
    by_ssh.append(f"{hop.user}@{hop.alias}")
    lines = [
        "Compare the fingerprint with the host's own; on the host:",
        f"  ssh-keygen -lf /etc/ssh/ssh_host_{key.kind.lower()}_key.pub",
        f"then log in once and answer yes:  {shlex.join(by_ssh)}",
    ]
    reached_directly = hop is route.hops[0] and not hop.proxy_command and not hop.host_key_alias
    if reached_directly and key.kind in _KEYSCAN_TYPES and hop.user_known_hosts:
        scan = ["ssh-keyscan", "-t", _KEYSCAN_TYPES[key.kind]]
        scan += ["-p", str(hop.port)] if hop.port != DEFAULT_PORT else []
        scan.append(hop.hostname)
        lines.append(f"or record it:  {shlex.join(scan)} >> {shlex.quote(hop.user_known_hosts[0])}")
    if not finding.others:
        lines.append("or let specdoctor record it at this first contact:  --accept-new-host-key")
    return "\n".join(lines)


def _changed(hop: SshHop, key: HostKey, finding: KeyFinding) -> HostKeyChanged:
    if finding.entry is None:
        raise AssertionError("a key has changed only against an entry")
    entry = finding.entry
    return HostKeyChanged(
        f"{hop.alias}: host key has changed ({entry.place}, {entry.key.kind})\n"
        f"  expected  {entry.key.fingerprint}\n"
        f"  got       {key.fingerprint}\n"
        "  nothing was sent",
        tried=_looked_in(hop),
        next_step="If the host was reinstalled:  "
        + shlex.join(["ssh-keygen", "-R", lookup_name(hop), "-f", entry.file])
        + "\nIf it was not, somebody else may be answering in its place.",
    )


def _revoked(hop: SshHop, key: HostKey, place: str) -> HostKeyChanged:
    return HostKeyChanged(
        f"{hop.alias}: host key is revoked ({place}, {key.kind})\n  got  {key.fingerprint}\n  nothing was sent",
        tried=_looked_in(hop),
        next_step="Ask whoever runs the host for its present key; a revoked one must not be trusted.",
    )


def _looked_in(hop: SshHop) -> str:
    files = ", ".join((*hop.user_known_hosts, *hop.global_known_hosts)) or "no known_hosts file"
    return f"{lookup_name(hop)} in {files}"


def _refuse_if_revoked(hop: SshHop, key: HostKey, file: str) -> None:
    """Raise if a RevokedHostKeys file lists the key, or cannot be read: ssh trusts nobody then, and neither do we."""
    try:
        data = read_input(file, limit=LARGEST_LIST, pipes=False)
    except OSError as error:
        raise HostKeyUnknown(
            f"{hop.alias}: the list of revoked keys cannot be read, so no host key is trusted ({error.strerror})",
            tried=f"RevokedHostKeys {file}",
            next_step="Make the file readable, or take RevokedHostKeys out of the ssh configuration.",
        ) from error
    if data.startswith(_KRL_MAGIC):
        listed = _listed_in_krl(hop, file, key)
    else:
        lines = data.decode("utf-8", errors="replace").splitlines()
        listed = any(parse_public_key(line.split()) == key or line.strip() == key.fingerprint for line in lines)
    if listed:
        raise _revoked(hop, key, file)


def _listed_in_krl(hop: SshHop, file: str, key: HostKey) -> bool:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise HostKeyUnknown(
            f"{hop.alias}: the list of revoked keys is in KRL format, which needs ssh-keygen to be read",
            tried=f"RevokedHostKeys {file}",
            next_step="Install the OpenSSH client on this machine.",
        )
    with tempfile.NamedTemporaryFile("w", suffix=".pub") as public:
        public.write(f"{key.key_type} {base64.b64encode(key.blob).decode('ascii')}\n")
        public.flush()
        done = subprocess.run(
            [program, "-Q", "-f", file, public.name], capture_output=True, timeout=_KEYGEN_TIMEOUT_S, check=False
        )
    return done.returncode != 0
