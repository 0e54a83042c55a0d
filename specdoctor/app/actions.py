"""Carrying out moves: each one starts with an event, does one thing through a port, and ends with an event."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from specdoctor.analysis.figure import FigureError
from specdoctor.analysis.recall import read_recall
from specdoctor.analysis.symptom import read_symptom
from specdoctor.app import attending, guarding
from specdoctor.app.asked_answers import answer_figures, answer_plan, with_answers
from specdoctor.app.bench_flags import failures_text
from specdoctor.app.bounding import computed, known
from specdoctor.app.by_hand import recognise
from specdoctor.app.control import compared, control_requests
from specdoctor.app.fingerprint import bench_workload, fingerprint, traffic_workload
from specdoctor.app.history import note_history
from specdoctor.app.measuring import measure, traffic_measurement
from specdoctor.app.prompts import BUILT_IN, built_in, chat_template, from_file, from_text, rendered
from specdoctor.app.read_back import ReadBack, read_back
from specdoctor.app.run import FACTS_ARTEFACT, Run
from specdoctor.app.start_record import note_record
from specdoctor.app.stored_test import stored_test
from specdoctor.app.surroundings import surroundings_text
from specdoctor.app.verdict_record import note_verdicts
from specdoctor.app.wide import wide_figures, wide_plan
from specdoctor.core import events as ev
from specdoctor.core.errors import ConnectionLost, LedgerError, ServerGone, TargetError, UsageError
from specdoctor.core.facts import Facts
from specdoctor.core.hypothesis import JUDGES, Hypothesis, TodoItem
from specdoctor.core.launch import LaunchOrder, ReadyRules, RestoreOrder, RestoreOutcome
from specdoctor.core.measurement import BenchPlan, BenchRecord, Measurement, PromptSet, on_prompts
from specdoctor.core.model import Status
from specdoctor.core.moves import (
    Bench,
    Compute,
    Move,
    Note,
    OpenHypothesis,
    Park,
    Recognise,
    Relaunch,
    Restore,
    RunChecks,
    Snapshot,
    Watch,
    risk_of,
)
from specdoctor.core.operations import SnapshotRequest
from specdoctor.core.reach import spoken
from specdoctor.core.redact import redact
from specdoctor.core.server import DecodeWindow, ServerRef, ServerView, SpecSetting
from specdoctor.core.software import software_words

LEAST_READY_S = 1800.0
RECENT_S = 180.0
"""Decode lines this near to the newest one show the traffic that goes on now."""
"""A start is given at least half an hour: large models, first-time kernel compilation."""

Outcome = tuple[str, str, tuple[str, ...]]
"""outcome word, summary, evidence ids"""


def carry_out(run: Run, move: Move, *, action: str | None = None) -> None:
    """Do one move. `action` re-attaches to an action that was started before the run was interrupted."""
    match move:
        case OpenHypothesis():
            _open(run, move)
        case Park():
            h = run.ledger.hypotheses[move.hypothesis]
            run.emit(ev.HypothesisClosed(hypothesis=h.id, status=Status.PARKED, because=move.why, evidence=h.evidence))
        case Note():
            run.emit(ev.NoteAdded(text=move.text, by=run.planner.name, lines=move.lines))
        case Snapshot():
            _act(run, move, action, _snapshot)
        case RunChecks():
            _act(run, move, action, lambda r, a: _checks(r, a, move))
        case Compute():
            _act(run, move, action, lambda r, a: _compute(r, a, move))
        case Watch():
            _act(run, move, action, lambda r, a: _watch(r, a, move))
        case Bench():
            _act(run, move, action, lambda r, a: _bench(r, a, move))
        case Relaunch():
            _act(run, move, action, lambda r, a: _relaunch(r, a, move))
        case Restore():
            _act(run, move, action, _restore)
        case Recognise():
            _act(run, move, action, recognise)
        case _:
            raise LedgerError(f"a move of kind {move.kind} is not carried out")


def _act(run: Run, move: Move, action: str | None, do: Callable[[Run, str], Outcome]) -> None:
    """Log the start, do it, log the end; a broken link ends as `unknown`, for nobody knows what happened."""
    began = run.clock.now()
    if action is None:
        action = run.ledger.next_id("A")
        run.emit(
            ev.ActionStarted(
                action=action,
                what=move.kind,
                risk=risk_of(move),
                move=move.model_dump(mode="json"),
                why=getattr(move, "why", ""),
                hypotheses=getattr(move, "hypotheses", ()),
            )
        )
    try:
        outcome, summary, evidence = do(run, action)
    except ConnectionLost as lost:
        _end(run, action, "unknown", f"the connection was lost: {lost.message}", began, ())
        raise
    except TargetError as error:
        again = move.kind == "bench" and isinstance(error, ServerGone)  # nothing is known of that launch by it
        _end(run, action, "unknown" if again else "failed", error.message, began, ())
        raise
    _end(run, action, outcome, summary, began, evidence)


def _end(run: Run, action: str, outcome: str, summary: str, began: float, evidence: tuple[str, ...]) -> None:
    run.emit(
        ev.ActionEnded(
            action=action,
            outcome=outcome,  # type: ignore[arg-type]  # one of the three words, checked by the model
            summary=summary,
            duration_s=max(run.clock.now() - began, 0.0),
            evidence=evidence,
        )
    )


def _open(run: Run, move: OpenHypothesis) -> None:
    identifier = run.ledger.next_id("H")
    todo = tuple(
        TodoItem(id=f"{identifier}.{i}", content=content, priority=priority)
        for i, (content, priority) in enumerate(move.todo, start=1)
    )
    run.emit(
        ev.HypothesisOpened(
            hypothesis=Hypothesis(
                id=identifier,
                key=move.key,
                cause=move.cause,
                claim=move.claim,
                answers=move.answers,
                prediction=move.prediction,
                priority=move.priority,
                prior=move.prior,
                about=move.about,
                decides=move.decides,
                todo=todo,
            )
        )
    )


def _snapshot(run: Run, action: str) -> Outcome:
    settings = run.ledger.settings
    request = SnapshotRequest(
        ports=(settings.port,) if settings.port else (),
        logs=settings.extra_logs,
        files=settings.extra_files,
        history=bool(settings.recall),
    )
    facts = run.operations.snapshot(request)
    first = run.ledger.server is None
    before = run.scene
    try:
        view = run.set_scene(facts)
    except TargetError:
        _keep_facts(run, action, facts, None)
        raise
    tested = stored_test(run.scene, run.operations, before=before) if run.scene is not None else None
    if tested is not None:
        facts = tested
        view = run.set_scene(facts)
    evidence = _keep_facts(run, action, facts, view)
    spec = view.spec.label if view.spec else "speculation unknown"
    version = view.version or view.version_range or "version unknown"
    run.emit(
        ev.ServerSeen(
            engine=view.engine,
            ref=view.ref,
            state=view.state,
            version=view.version,
            version_range=view.version_range,
            summary=f"{view.engine} {version}, {_models(view)}, {spec}",
            evidence=evidence,
            surroundings=redact(surroundings_text(view)),
        )
    )
    if first:
        for claim in (*read_symptom(settings.symptom).claims, *read_recall(settings.recall, settings.recalled_at)):
            run.emit(ev.ClaimStated(claim=claim))
    past = (note_history(run, action, facts), note_record(run, action), note_verdicts(run, action)) if first else ()
    cited = (evidence, *(e for e in past if e is not None))
    return "done", f"{view.engine} {version} is {view.state}: {spec}", cited


def _models(view: ServerView) -> str:
    """Target and drafter by the names of their folders."""
    target = PurePosixPath(view.model_path or "model unknown").name
    drafter = PurePosixPath(view.draft_path).name if view.draft_path and view.draft_path != view.model_path else ""
    return f"{target} with {drafter}" if drafter else target


def _keep_facts(run: Run, action: str, facts: Facts, view: ServerView | None) -> str:
    """The facts as evidence, with the values that are in force and were not asked for."""
    return run.record(
        action=action,
        source="snapshot",
        summary=f"read {len(facts.processes)} processes, {len(facts.logs)} logs, {len(facts.files)} files "
        f"of {facts.host.hostname or run.operations.target} in {facts.duration_s:.1f} s",
        artefact=FACTS_ARTEFACT,
        content=facts.model_dump_json(by_alias=True),
        data={
            "boot_id": facts.host.boot_id,
            "problems": list(facts.problems),
            "rewrites": [r.model_dump(mode="json") for r in view.rewrites] if view else [],
        },
    )


def _checks(run: Run, action: str, move: RunChecks) -> Outcome:
    assert run.scene is not None
    chosen = [c for c in run.checks if not move.names or c.name in move.names]
    scene = with_answers(run, run.scene)
    ids: list[str] = []
    found = 0
    for check in chosen:
        observations = check.judge(scene)
        words = "; ".join(f"{o.stance}: {o.claim}" for o in observations)
        evidence = run.record(
            action=action,
            source=f"check {check.name}",
            summary=words,
            data={
                "sources": [s.model_dump(mode="json") for o in observations for s in o.sources],
                JUDGES: list(check.causes),
            },
        )
        ids.append(evidence)
        for observation in observations:
            found += observation.stance == "supports"
            run.emit(ev.Observed(evidence=evidence, observation=observation))
    return "done", f"checks: {len(chosen)}, findings: {found}", tuple(ids)


def _compute(run: Run, action: str, move: Compute) -> Outcome:
    spec = run.scene.view.spec if run.scene else None
    try:
        facts = known(run.ledger, spec, move.basis)
    except FigureError as error:
        return "done", f"no bound follows from the {move.basis} figures: {error.message}", ()
    if facts is None:
        return "done", f"no bound follows from the {move.basis} figures", ()
    evidence = run.ledger.next_id("E")
    try:
        bounds = computed(run.ledger, facts, evidence=evidence, at=run.clock.now())
    except FigureError as error:
        return "done", f"no bound follows from the {move.basis} figures: {error.message}", ()
    if not bounds:
        return "done", f"no claim to set a bound against ({move.basis} figures)", ()
    run.record(
        action=action,
        source="arithmetic",
        summary=f"{move.basis} figures: " + "; ".join(b.text for b in bounds),
        data={"assumptions": [a for b in bounds for a in b.assumptions]},
    )
    for bound in bounds:
        run.emit(bound)
    excluded = sum(1 for b in bounds if b.refuted)
    counted = f"{len(bounds)} bound{'' if len(bounds) == 1 else 's'} from {move.basis} figures"
    return "done", f"{counted}, {excluded} of {len(bounds)} excluding a claim", (evidence,)


def _server(run: Run) -> ServerRef:
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


def _watch(run: Run, action: str, move: Watch) -> Outcome:
    assert run.scene is not None
    view = run.scene.view
    record = run.operations.watch(_server(run), seconds=move.seconds, log_path=view.log_path)
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
        traffic += f"; its log shows {_figures(measurement)}"
    return "done", traffic, (evidence,)


def _traffic(run: Run, evidence: str, fresh_log: str) -> Measurement | None:
    """The users' own traffic, from what was logged meanwhile; with the minutes before, or the log as read, where that
    is too little for a cycle."""
    assert run.scene is not None
    engine = run.engine
    assert engine is not None
    fresh = engine.read_log(fresh_log, where="log while watching", argv=run.scene.view.argv).decode if fresh_log else ()
    logged = run.scene.view.log.decode if run.scene.view.log else ()
    newest = max((w.at for w in (*logged, *fresh) if w.at is not None), default=0.0)
    recent = tuple(w for w in logged if w.at is not None and w.at > newest - RECENT_S)
    best: Measurement | None = None
    for windows in (fresh, (*recent, *fresh) if fresh else (), logged):
        found = traffic_measurement(
            measurement_id=run.ledger.next_id("M"),
            evidence=evidence,
            launch="as found",
            launch_key="original",
            spec=current_spec(run),
            windows=windows,
        )
        if found is not None and (best is None or (best.step is None and found.step is not None)):
            best = found
    if best is None:
        return None
    return best.model_copy(update={"fingerprint": _fingerprint(run, traffic_workload(best))})


def _fingerprint(run: Run, workload: dict[str, str]) -> dict[str, str]:
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


def _figures(m: Measurement) -> str:
    parts = [
        m.throughput.with_unit() if m.throughput else None,
        f"accept length {m.accept_length}" if m.accept_length and m.spec.on else None,
        f"{m.step.with_unit()} a {'cycle' if m.spec.on else 'step'}" if m.step else None,
        f"{m.concurrency} at once" if m.concurrency > 1 else None,
    ]
    return ", ".join(p for p in parts if p) or "no figures"


def _bench(run: Run, action: str, move: Bench) -> Outcome:
    assert run.scene is not None
    launch = run.ledger.current_launch
    assert launch is not None
    try:
        plan = _plan(run, action, move)
    except UsageError as error:
        if not move.prompts:
            raise
        return "failed", f"prompts of {move.prompts} cannot be sent: {error}", ()
    record = run.operations.bench(plan, lambda p: attending.progress(run, action, p))
    measurement = measure(
        measurement_id=run.ledger.next_id("M"),
        evidence=run.ledger.next_id("E"),
        launch=launch.label,
        launch_key=launch.key,
        spec=current_spec(run),
        plan=plan,
        record=record,
    )
    told: dict[str, object] = {
        "own_figures": _own_figures(run, record),
        "fingerprint": _fingerprint(run, bench_workload(plan)),
    }
    if move.control:
        ours = not run.ledger.restores or run.ledger.restores[-1].started
        told |= {"source": "control", "launch": "as found, put back" if ours else "as found, started by others"}
    if move.prompts or move.template:
        key, label = (on_prompts(name, move.prompts, move.template) for name in (launch.key, launch.label))
        told |= {"source": "prompts", "launch": label, "launch_key": key}
    if move.wide:
        told |= wide_figures(measurement, plan, record, _decode_windows(run, record))
    if move.answers:
        told |= answer_figures(measurement, move.answers)
    measurement = measurement.model_copy(update=told)
    figures = _figures(measurement) + _own_words(measurement, record)
    evidence = run.record(
        action=action,
        source="bench",
        summary=f"{launch.label}: {figures}; {measurement.requests} requests"
        + (f"; {failures_text(measurement.failures, len(record.requests))}" if measurement.failed else ", 0 failed"),
        artefact="bench.json",
        content=record.model_dump_json(),
        data={"launch": launch.label, "flags": list(measurement.flags)},
    )
    run.emit(ev.Measured(measurement=measurement))
    run.scene = run.scene.model_copy(update={"under_load": record.gpus or run.scene.under_load})
    control = compared(run.ledger, measurement) if move.control else None
    if control is not None:
        run.emit(control)
    if measurement.requests == 0:
        errors = sorted({r.error for r in record.requests if r.error})
        why = record.stopped or "; ".join(errors[:3]) or "no request gave tokens that could be timed"
        return "failed", f"{launch.label}: nothing could be measured ({why})", (evidence,)
    return "done", f"{launch.label}: {figures}", (evidence,)


def _plan(run: Run, action: str, move: Bench) -> BenchPlan:
    assert run.scene is not None
    settings, view = run.ledger.settings, run.scene.view
    chosen = settings.prompt_file or "mixed"
    prompts = from_file(Path(chosen)) if settings.prompt_file and Path(chosen).exists() else built_in(chosen)
    if move.prompts:
        prompts = _other_prompts(run.scene.facts, move.prompts)
    requests = max(settings.requests, 2 * move.concurrency if move.concurrency > 1 else settings.requests)
    if settings.form == "generate":
        prompts = rendered(prompts, chat_template(run.scene.facts, move.template or view.model_path))
    plan = BenchPlan(
        run=run.id,
        action=action,
        server=_server(run),
        engine=view.engine,
        model=view.served_model or view.model_path or "default",
        prompt_set=prompts,
        form=settings.form,
        concurrency=move.concurrency,
        requests=control_requests(run.ledger, requests) if move.control else requests,
        warmup=(warmup := max(settings.warmup, min(move.concurrency, 8))),
        warmup_most=3 * warmup,
        max_new_tokens=settings.max_new_tokens,
        own_command=() if move.control else settings.bench_command,
        log_path=view.log_path,
    )
    if move.answers:
        return answer_plan(plan, move.answers, temperature=move.temperature)
    return wide_plan(plan) if move.wide else plan


def _decode_windows(run: Run, record: BenchRecord) -> tuple[DecodeWindow, ...]:
    """Decode lines that the server logged while it was benchmarked."""
    if run.engine is None or run.scene is None or not record.log:
        return ()
    return run.engine.read_log(record.log, where="log during the benchmark", argv=run.scene.view.argv).decode


def _other_prompts(facts: Facts, named: str) -> PromptSet:
    """A built-in set by its name, else a file that was read on the host. Raises UsageError."""
    if named in BUILT_IN:
        return built_in(named)
    held = facts.files.get(named)
    return from_text(named, (held.text if held is not None else None) or "")


def _own_words(measurement: Measurement, record: BenchRecord) -> str:
    """What the user's own benchmark said, or that it failed."""
    if record.own_exit_code not in (None, 0):
        return f"; your own benchmark failed (exit code {record.own_exit_code})"
    told = ", ".join(f"{name} {value:g}" for name, value in measurement.own_figures.items())
    return f"; your own benchmark: {told}" if told else ""


def _own_figures(run: Run, record: BenchRecord) -> dict[str, float]:
    """Figures of the user's own benchmark, by the patterns of the targets file."""
    out: dict[str, float] = {}
    for name, pattern in run.ledger.settings.bench_patterns.items():
        found = re.search(pattern, record.own_output or "")
        if found and found.groups():
            try:
                out[name] = float(found.group(1))
            except ValueError:
                continue
    return out


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


def _relaunch(run: Run, action: str, move: Relaunch) -> Outcome:
    assert run.scene is not None
    order = LaunchOrder(
        run=run.id,
        action=action,
        server=_server(run),
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


def _restore(run: Run, action: str) -> Outcome:
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
    return ("done" if outcome.proved else "failed"), words, (evidence,)
