"""What a start came to, read back from the server: the setting in force, and which installation it runs."""

from __future__ import annotations

from specdoctor.app.fingerprint import software_of
from specdoctor.app.run import Run
from specdoctor.core.launch import LaunchChange
from specdoctor.core.model import Frozen
from specdoctor.core.operations import SnapshotRequest
from specdoctor.core.server import ServerRef, SpecSetting


class ReadBack(Frozen):
    """Never assumed from the order: `spec` None where it cannot be told; `software` only for another installation."""

    spec: SpecSetting | None = None
    software: dict[str, str] = {}


def read_back(run: Run, server: ServerRef | None, change: LaunchChange) -> ReadBack:
    """Look at the server that was just started."""
    engine = run.engine
    if server is None or engine is None:
        return ReadBack()
    facts = run.operations.snapshot(SnapshotRequest(ports=(server.port,), log_bytes=200_000))
    for view in engine.servers(facts):
        if view.ref is not None and view.ref.port == server.port and view.state != "down":
            software = software_of(view, facts) if change.other_software else {}
            return ReadBack(spec=view.spec, software=software)
    return ReadBack()
