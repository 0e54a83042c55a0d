"""Judging files that somebody sent: the same reader and the same checks as over SSH, with nothing to test by."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pydantic import ConfigDict, Field, JsonValue

from specdoctor.analysis.figure import FigureError
from specdoctor.analysis.logged_rows import all_paired
from specdoctor.app.foreign_launch import unexplained
from specdoctor.app.identity import IdentityCheck, identity_checks
from specdoctor.app.mixed_servers import mixed_in, without_means
from specdoctor.app.odd_figures import without_odd
from specdoctor.app.told_and_read import contradictions
from specdoctor.app.triage_fact import Fact
from specdoctor.app.triage_facts import facts_of
from specdoctor.app.triage_findings import Finding, findings_of
from specdoctor.app.triage_gains import LoadGain, arms_by_load, gain_sentence, load_gains
from specdoctor.app.triage_line import LineToTry, line_to_try
from specdoctor.app.triage_scene import facts_beside
from specdoctor.app.triage_servers import Servers, servers_of
from specdoctor.app.triage_told import ToldFigure, complaint_of, told_figures, typed_sums
from specdoctor.app.triage_verdict import nothing_accepted, verdict_of
from specdoctor.app.wording import listed, one_or
from specdoctor.core.engine import Engine
from specdoctor.core.hypothesis import Observation
from specdoctor.core.material import Material
from specdoctor.core.model import Frozen, Verdict
from specdoctor.core.ports import Check, Scene
from specdoctor.core.server import ServerView, WholeLog

SCHEMA: Literal["specdoctor.triage/1"] = "specdoctor.triage/1"


State = Literal["served", "starting", "down"]
_STATES: dict[str, State] = {"running": "served", "starting": "starting", "down": "down"}
UNKNOWN = ServerView(engine="", state="down")
"""Stands for a server of which no file tells: tables and notes may still say enough."""


class EngineSeen(Frozen):
    """Which engine wrote the files; a version that they do not name is given as the range that they prove."""

    name: str | None
    version: str | None
    version_range: str | None


class TriageDocument(Frozen):
    """What the files say. `facts` holds only what is known, each figure of an estimate with its estimator beside
    it; `facts_from` names the places that it was read from, `unread` what could not be read, or in part. `state` is
    that of the time when the files were written, None where nothing shows it; `contradicted` is what the symptom says
    and the files do not, and which launch line started another server than the log's. `told` are figures that a
    person typed, `told_sums` what follows from them: nothing of it was read. `gains` compare both sides at each load
    that both were measured at.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_id: Literal["specdoctor.triage/1"] = Field(default=SCHEMA, alias="schema")
    engine: EngineSeen
    state: State | None
    verdict: Verdict
    headline: str
    findings: tuple[Finding, ...]
    facts: dict[str, JsonValue]
    facts_from: dict[str, str] = Field(default_factory=dict)
    gains: tuple[LoadGain, ...] = ()
    identity: tuple[IdentityCheck, ...] = ()
    to_try: LineToTry | None = None
    unread: dict[str, str] = Field(default_factory=dict)
    told: tuple[ToldFigure, ...] = ()
    told_sums: tuple[str, ...] = ()
    contradicted: tuple[str, ...] = ()
    missing: tuple[str, ...]
    files: tuple[str, ...]


