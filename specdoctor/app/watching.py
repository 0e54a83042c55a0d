"""The action of looking on: what the server does for whoever uses it, without a request of ours."""

from __future__ import annotations

from specdoctor.app.fingerprint import traffic_workload
from specdoctor.app.measuring import traffic_measurement
from specdoctor.app.outcome import Outcome
from specdoctor.app.own_benches import without_own
from specdoctor.app.present import current_spec, figures_of, fingerprint_now, server_now
from specdoctor.app.run import Run
from specdoctor.core import events as ev
from specdoctor.core.measurement import Measurement
from specdoctor.core.moves import Watch

RECENT_S = 180.0
"""Decode lines this near to the newest one show the traffic that goes on now."""


def watch(run: Run, action: str, move: Watch) -> Outcome:
    """Look on for a while: who uses the server, and how fast it is for them."""
    assert run.scene is not None
    view = run.scene.view
    record = run.operations.watch(server_now(run), seconds=move.seconds, log_path=view.log_path)
    seen = record.foreign_requests
    traffic = "nobody can tell whether others use it" if seen is None else f"{seen} requests of others"
    own = "; ".join(load.words for load in record.own_loads)
    traffic += f", among them those of specdoctor's own {own}" if own else ""
    evidence = run.record(
        action=action,
        source="watch",
        summary=f"{traffic} in {record.seconds:.0f} s",
        artefact="watch.json",
        content=record.model_dump_json(),
        data={"foreign_requests": seen, **({"own_load": own} if own else {})},
    )
    first = not own and not any(m.source == "log" for m in run.ledger.measurements)
    measurement = _traffic(run, evidence, record.log) if first and not run.ledger.changed else None
    if measurement is not None:
        run.emit(ev.Measured(measurement=measurement))
        traffic += f"; its log shows {figures_of(measurement)}"
    return "done", traffic, (evidence,)


def _traffic(run: Run, evidence: str, fresh_log: str) -> Measurement | None:
    """What the log shows that no benchmark on record brought: what was logged meanwhile; with the minutes before, or
    the log as read, where that is too little for a cycle."""
    assert run.scene is not None
    engine = run.engine
    assert engine is not None
    fresh = engine.read_log(fresh_log, where="log while watching", argv=run.scene.view.argv).decode if fresh_log else ()
    logged = run.scene.view.log.decode if run.scene.view.log else ()
    newest = max((w.at for w in (*logged, *fresh) if w.at is not None), default=0.0)
    recent = tuple(w for w in logged if w.at is not None and w.at > newest - RECENT_S)
    best: Measurement | None = None
    for windows in (fresh, (*recent, *fresh) if fresh else (), logged):
        others, whose = without_own(run, windows)
        found = traffic_measurement(
            measurement_id=run.ledger.next_id("M"),
            evidence=evidence,
            launch="as found",
            launch_key="original",
            spec=current_spec(run),
            windows=others,
            whose=whose,
        )
        if found is not None and (best is None or (best.step is None and found.step is not None)):
            best = found
    if best is None:
        return None
    return best.model_copy(update={"fingerprint": fingerprint_now(run, traffic_workload(best))})
