"""Words that the shell offers after a Tab: names of what there is, read when asked for and never a reason to fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from specdoctor.core.errors import SpecdoctorError

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
targets = _offered(_targets)