def triage(
    texts: Mapping[str, str],
    *,
    engines: Sequence[Engine],
    checks: Sequence[Check],
    material: Material | None = None,
    pieces: Mapping[str, str] | None = None,
    behind: Mapping[str, str] | None = None,
    symptom: str = "",
    wholes: Mapping[str, WholeLog] | None = None,
) -> TriageDocument:
    """Judge files by name and text; the names are what evidence cites. `material` is what readers made of them.

    `pieces` are the texts with those that hold several things taken apart, `behind` the file of each piece.
    """
    parts, named = (texts if pieces is None else pieces), behind or {}
    given = material or Material()
    servers = servers_of(parts, given, engines) or Servers(view=UNKNOWN)
    view, given, odd = without_odd(_with_whole(servers.view, wholes or {}), given)
    mixed = mixed_in(view, parts.get(view.log.where, "") if view.log is not None else "")
    view = without_means(view) if mixed else view
    complained = complaint_of(symptom, given)
    beside, aliases = facts_beside(view, given, parts)
    scene = Scene(view=view, others=servers.others, facts=beside, complaints=complained.complaints, material=given)
    observations = [o for check in checks for o in _judged(check, scene)]
    found, arms = facts_of(scene), arms_by_load(scene)
    facts = _facts_shown(found)
    by_name = {fact.name: fact for fact in found}
    verdict = verdict_of(view, observations, facts, complained)
    if verdict is Verdict.HEALTHY and (mixed or view.spec != servers.view.spec):
        verdict = Verdict.NOT_ENOUGH_EVIDENCE
    laid = {**aliases_of(view, parts), **aliases}
    aliases = {**{name: named.get(where, where) for name, where in laid.items()}, **named}
    cited = [_named_here(o, aliases) for o in observations]
    if nothing_accepted(facts):
        cited = [o for o in cited if o.stance != "suggests" or o.about != "cycle"]
    findings = findings_of(cited, texts, verdict=verdict)
    return TriageDocument(
        engine=EngineSeen(name=view.engine or None, version=view.version, version_range=view.version_range),
        state=_STATES[view.state] if _was_seen(view, given) else None,
        verdict=verdict,
        headline=_headline(view, verdict, findings, by_name, gain_sentence(arms)),
        findings=findings,
        facts=facts,
        facts_from={fact.name: _place(fact, named) for fact in found if fact.place},
        gains=load_gains(arms, named),
        identity=identity_checks(scene, by_name),
        to_try=line_to_try(view, engines, observations, by_name, texts=parts, named=named),
        told=told_figures(symptom, given, named),
        told_sums=typed_sums(complained, by_name, view.spec or view.asked_spec),
        contradicted=(
            *_mixed(view, mixed, named),
            *_foreign(servers, named),
            *unexplained(view, named),
            *contradictions(complained, by_name, _gains(scene)),
        ),
        unread={
            **{seen.where: seen.problem for seen in given.files if seen.problem},
            **{_place_of(place, named): what for place, what in odd.items()},
        },
        missing=_missing(view, verdict, findings, foreign=bool(servers.foreign) and not view.asked),
        files=tuple(texts),
    )


def _judged(check: Check, scene: Scene) -> tuple[Observation, ...]:
    """What a check says; a figure that it cannot reckon with stops that check alone."""
    try:
        return check.judge(scene)
    except FigureError as error:
        return (Observation(check=check.name, cause=None, stance="no-data", claim=str(error)),)


def _place_of(place: str, named: Mapping[str, str]) -> str:
    """A file and its line, by the file that was given."""
    where, colon, line = place.rpartition(":")
    return f"{named.get(where, where)}:{line}" if colon and line.isdigit() else named.get(place, place)


def _gains(scene: Scene) -> list[float]:
    """The speed-up of every arm that has a baseline."""
    return [arm.speedup for arm in all_paired(scene) if arm.speedup is not None]


def _with_whole(view: ServerView, wholes: Mapping[str, WholeLog]) -> ServerView:
    """The view with the means over all lines of its log, where the log that was read holds a part of them."""
    if view.log is None or view.log.where not in wholes:
        return view
    return view.model_copy(update={"log": view.log.model_copy(update={"whole": wholes[view.log.where]})})


def _was_seen(view: ServerView, given: Material) -> bool:
    """Whether anything tells of a server that was started: a launch line alone does not."""
    answers = any(exchange.direction == "answer" for exchange in given.exchanges)
    told = view.log is not None or view.effective_source is not None or given.counters or given.iterations or answers
    return bool(view.engine and told)


