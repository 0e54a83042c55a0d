"""What could not be read for lack of permission, in words, and the option that helps."""

from __future__ import annotations

from collections import defaultdict

from specdoctor.core.facts import Facts

DENIED = "ermission denied"
BY_SUDO = "read it with --sudo (sudo -n), or log in as the server's own user"
_NAMES = {"argv": "arguments", "env": "environment", "cwd": "directory", "exe": "program", "stdout": "output"}


def refused_reads(facts: Facts) -> tuple[str, ...]:
    """One line for each kind of thing that this account may not read; empty where root looked."""
    if facts.host.uid == 0 or facts.host.privileged:
        return ()
    return (*_processes(facts), *_texts(facts), *_commands(facts))


def _processes(facts: Facts) -> list[str]:
    closed: dict[tuple[str, tuple[str, ...]], list[int]] = defaultdict(list)
    for process in facts.processes:
        if process.unreadable and process.uid not in (None, facts.host.uid):
            closed[process.user or str(process.uid), process.unreadable].append(process.pid)
    lines: list[str] = []
    for (user, parts), pids in closed.items():
        what = ", ".join(_NAMES.get(part, part) for part in parts)
        more = f" and {len(pids) - 1} more" if len(pids) > 1 else ""
        lines.append(f"{what} of pid {pids[0]}{more} (user {user}): permission denied")
    return lines


def _texts(facts: Facts) -> list[str]:
    logs = [f"log {log.path}: permission denied" for log in facts.logs if DENIED in (log.error or "")]
    return logs + [f"{file.path}: permission denied" for file in facts.files.values() if DENIED in (file.error or "")]


def _commands(facts: Facts) -> list[str]:
    return [
        f"{' '.join(command.argv[:2])}: permission denied"
        for command in facts.commands.values()
        if DENIED in (command.error or "")
    ]
