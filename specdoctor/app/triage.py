"""Judging files that somebody sent: the same reader and the same checks as over SSH, with nothing to test by."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import ConfigDict, Field, JsonValue

from specdoctor.analysis.symptom import read_symptom
from specdoctor.app.aux_layers import aux_layers
from specdoctor.app.measuring import traffic_measurement
from specdoctor.app.triage_findings import Finding, findings_of
from specdoctor.app.triage_verdict import verdict_of
from specdoctor.core.engine import Engine
from specdoctor.core.estimate import Estimate
from specdoctor.core.facts import Facts
from specdoctor.core.hypothesis import Observation
from specdoctor.core.material import Material
from specdoctor.core.model import Frozen, Verdict
from specdoctor.core.ports import Check, Scene
from specdoctor.core.server import DecodeWindow, ServerView, SpecSetting

SCHEMA: Literal["specdoctor.triage/1"] = "specdoctor.triage/1"
WEIGHTED = "mean over decode lines with living requests, weighted by running requests"


UNKNOWN = ServerView(engine="", state="down")
"""Stands for a server of which no file tells: tables and notes may still say enough."""


class EngineSeen(Frozen):
    """Which engine wrote the files; a version that they do not name is given as the range that they prove."""

    name: str | None
    version: str | None
    version_range: str | None


class TriageDocument(Frozen):
    """What the files say. `facts` holds only what is known, each figure of an estimate with its estimator beside it."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_id: Literal["specdoctor.triage/1"] = Field(default=SCHEMA, alias="schema")
    engine: EngineSeen
    state: Literal["running", "starting", "down"] | None
    verdict: Verdict
    headline: str
    findings: tuple[Finding, ...]
    facts: dict[str, JsonValue]
    missing: tuple[str, ...]
    files: tuple[str, ...]


def triage(
    texts: Mapping[str, str],
    *,
    engines: Sequence[Engine],
    checks: Sequence[Check],
    material: Material | None = None,
    symptom: str = "",
) -> TriageDocument:
    """Judge files by name and text; the names are what evidence cites. `material` is what readers made of them."""
    views = [view for engine in engines if (view := engine.view_from_files(dict(texts))) is not None]
    view = views[0] if views else UNKNOWN
    complaints = read_symptom(symptom).complaints
    scene = Scene(view=view, facts=Facts(), complaints=complaints, material=material or Material())
    observations = [o for check in checks for o in check.judge(scene)]
    facts = facts_of(view)
    verdict = verdict_of(view, observations, facts, complaints)
    aliases = aliases_of(view, texts)
    cited = [_named_here(o, aliases) for o in observations]
    findings = findings_of(cited, texts, verdict=verdict)
    return TriageDocument(
        engine=EngineSeen(name=view.engine or None, version=view.version, version_range=view.version_range),
        state=view.state if views else None,
        verdict=verdict,
        headline=_headline(view, verdict, findings),
        findings=findings,
        facts=facts,
        missing=_missing(view, verdict, findings),
        files=tuple(texts),
    )


def aliases_of(view: ServerView, texts: Mapping[str, str]) -> dict[str, str]:
    """The given file behind each config.json that checks cite by its place on the host."""
    aliases: dict[str, str] = {}
    for folder, config in ((view.model_path, view.target_config), (view.draft_path, view.draft_config)):
        for name, text in texts.items():
            if folder is not None and config is not None and name.endswith(".json") and _same(text, config):
                aliases[f"{folder}/config.json"] = name
    return aliases


def _same(text: str, config: dict[str, JsonValue]) -> bool:
    try:
        return bool(json.loads(text) == config)
    except ValueError:
        return False


def _named_here(observation: Observation, aliases: Mapping[str, str]) -> Observation:
    sources = tuple(s.model_copy(update={"where": aliases.get(s.where, s.where)}) for s in observation.sources)
    return observation.model_copy(update={"sources": sources})


