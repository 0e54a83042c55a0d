"""A unit of systemd, the system's or a user's own."""

from __future__ import annotations

import re

from specdoctor.core.server import Keeper
from specdoctor.keepers.row import NOT_RESTARTED, NOTHING_CHANGED, Row, Seen, refused

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
    user = " --user" if "/user@" in cgroup else ""
    return refused(
        "systemd",
        unit + (f", Restart={restart}" if restart else ""),
        f"systemd keeps it ({unit}) and starts it with the unit's own line",
        f"systemctl{user} edit --full {unit} (change the arguments), then systemctl{user} restart {unit}",
    )


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
    restart=NOT_RESTARTED,
    way_back=NOTHING_CHANGED,
    refused_when="always",
    by_hand="`systemctl edit --full UNIT`, then `systemctl restart UNIT`",
    recognise=recognise,
)
