"""What is judged without a run: a look at a host, a stored run, files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from specdoctor.assembly.catalogue import all_checks, all_drafter_checks, all_engines, engines_named

if TYPE_CHECKING:
    from specdoctor.app.model_files import ModelFiles
    from specdoctor.app.preflight import Finding
    from specdoctor.app.triage import TriageDocument
    from specdoctor.app.wiring import WiringDocument
    from specdoctor.core.events import Event
    from specdoctor.core.facts import Facts
    from specdoctor.core.host import Host
    from specdoctor.core.ports import Briefing, Scene
    from specdoctor.core.recorded import Recorded
    from specdoctor.core.server import WholeLog
    from specdoctor.drafter.comparison import EngineChoice
    from specdoctor.engines.sglang_series import DecodeSeries


def recorded_run(history: Sequence[Event], artefact: Callable[[str], bytes]) -> tuple[Briefing, Recorded]:
    """A stored run as its planner saw it at the end, and what it found in few words."""
    from specdoctor.analysis.recording import recorded_of
    from specdoctor.app.read_again import read_again

    briefing, facts = read_again(history, artefact, all_engines())
    return briefing, recorded_of(briefing.ledger, facts)


def scene_of(facts: Facts, *, target: str, port: int | None = None, engine: str | None = None) -> Scene:
    """The server under study among those the facts show, for a look without a run. Raises TargetError as a run does."""
    from specdoctor.app.scene import scene_of as chosen

    return chosen(facts, engines=engines_named(engine), target=target, port=port)


def preflight(
    facts: Facts, *, engine: str | None = None, port: int | None = None, meant: Sequence[str] = ()
) -> tuple[list[Finding], int]:
    """What is possible on a host, and how many servers it shows; `port`: only the one there."""
    from specdoctor.app.preflight import Finding, host_findings, server_findings
    from specdoctor.app.scene import none_found, on_port

    every = [view for adapter in engines_named(engine) for view in adapter.servers(facts)]
    views = on_port(every, port)
    found = host_findings(facts)
    for view in views:
        found += server_findings(view, facts, meant=meant)
    if not views:
        nothing = f"{none_found(every, port)} among the processes and logs that could be read"
        found.append(Finding(name="server", state="no", text=nothing, then="start it, or name its log with --log"))
    return found, len(views)


def decode_columns() -> DecodeSeries:
    """Takes the pieces of a log that is too long to be kept, for the means over all its lines."""
    from specdoctor.engines.sglang_series import DecodeSeries

    return DecodeSeries()


def triaged(
    texts: Mapping[str, str],
    *,
    symptom: str,
    problems: Mapping[str, str] | None = None,
    wholes: Mapping[str, WholeLog] | None = None,
) -> TriageDocument:
    """Files judged by every engine, reader and check there is. `problems`: what was not read, or in part, and why;
    `wholes`: what all lines gave of a log of which the text holds a part.
    """
    from specdoctor.app.triage import TriageDocument, triage
    from specdoctor.app.triage_secrets import secrets_of, without_secrets
    from specdoctor.readers.every import material_of
    from specdoctor.readers.pieces import pieces_of

    pieces, behind = pieces_of(texts)
    material = material_of(pieces, problems)
    found = triage(
        texts,
        engines=all_engines(),
        checks=all_checks(),
        material=material,
        pieces=pieces,
        behind=behind,
        symptom=symptom,
        wholes=wholes,
    )
    secrets = secrets_of(pieces, ("\n".join(notes.lines) for notes in material.notes))
    prose = {behind.get(notes.where, notes.where) for notes in material.notes}
    shown = without_secrets(found.model_dump(mode="json", by_alias=True), secrets, prose=prose)
    return TriageDocument.model_validate(shown)


def model_files(host: Host, path: str, *, label: str) -> ModelFiles:
    """A model's folder or GGUF file on a host; `label` is how the user wrote it. Raises CheckpointError."""
    from specdoctor.app.model_files import ModelFiles

    return ModelFiles(host, path, label=label)


def wiring(
    draft: ModelFiles,
    target: ModelFiles,
    *,
    training: tuple[str, str] | None = None,
    choice: EngineChoice | None = None,
    method: str | None = None,
    source: tuple[str, str] | None = None,
    doubt: str = "",
) -> WiringDocument:
    """A drafter's files judged against its target's. Raises CheckpointError and UsageError."""
    from specdoctor.app.wiring import judge_wiring

    return judge_wiring(
        draft,
        target,
        checks=all_drafter_checks(),
        training=training,
        choice=choice,
        method=method,
        source=source,
        doubt=doubt,
    )
