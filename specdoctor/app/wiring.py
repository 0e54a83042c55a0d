"""A drafter's files against a target and an engine version: the states, and whether the checkpoint is whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import ConfigDict, Field

from specdoctor.app.checkpoint_reading import read_drafter, read_target
from specdoctor.app.model_files import ModelFiles
from specdoctor.app.quoting import quoted
from specdoctor.core.errors import UsageError
from specdoctor.core.hypothesis import ConfigEdit, Observation
from specdoctor.core.model import Frozen, Role, Verdict
from specdoctor.core.server import Source
from specdoctor.drafter.checkpoint import Checkpoint
from specdoctor.drafter.comparison import Column, EngineChoice, column_for, compare, elsewhere, written
from specdoctor.drafter.pair import DrafterCheck, Pair
from specdoctor.drafter.records.record import TrainingRecord
from specdoctor.drafter.records.table import found_record, read_record
from specdoctor.drafter.rules.table import ENGINES
from specdoctor.drafter.source_rule import SourceRule, source_rule
from specdoctor.drafter.trial import Trial, trial

SCHEMA: Literal["specdoctor.wiring/1"] = "specdoctor.wiring/1"
OWN_LAYERS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
"""Keys by which a target says that it holds layers for multi-token prediction, served as its own drafter."""
RECORD_BY_HAND = "write one: trained_on: [out(1), out(3), out(5)]"


class Cited(Frozen):
    """Words of a file: the line they stand on in a text, the key in a configuration or a header."""

    source: str
    line: int | None = None
    key: str | None = None
    quote: str = ""


class WiringFinding(Frozen):
    """One cause: `supported` by the files, `suspected` until `next_check` is made, `falsified` by them."""

    check: str
    cause: str
    status: Literal["supported", "suspected", "falsified"]
    role: Role
    confidence: Literal["high", "medium", "low"]
    claim: str
    evidence: tuple[Cited, ...]
    next_check: str
    fix: str
    edits: tuple[ConfigEdit, ...] = ()


class Configured(Frozen):
    """Layer ids as written, and their key."""

    key: str
    ids: tuple[int, ...]


class Captured(Frozen):
    """One row of the table: an engine version and the states it takes; None where it cannot serve the drafter."""

    label: str
    states: tuple[str, ...] | None
    asked: bool
    source: str
    doubt: str = ""


class WiringDocument(Frozen):
    """What the files say of a drafter. `captured` is a map in JSON, here with what a table needs beside it."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_id: Literal["specdoctor.wiring/1"] = Field(default=SCHEMA, alias="schema")
    trained: tuple[str, ...] | None
    trained_by: str
    configured: Configured | None
    captured: tuple[Captured, ...]
    verdict: Verdict
    headline: str
    findings: tuple[WiringFinding, ...]
    trial: Trial


def judge_wiring(
    draft: ModelFiles,
    target: ModelFiles,
    *,
    checks: Sequence[DrafterCheck],
    training: tuple[str, str] | None = None,
    choice: EngineChoice | None = None,
    method: str | None = None,
    source: tuple[str, str] | None = None,
    doubt: str = "",
) -> WiringDocument:
    """Read both folders and judge. `training` is a record's name and text, `source` those of an engine's source file;
    `doubt` says why the engine may not be the release it is named after, which only its source settles.

    Raises CheckpointError for files that are missing or damaged, UsageError for a training file that holds no record.
    """
    drafter = read_drafter(draft)
    base = read_target(target, tokens=drafter.vocabulary is not None)
    _told_apart(drafter, base)
    if choice is not None and drafter.format == "gguf" and not ENGINES[choice.name].builds:
        raise UsageError(
            f"{drafter.config_file}: {ENGINES[choice.name].title} does not serve EAGLE-3 from a GGUF file",
            next_step="name --engine llamacpp, or give the folder that the file was made from",
        )
    rule = source_rule(source[1], source[0]) if source is not None else None
    pair = pair_of(drafter, base, training=training, choice=choice, method=method, source=rule, doubt=doubt)
    return document(pair, checks=checks, texts=dict([training] if training is not None else []))


