"""Programs and looks of one purpose on a host: the probe, the export of states, engines as installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specdoctor.core.engine_source import InstalledEngine
    from specdoctor.core.host import Host
    from specdoctor.operations.exporting import Exported, ExportOrder


def probe_program(*, ports: tuple[int, ...] = (), logs: tuple[str, ...] = ()) -> str:
    """The read-only probe as one file that anybody can read and run on a host."""
    from specdoctor.core.operations import SnapshotRequest
    from specdoctor.operations.programs import probe_program as joined_probe

    return joined_probe(SnapshotRequest(ports=ports, logs=logs, history=True))


def export_program(order: ExportOrder) -> str:
    """The program that stores a target's states, as text to be run by hand."""
    from specdoctor.operations.exporting import export_program as made

    return made(order)


def export_states(host: Host, python: str, order: ExportOrder, *, on_line: Callable[[str], None]) -> Exported:
    """Have a host store a target's states. Raises TargetError."""
    from specdoctor.operations.exporting import export_states as carried_out

    return carried_out(host, python, order, on_line=on_line)


def installed_engines(host: Host, target: str, *, python: str | None) -> tuple[InstalledEngine, ...]:
    """SGLang as installed on a host, with its own rule for a target. Raises TargetError."""
    from specdoctor.operations.engine_source import installed_engines as looked

    return looked(host, target, python=python)
