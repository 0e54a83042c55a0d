"""Words that the shell offers after a Tab: names of what there is, read when asked for and never a reason to fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from specdoctor.core.errors import SpecdoctorError

SSH = "ssh://"
LARGEST = 1 << 20
UNKNOWN = ("[HOST]", "[HOST:PORT]")
Completion = Callable[[str], list[str]]


def _offered(names: Callable[[], Iterable[str]]) -> Completion:
    def begun_with(incomplete: str) -> list[str]:
        try:
            return sorted(name for name in names() if name.startswith(incomplete))
        except (SpecdoctorError, OSError):
            return []

    return begun_with


def _worlds() -> Iterable[str]:
    from specdoctor.lab import list_worlds

    return list_worlds()


def _checks() -> Iterable[str]:
    from specdoctor.assembly.catalogue import all_checks

    return (check.name for check in all_checks())


def _causes() -> Iterable[str]:
    from specdoctor.knowledge.table import CAUSES

    return CAUSES


def _playbooks() -> Iterable[str]:
    from specdoctor.cli.playbook_files import all_playbooks

    return (playbook.name for playbook in all_playbooks())


def _runs() -> Iterable[str]:
    from specdoctor.assembly.stores import open_store

    return open_store().store.names()


def _targets() -> Iterable[str]:
    from specdoctor.cli.targets import default_file, read_targets

    path = default_file()
    return read_targets(path) if path is not None else ()


worlds = _offered(_worlds)
checks = _offered(_checks)
causes = _offered(_causes)
playbooks = _offered(_playbooks)
runs = _offered(_runs)
_named_targets = _offered(_targets)


def _hosts() -> list[str]:
    """Hosts that the user's SSH configuration names, without patterns."""
    try:
        text = (Path.home() / ".ssh" / "config").read_text(encoding="utf-8", errors="replace")[:LARGEST]
    except (OSError, RuntimeError):
        return []
    lines = [line.replace("=", " ", 1).split() for line in text.splitlines()]
    named = [name for words in lines if words and words[0].lower() == "host" for name in words[1:]]
    return sorted({name for name in named if not set(name) & set("*?!")})


def targets(incomplete: str) -> list[str]:
    """Named targets, ways to reach one, and after ssh:// the hosts of the SSH configuration, else what to type."""
    if not incomplete.startswith(SSH):
        ways = [way for way in (SSH, "local:") if incomplete and way.startswith(incomplete)]
        return [*_named_targets(incomplete), *ways]
    user = incomplete.rpartition("@")[0]
    head = f"{user}@" if user else SSH
    found = [f"{head}{host}" for host in _hosts()]
    # Two words that begin alike are shown and put nothing on the line; with none the shell would offer files.
    fitting = [word for word in found if word.startswith(incomplete)]
    return fitting or [f"{head}{rest}" for rest in UNKNOWN if f"{head}{rest}".startswith(incomplete)]
