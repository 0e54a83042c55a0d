"""The action of a benchmark: its plan, what was measured, and what the user's own benchmark said."""

from __future__ import annotations

import re
from pathlib import Path

from specdoctor.app import attending, guarding, started_anew
from specdoctor.app.asked_answers import answer_figures, answer_plan
from specdoctor.app.bench_flags import failures_text
from specdoctor.app.control import compared, control_requests
from specdoctor.app.fingerprint import bench_workload
from specdoctor.app.measuring import measure
from specdoctor.app.outcome import Outcome
from specdoctor.app.present import current_spec, figures_of, fingerprint_now, server_now
from specdoctor.app.prompts import BUILT_IN, built_in, chat_template, from_file, from_text, rendered
from specdoctor.app.run import Run
from specdoctor.app.wide import wide_figures, wide_plan
from specdoctor.core import events as ev
from specdoctor.core.errors import UsageError
from specdoctor.core.facts import Facts
from specdoctor.core.input_file import is_there
from specdoctor.core.measurement import BenchPlan, BenchRecord, Measurement, PromptSet, on_prompts
from specdoctor.core.moves import Bench
from specdoctor.core.server import DecodeWindow


def bench(run: Run, action: str, move: Bench) -> Outcome:
    """Measure the launch that runs now."""
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
    if run.ledger.changed and (record.stopped or not measurement.requests) and guarding.news(run) is not None:
        return "unknown", f"{launch.label}: cut off, nobody was in touch and the guard took over", ()
    if record.stopped and not run.ledger.changed and started_anew.replaced(run):
        return "unknown", f"{launch.label}: cut off, others started the server anew meanwhile", ()
    told: dict[str, object] = {
        "own_figures": _own_figures(run, record),
        "fingerprint": fingerprint_now(run, bench_workload(plan)),
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
    figures = figures_of(measurement) + _own_words(measurement, record)
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
    prompts = from_file(Path(chosen)) if settings.prompt_file and is_there(chosen) else built_in(chosen)
    if move.prompts:
        prompts = _other_prompts(run.scene.facts, move.prompts)
    requests = max(settings.requests, 2 * move.concurrency if move.concurrency > 1 else settings.requests)
    if settings.form == "generate":
        prompts = rendered(prompts, chat_template(run.scene.facts, move.template or view.model_path))
    plan = BenchPlan(
        run=run.id,
        action=action,
        server=server_now(run),
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