def _told_apart(draft: Checkpoint, target: Checkpoint) -> None:
    """Raises UsageError where the two folders cannot be a drafter and its target: swapped, or one given twice."""
    if target.is_eagle3:
        raise UsageError(
            f"{target.config_file}: this is a drafter (EAGLE-3), no target",
            next_step="give the model that it drafts for as --target"
            if draft.is_eagle3
            else "swap --draft and --target",
        )
    within = any(isinstance(n, int) and n > 0 for key in OWN_LAYERS if (n := target.config.get(key)) is not None)
    if draft.config == target.config and not within:
        raise UsageError(
            f"{draft.config_file}: drafter and target are the same model, which has no layers for drafting of its own",
            next_step="give the drafter's folder as --draft",
        )


def pair_of(
    draft: Checkpoint,
    target: Checkpoint,
    *,
    training: tuple[str, str] | None,
    choice: EngineChoice | None,
    method: str | None,
    source: SourceRule | None = None,
    doubt: str = "",
) -> Pair:
    """Drafter and target with their record and what the engine captures."""
    shape = target.shape()
    column = None
    if choice is not None and shape is not None and draft.is_eagle3:
        column = column_for(choice, draft.config, shape, source=source)
        if column is not None and column.own is None and doubt and not column.doubt:
            column = column.model_copy(update={"doubt": doubt})
    return Pair(
        draft=draft,
        target=target,
        shape=shape,
        choice=choice,
        column=column,
        record=_record(draft, target, training),
        method=method,
    )


def _record(draft: Checkpoint, target: Checkpoint, training: tuple[str, str] | None) -> TrainingRecord | None:
    shape = target.shape()
    if training is None:
        return found_record(draft.texts, draft_config=draft.config, target=shape)
    where, text = training
    record = read_record(text, where, draft_config=draft.config, target=shape, strict=True)
    if record is None:
        raise UsageError(
            f"{where}: nothing in it says which states the drafter was trained on", next_step=RECORD_BY_HAND
        )
    return record


def document(pair: Pair, *, checks: Sequence[DrafterCheck], texts: Mapping[str, str] | None = None) -> WiringDocument:
    """Everything that is to be said of a pair; `texts` are files beside its own that evidence may cite."""
    observations = [*wiring_of(pair), *(o for check in checks for o in check.judge(pair))]
    known = {**pair.draft.texts, **pair.target.texts, **(texts or {})}
    findings = [_finding(o, known) for o in observations if o.stance in ("supports", "suggests", "refutes")]
    findings.sort(key=lambda f: ("supported", "suspected", "falsified").index(f.status))
    verdict = _verdict(findings)
    ids = written(pair.draft.config, pair.column)
    return WiringDocument(
        trained=pair.record.states if pair.record is not None else None,
        trained_by=f"{pair.record.form}: {pair.record.where}" if pair.record is not None else "",
        configured=Configured(key=ids.key, ids=ids.ids) if ids is not None and pair.draft.is_eagle3 else None,
        captured=_rows(pair),
        verdict=verdict,
        headline=_headline(verdict, findings, pair),
        findings=tuple(findings),
        trial=trial(pair),
    )


def wiring_of(pair: Pair) -> tuple[Observation, ...]:
    """The comparison, for a drafter that reads several states; nothing for any other."""
    if not pair.draft.is_eagle3:
        return ()
    if pair.shape is None:
        raise UsageError(
            f"{pair.target.config_file}: it does not say how many layers the target has (num_hidden_layers)",
            next_step="give the target's own config.json",
        )
    return compare(
        pair.column,
        config=pair.draft.config,
        config_file=pair.draft.config_file,
        target=pair.shape,
        record=pair.record,
        choice=pair.choice,
    )


