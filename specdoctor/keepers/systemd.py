"""A unit of systemd, the system's or a user's own."""

from __future__ import annotations

import re

from specdoctor.core.server import Keeper, KeeperRef
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
    by_hand = f"systemctl{user} edit --full {unit} (change the arguments), then systemctl{user} restart {unit}"
    kept = kept_by(seen, "systemd", unit)
    if kept is None:
        return refused("systemd", detail, f"systemd keeps it ({unit}), and what the unit is was not read", by_hand)
    if kept.obstacles:
        return refused("systemd", detail, f"systemd keeps it ({unit}), and {'; '.join(kept.obstacles)}", by_hand)
    through = KeeperRef(kind="systemd", name=unit, scope="user" if own else "system")
    return Keeper(kind="systemd", detail=detail, restartable=True, through=through, remarks=kept.remarks)


def _unit_restart(seen: Seen, unit: str) -> str:
    """The restart setting of a unit, from `systemctl show`."""
    for command in seen.facts.commands.values():
        fields = dict(line.split("=", 1) for line in command.stdout.splitlines() if "=" in line)
        if "show" in command.argv and fields.get("Id") == unit:
            return fields.get("Restart", "")
    return ""


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
    by_hand="`systemctl edit --full UNIT`, then `systemctl restart UNIT`",
    recognise=recognise,
)