def _headline(view: ServerView, verdict: Verdict, findings: Sequence[Finding]) -> str:
    proved = [f for f in findings if f.status == "supported"]
    if verdict is Verdict.CAUSE:
        return f"{proved[0].cause or 'failure'}: {proved[0].claim}"
    if verdict is Verdict.HEALTHY:
        pays = "; whether speculation pays they do not say" if view.spec is not None and view.spec.on else ""
        return f"healthy: nothing in these files needs repair{pays}"
    if view.state == "down" and not proved and (view.log is None or view.log.ready_line is None):
        return "not enough evidence: the server did not come up, and its log does not say why"
    if proved:
        return f"not enough evidence: {', '.join(f.cause or '?' for f in proved)} is there; what it costs is not known"
    return "not enough evidence in these files"


def _missing(view: ServerView, verdict: Verdict, findings: Sequence[Finding]) -> tuple[str, ...]:
    """What would decide more, the cheapest first."""
    if verdict is Verdict.HEALTHY:
        return ()
    out: list[str] = []
    if view.log is None:
        out.append("the server's log from its first line")
    if not view.asked:
        out.append("the launch line: only it says what was asked for")
    if verdict is not Verdict.CAUSE:
        out += [f"{f.cause}: {f.next_check}" for f in findings if f.next_check]
        if view.spec is not None and view.spec.on:
            out.append("whether speculation pays: a benchmark of this launch and of one without speculation")
    return tuple(dict.fromkeys(out))


def facts_of(view: ServerView) -> dict[str, JsonValue]:
    """The figures that the files give; what is not known is not in it."""
    facts: dict[str, JsonValue] = aux_layers(view)
    if view.spec is not None:
        facts["draft_steps"] = view.spec.draft_steps
        if view.spec.on:
            facts |= {"topk": view.spec.topk, "draft_tokens": view.spec.draft_tokens}
    cap = view.effective.get("max_running_requests", view.asked.get("max_running_requests"))
    if cap is not None and str(cap).isdigit():
        facts["max_running_requests"] = int(str(cap))
    windows = view.log.decode if view.log else ()
    if windows:
        facts["running_requests_max"] = max(w.running for w in windows)
        facts["queue_requests_max"] = max(w.queue for w in windows)
        facts |= _speeds(windows, view.spec)
    whole = view.log.whole if view.log else None
    if whole is not None and whole.accept_length is not None:
        facts["accept_length_of_whole_log"] = round(whole.accept_length, 4)
        facts["accept_length_of_whole_log_estimator"] = (
            f"mean of all {whole.lines} decode lines; the other figures are of the newest {len(windows)}"
        )
    return facts


def weighted_accept_length(windows: Sequence[DecodeWindow]) -> float | None:
    """Accept length with the bonus token, by WEIGHTED; a line with no token in flight ended a batch and is left out."""
    pairs = [(w.accept_length, w.running) for w in windows if w.accept_length is not None and w.tokens != 0]
    total = sum(running for _, running in pairs)
    return sum(length * running for length, running in pairs) / total if total else None


def _speeds(windows: Sequence[DecodeWindow], spec: SpecSetting | None) -> dict[str, JsonValue]:
    facts: dict[str, JsonValue] = {}
    length = weighted_accept_length(windows)
    if length is not None:
        facts |= {"accept_length": round(length, 4), "accept_length_estimator": WEIGHTED}
    traffic = traffic_measurement(
        measurement_id="M1",
        evidence="",
        launch="as logged",
        launch_key="original",
        spec=spec or SpecSetting(algorithm="unknown" if length is not None else None),
        windows=windows,
    )
    if traffic is None:
        return facts
    facts["measured_at_running_requests"] = traffic.concurrency
    figures: tuple[tuple[str, Estimate | None], ...] = (
        ("throughput_tok_s", traffic.throughput),
        ("step_ms", traffic.step),
    )
    for name, figure in figures:
        if figure is not None:
            facts |= {name: round(figure.value, 4), f"{name}_estimator": figure.estimator}
    return facts
