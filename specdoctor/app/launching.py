"""The actions that start the server: another launch, and the original put back."""

from __future__ import annotations

from specdoctor.app import attending, guarding
from specdoctor.app.outcome import Outcome
from specdoctor.app.present import server_now
from specdoctor.app.read_back import ReadBack, read_back
from specdoctor.app.run import Run
from specdoctor.core import events as ev
from specdoctor.core.launch import LaunchOrder, ReadyRules, RestoreOrder, RestoreOutcome
from specdoctor.core.moves import Relaunch
from specdoctor.core.software import software_words

LEAST_READY_S = 1800.0
"""A start is given at least half an hour: large models, first-time kernel compilation."""


def _rules(run: Run) -> ReadyRules:
    assert run.scene is not None
    engine = run.engine
    assert engine is not None
    return engine.ready_rules(run.scene.view.version)


def ready_timeout_s(run: Run) -> float:
    """Three times the last start that the log shows, at least half an hour, unless the user said otherwise."""
    settings = run.ledger.settings
    if settings.ready_timeout_s is not None:
        return settings.ready_timeout_s
    return max(LEAST_READY_S, 3.0 * (last_start_s(run) or 0.0))


def last_start_s(run: Run) -> float | None:
    """How long the last start took that this run made, or that the server's own log shows."""
    made = [r.outcome.start_s for r in run.ledger.relaunches if r.outcome.status == "ready"]
    if made:
        return made[-1]
    log = run.scene.view.log if run.scene else None
    return log.start.total_s if log is not None else None


def relaunch(run: Run, action: str, move: Relaunch) -> Outcome:
    """Start the server with a change, and read back what is in force then."""
    assert run.scene is not None
    order = LaunchOrder(
        run=run.id,
        action=action,
        server=server_now(run),
        keeper=run.scene.view.keeper.through,
        change=move.change,
        rules=_rules(run),
        ready_timeout_s=ready_timeout_s(run),
        expected_start_s=last_start_s(run),
    )
    outcome = guarding.undid(run, run.operations.relaunch(order, lambda p: attending.progress(run, action, p)))
    found = read_back(run, outcome.server, move.change) if outcome.status == "ready" else ReadBack()
    spec, software = found.spec, found.software
    said = outcome.reason
    if outcome.status in ("failed", "timeout") and run.engine is not None:
        failure = run.engine.explain_failure(outcome.log)
        said = failure.meaning if failure is not None else said
    words = f"{move.change.label}: {outcome.status}"
    words += f", {spec.label} in force, up after {outcome.start_s:.0f} s" if spec else (f" ({said})" if said else "")
    words += f"; runs {software_words(software)}" if software else ""
    evidence = run.record(
        action=action,
        source="relaunch",
        summary=words,
        artefact="launch.log",
        content=outcome.log,
        data={"argv": list(outcome.argv), "downtime_s": outcome.downtime_s},
    )
    outcome = outcome.model_copy(update={"log": "", "reason": said})
    run.emit(ev.ServerRelaunched(change=move.change, spec=spec, software=software, outcome=outcome, evidence=evidence))
    return ("done" if outcome.status == "ready" else "failed"), words, (evidence,)


def restore_order(run: Run, action: str) -> RestoreOrder:
    """The order that brings the original back on the port where it was found."""
    assert run.scene is not None
    ref = run.scene.view.ref
    return RestoreOrder(
        run=run.id,
        action=action,
        port=ref.port if ref else 0,
        rules=_rules(run),
        ready_timeout_s=ready_timeout_s(run),
        expected_start_s=last_start_s(run),
    )


def _with_its_last_words(run: Run, outcome: RestoreOutcome) -> str:
    """Why the original did not come up: what its engine makes of the log, else the log's last line."""
    if outcome.status not in ("failed", "timeout"):
        return outcome.reason
    failure = run.engine.explain_failure(outcome.log) if run.engine is not None else None
    last = next((line.strip() for line in reversed(outcome.log.splitlines()) if line.strip()), "")
    why = failure.meaning if failure is not None else f'its log ends with "{last[:160]}"' if last else ""
    return "; ".join(each for each in (outcome.reason, why) if each)


def restore(run: Run, action: str) -> Outcome:
    """Put the original back and say what was compared."""
    assert run.scene is not None
    order = restore_order(run, action)
    outcome = run.operations.restore(order, lambda p: attending.progress(run, action, p))
    outcome = outcome.model_copy(update={"reason": _with_its_last_words(run, outcome)})
    unequal = ", ".join(f"{k} ({v})" for k, v in sorted(outcome.differences.items()))
    same = sum(outcome.equal.values())
    words = f"{outcome.status}; {same} of {len(outcome.equal)} parts equal" + (
        f"; not equal: {unequal}" if unequal else ""
    )
    words += f" ({outcome.reason})" if outcome.reason and not outcome.proved else ""
    words += f"; {outcome.other.words}" if outcome.other is not None else ""
    evidence = run.record(
        action=action,
        source="restore",
        summary=words,
        artefact="restore.log",
        content=outcome.log,
        data={"equal": dict(outcome.equal), "reason": outcome.reason},
    )
    started = outcome.status in ("restored", "failed", "timeout")
    run.emit(ev.ServerRestored(outcome=outcome.model_copy(update={"log": ""}), evidence=evidence, started=started))
    return ("done" if outcome.proved or outcome.left_to_others else "failed"), words, (evidence,)
