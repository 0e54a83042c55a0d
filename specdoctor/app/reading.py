"""The actions that read and judge: the snapshot of the host, the checks of what was read, the bounds by arithmetic."""

from __future__ import annotations

from pathlib import PurePosixPath

from specdoctor.analysis.figure import FigureError
from specdoctor.analysis.recall import read_recall
from specdoctor.analysis.symptom import read_symptom
from specdoctor.app.asked_answers import with_answers
from specdoctor.app.bounding import computed, known
from specdoctor.app.history import note_history
from specdoctor.app.outcome import Outcome
from specdoctor.app.run import FACTS_ARTEFACT, Run
from specdoctor.app.start_record import note_record
from specdoctor.app.stored_test import stored_test
from specdoctor.app.surroundings import surroundings_text
from specdoctor.app.verdict_record import note_verdicts
from specdoctor.core import events as ev
from specdoctor.core.errors import TargetError
from specdoctor.core.facts import Facts
from specdoctor.core.hypothesis import JUDGES
from specdoctor.core.moves import Compute, RunChecks
from specdoctor.core.operations import SnapshotRequest
from specdoctor.core.redact import redact
from specdoctor.core.server import ServerView


def snapshot(run: Run, action: str) -> Outcome:
    """Read everything once; which server it is, and what is claimed of it, follows from that."""
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
            start_s=view.log.start.total_s if view.log is not None else None,
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


def run_checks(run: Run, action: str, move: RunChecks) -> Outcome:
    """Judge what was read: each check says what it saw as evidence."""
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


def compute(run: Run, action: str, move: Compute) -> Outcome:
    """Bounds that follow from figures alone, and the claims that they exclude."""
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