def _rows(pair: Pair) -> tuple[Captured, ...]:
    """The version asked about first, then what the same drafter would get elsewhere."""
    if not pair.draft.is_eagle3 or pair.shape is None:
        return ()
    others = [] if pair.draft.format == "gguf" else [*elsewhere(pair.draft.config, pair.shape)]
    asked = [] if pair.column is None else [pair.column]
    taken = {column.label for column in asked}
    rows = [_row(column, asked=True) for column in asked]
    return (*rows, *(_row(column, asked=False) for column in others if column.label not in taken))


def _row(column: Column, *, asked: bool) -> Captured:
    source = column.capture.source
    from_where = source.key.rpartition(".")[0] or "top level" if source is not None else "its defaults"
    own = column.own.where if column.own is not None else ""
    return Captured(
        label=column.label, states=column.states, asked=asked, source=column.capture.fails or own or from_where,
        doubt=column.doubt,
    )  # fmt: skip


def _finding(o: Observation, texts: dict[str, str]) -> WiringFinding:
    status: dict[str, Literal["supported", "suspected", "falsified"]] = {
        "supports": "supported", "suggests": "suspected", "refutes": "falsified",
    }  # fmt: skip
    proved = o.stance == "supports"
    return WiringFinding(
        check=o.check,
        cause=o.cause or "",
        status=status[o.stance],
        role=Role.PRESENT if proved and not o.explains else Role.EXPLAINS,
        confidence="high" if proved and o.sources else "low",
        claim=o.claim,
        evidence=tuple(_cited(source, texts) for source in o.sources),
        next_check=o.decides,
        fix=o.fix,
        edits=o.edits,
    )


def _cited(source: Source, texts: dict[str, str]) -> Cited:
    """A source with the line it stands on, where it is a text that was read."""
    found = quoted(source, texts)
    line = found.line if found is not None else source.line
    return Cited(source=source.where, line=line, key=source.key, quote=source.quote)


def _verdict(findings: Sequence[WiringFinding]) -> Verdict:
    """A cause that stands in the files; else doubts that they cannot settle; else nothing to repair."""
    if any(f.status == "supported" and f.role is Role.EXPLAINS for f in findings):
        return Verdict.CAUSE
    if any(f.status == "suspected" for f in findings):
        return Verdict.NOT_ENOUGH_EVIDENCE
    return Verdict.HEALTHY


def _headline(verdict: Verdict, findings: Sequence[WiringFinding], pair: Pair) -> str:
    first = findings[0] if findings else None
    if verdict is Verdict.CAUSE and first is not None:
        return f"{first.cause}: {first.claim}"
    if verdict is Verdict.NOT_ENOUGH_EVIDENCE and first is not None:
        return f"not enough evidence: {first.cause}: {first.claim}"
    if pair.draft.is_eagle3:
        return "healthy: it is fed what it was trained on, and nothing in its files needs repair"
    if pair.draft.is_standalone:
        return (
            "healthy: nothing in its files needs repair; a whole model by itself: it takes tokens and no states, so "
            "there is no wiring to compare"
        )
    return "healthy: nothing in its files needs repair"


def as_json(found: WiringDocument) -> dict[str, object]:
    """The JSON document: ids as written, states by name."""
    findings = [f.model_dump(mode="json", exclude={"check", "edits"}) for f in found.findings]
    for finding in findings:
        finding["evidence"] = [{k: v for k, v in cited.items() if v is not None} for cited in finding["evidence"]]
    return {
        "schema": found.schema_id,
        "trained": list(found.trained) if found.trained is not None else None,
        "configured": found.configured.model_dump(mode="json") if found.configured is not None else None,
        "captured": {row.label: list(row.states) if row.states is not None else None for row in found.captured},
        "verdict": found.verdict.value,
        "findings": findings,
    }
