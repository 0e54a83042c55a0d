"""The server as it is now in a run: its process, the speculation in force, the state that a measurement is of."""

from __future__ import annotations

from specdoctor.app.fingerprint import fingerprint
from specdoctor.app.run import Run
from specdoctor.core.errors import TargetError
from specdoctor.core.measurement import Measurement
from specdoctor.core.reach import spoken
from specdoctor.core.server import ServerRef, SpecSetting


def server_now(run: Run) -> ServerRef:
    """The process that runs now. Raises TargetError where none is known."""
    server = run.ledger.current_server
    if server is None:
        raise TargetError(
            f"{spoken(run.operations.target)}: no server process is known",
            next_step="look again: specdoctor doctor TARGET",
        )
    return server


def current_spec(run: Run) -> SpecSetting:
    """The speculation in force on the server that runs now."""
    if run.ledger.by_hand is not None and run.ledger.by_hand.spec is not None:
        return run.ledger.by_hand.spec
    for launch in reversed(run.ledger.relaunches):
        if run.ledger.changed and launch.outcome.status == "ready" and launch.spec is not None:
            return launch.spec
    view = run.scene.view if run.scene else None
    return view.spec if view is not None and view.spec is not None else SpecSetting()


def fingerprint_now(run: Run, workload: dict[str, str]) -> dict[str, str]:
    """The state that runs now: the snapshot's facts, and the launch that is up."""
    assert run.scene is not None
    launch = run.ledger.current_launch
    found = fingerprint(
        run.scene,
        server=run.ledger.current_server,
        spec=current_spec(run),
        launch_key=launch.key if launch is not None else "original",
        workload=workload,
    )
    made = [r.software for r in run.ledger.relaunches if launch is not None and r.change.key == launch.key]
    if not made or not made[-1]:
        return found
    kept = {key: value for key, value in found.items() if not key.startswith(("engine.", "package."))}
    return {**kept, **made[-1]}


def figures_of(m: Measurement) -> str:
    """What was measured, in few words."""
    parts = [
        m.throughput.with_unit() if m.throughput else None,
        f"accept length {m.accept_length}" if m.accept_length and m.spec.on else None,
        f"{m.step.with_unit()} a {'cycle' if m.spec.on else 'step'}" if m.step else None,
        f"{m.concurrency} at once" if m.concurrency > 1 else None,
    ]
    return ", ".join(p for p in parts if p) or "no figures"