def _place(fact: Fact, named: Mapping[str, str]) -> str:
    """Where a fact stands, by the files that were given."""
    sources = tuple(s.model_copy(update={"where": named.get(s.where, s.where)}) for s in fact.sources)
    return fact.model_copy(update={"sources": sources}).place


def _facts_shown(found: Sequence[Fact]) -> dict[str, JsonValue]:
    """Facts by name, the estimator of each beside it."""
    shown: dict[str, JsonValue] = {}
    for fact in found:
        shown[fact.name] = fact.value
        if fact.estimator:
            shown[f"{fact.name}_estimator"] = fact.estimator
    return shown


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


def _headline(
    view: ServerView, verdict: Verdict, findings: Sequence[Finding], facts: Mapping[str, Fact], by_load: str
) -> str:
    """The verdict in a sentence; `by_load` says what is gained at each load, where there are several."""
    if not view.engine and not findings:
        return "not enough evidence: none of these files is a log, launch line or server info of a known engine"
    proved = [f for f in findings if f.status == "supported"]
    at_loads = f"; {by_load}" if by_load else ""
    if verdict is Verdict.CAUSE and proved[0].cause == "LOAD-1" and by_load:
        return f"LOAD-1: the gain falls with the load: {by_load}"
    if verdict is Verdict.CAUSE:
        return f"{proved[0].cause or 'failure'}: {proved[0].claim}{at_loads}"
    if verdict is Verdict.HEALTHY:
        gain = facts["speedup"].value if "speedup" in facts else None
        pays = "; whether speculation pays they do not say" if view.spec is not None and view.spec.on else ""
        if isinstance(gain, float):
            pays = f"; by these figures speculation gives {gain:.2f} times the speed without"
        return f"healthy: nothing in these files needs repair{at_loads or pays}"
    if view.engine and view.state == "down" and not proved and (view.log is None or view.log.ready_line is None):
        return "not enough evidence: the server did not come up, and its log does not say why"
    if proved:
        names = [f.cause or "?" for f in proved]
        are, costs = one_or(names, "is", "are"), one_or(names, "it costs", "they cost")
        return f"not enough evidence: {listed(names)} {are} there; what {costs} is not known{at_loads}"
    return f"not enough evidence in these files{at_loads}"


def _mixed(view: ServerView, mixed: str, named: Mapping[str, str]) -> Iterator[str]:
    if mixed and view.log is not None:
        yield f"{named.get(view.log.where, view.log.where)} {mixed}; give the log of each by itself"


def _foreign(servers: Servers, named: Mapping[str, str]) -> Iterator[str]:
    """What is against each launch line that is not the log's."""
    log = servers.view.log
    for where, line, against in servers.foreign:
        whose = named.get(log.where, log.where) if log is not None else "the log"
        place = f"{named.get(where, where)}:{line}"
        yield f"{place} did not start the server of {whose}: {against}; nothing is compared with it"


def _missing(
    view: ServerView, verdict: Verdict, findings: Sequence[Finding], *, foreign: bool = False
) -> tuple[str, ...]:
    """What would decide more, the cheapest first."""
    if verdict is Verdict.HEALTHY:
        return ()
    out: list[str] = []
    if foreign and view.log is not None:
        out.append(f"the launch line of the server of {view.log.where}: only it says what was asked for")
    if not view.engine:
        return ("the server's log from its first line, or its launch line",)
    if view.log is None:
        out.append("the server's log from its first line")
    if not view.asked and not foreign:
        out.append("the launch line: only it says what was asked for")
    if verdict is not Verdict.CAUSE:
        out += [f"{f.cause}: {f.next_check}" for f in findings if f.next_check]
        if view.spec is not None and view.spec.on:
            out.append("whether speculation pays: a benchmark of this launch and of one without speculation")
    return tuple(dict.fromkeys(out))
