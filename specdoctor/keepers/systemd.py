"""A unit of systemd, the system's or a user's own."""

from __future__ import annotations

import re
import shlex

from specdoctor.core.launch import apply_change
from specdoctor.core.server import Keeper, KeeperRef
from specdoctor.keepers.hand import ByHand, Wanted, named_secrets, shell_text
from specdoctor.keepers.row import Row, Seen, kept_by, refused

_SERVICE = re.compile(r"([\w@.\\:-]+\.service)(?:/|$)")
# Services in whose cgroup a process merely happens to be: log-in, remote shells, timers, the user's own manager.
_PASSING = re.compile(
    r"(?:user@\d+|ssh|sshd|sshd?@.*|dropbear.*|cron|crond|atd|anacron|getty@.*|serial-getty@.*|console-getty|tailscaled"
    r"|docker|containerd|init|systemd-logind|jupyter.*|code-server.*|vscode.*|tmux.*|screen.*)\.service"
)


def recognise(seen: Seen) -> Keeper | None:
    cgroup = seen.process.cgroup
    names = [name for name in _SERVICE.findall(cgroup) if not _PASSING.fullmatch(name)]
    if not names:
        return None
    unit = names[-1]
    restart = _unit_restart(seen, unit)
    own = "/user@" in cgroup
    user = " --user" if own else ""
    detail = unit + (f", Restart={restart}" if restart else "")
    by_hand = _by_hand(seen, unit, user)
    kept = kept_by(seen, "systemd", unit)
    if kept is None:
        return refused("systemd", detail, f"systemd keeps it ({unit}), and what the unit is was not read", by_hand)
    if kept.obstacles:
        known = {**kept.known, "unit": unit, "scope": kept.scope}
        return refused("systemd", detail, f"systemd keeps it ({unit}), and {'; '.join(kept.obstacles)}", by_hand, known)
    through = KeeperRef(kind="systemd", name=unit, scope="user" if own else "system")
    return Keeper(kind="systemd", detail=detail, restartable=True, through=through, remarks=kept.remarks)


def _by_hand(seen: Seen, unit: str, user: str) -> str:
    """What to do with a unit that is not restarted here: the server may be its main process, or another's child."""
    if not any(f"/{unit}" in parent.cgroup for parent in seen.ancestors):
        return f"systemctl{user} edit --full {unit} (change the arguments), then systemctl{user} restart {unit}"
    first = seen.ancestors[0].comm or f"process {seen.ancestors[0].pid}"
    return f"change the arguments where {first} of {unit} takes them from, then have it start the server again"


def _unit_restart(seen: Seen, unit: str) -> str:
    """The restart setting of a unit, from `systemctl show`."""
    for command in seen.facts.commands.values():
        fields = dict(line.split("=", 1) for line in command.stdout.splitlines() if "=" in line)
        if "show" in command.argv and fields.get("Id") == unit:
            return fields.get("Restart", "")
    return ""


def hand(keeper: Keeper, wanted: Wanted) -> ByHand:
    """The same drop-in that specdoctor would write, by somebody who may."""
    head, taken = keeper.known.get("head"), keeper.known.get("taken")
    unit, scope = str(keeper.known.get("unit")), str(keeper.known.get("scope"))
    if not isinstance(head, list) or not isinstance(taken, int):
        return ByHand(start=f"{keeper.by_hand}; it is to run: {wanted.line}", back="take that edit back")
    words = [*map(str, head), *apply_change(wanted.argv, wanted.change)[taken:]]
    sudo, user = ("", " --user") if scope == "user" else ("sudo ", "")
    base = '"$XDG_RUNTIME_DIR"/systemd/user' if scope == "user" else "/run/systemd/system"
    folder = f"{base}/{shlex.quote(unit)}.d"
    texts = ["[Service]", "ExecStart=", f"ExecStart={' '.join(map(_unit_word, words))}"]
    texts += [f"Environment={_unit_word(f'{name}={value}')}" for name, value in sorted(wanted.change.set_env.items())]
    texts += [f"UnsetEnvironment={_unit_word(name)}" for name in wanted.change.remove_env]
    lines = " ".join(shell_text(text, named_secrets(words)) for text in texts)
    again = f"{sudo}systemctl{user} daemon-reload && {sudo}systemctl{user} restart {shlex.quote(unit)}"
    write = f"printf '%s\\n' {lines} | {sudo}tee {folder}/{_FILE} >/dev/null"
    return ByHand(start=f"{sudo}mkdir -p {folder} && {write} && {again}", back=f"{sudo}rm {folder}/{_FILE} && {again}")


def _unit_word(word: str) -> str:
    """A word as a unit file has it; a control character becomes its escape, so that it stays one line."""
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return '"' + "".join(f"\\x{ord(c):02x}" if ord(c) < _SPACE else c for c in text) + '"'


_SPACE = 32
_FILE = "90-by-hand.conf"

row = Row(
    kind="systemd",
    title="systemd unit, the system's or a user's",
    recognised_by="`NAME.service` in its cgroup, other than that of a log-in or a timer",
    restart="`systemctl stop`, a transient drop-in with the changed `ExecStart=`, an own log and `Restart=no`, "
    "`daemon-reload`, `systemctl start`",
    way_back="the drop-in is removed, `daemon-reload`, `systemctl start`; the unit's own files are never written, and "
    "a reboot removes the drop-in by itself",
    refused_when="this login may not change the unit (no root and no `sudo -n`), the unit is transient, of another "
    "type than simple, exec, notify or idle, socket-activated or changed on disk, or its `ExecStart` is not the "
    "running command (several, or a shell's script)",
    by_hand="the same drop-in, written by somebody who may",
    recognise=recognise,
    hand=hand,
)
