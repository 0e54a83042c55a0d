"""Trained on, configured, captured: are they the same states? Metadata decides; no accept length is looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from specdoctor.core.hypothesis import Observation
from specdoctor.core.model import Frozen
from specdoctor.core.server import Source
from specdoctor.drafter.capture import AUX_SWITCH, Capture, Ids, TargetShape, at_key, captured, configured
from specdoctor.drafter.records.record import TrainingRecord
from specdoctor.drafter.repair import NO_REPAIR, Repair, repair, repair_by
from specdoctor.drafter.rules.rule import EngineRules, Rule, rule_for
from specdoctor.drafter.rules.table import ENGINES
from specdoctor.drafter.source_rule import SourceRule
from specdoctor.drafter.states import at_entries, entry_of, in_words

CHECK = "layer-wiring"
CAUSE = "WIRE-1"
DECIDES = "compare the states it was trained on (training config or provenance) with those this engine version captures"


class EngineChoice(Frozen):
    """An engine as it serves: `runner` where it has several and somebody chose."""

    name: str
    version: str
    runner: str | None = None

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}"


class Column(Frozen):
    """What one engine version captures for this drafter; `states` None where it cannot serve it as configured."""

    label: str
    choice: EngineChoice
    capture: Capture
    rule: Rule
    doubt: str = ""
    source: str = ""
    """The file of the engine in which the rule was read, or the line of its log that names the states."""
    logged: Source | None = None
    own: SourceRule | None = None
    ruled: Source | None = None
    """The rule of the installed engine itself, where it was read, and the line of it that decides here."""

    @property
    def states(self) -> tuple[str, ...] | None:
        return None if self.capture.fails or self.capture.missing else self.capture.states


def column_for(
    choice: EngineChoice, config: Mapping[str, Any], target: TargetShape, *, source: SourceRule | None = None
) -> Column | None:
    """The states of one engine version; None when none of its rules is known for that version.

    `source` is the installed engine's own, which then decides what an id means. Raises CheckpointError for one that is
    not understood.
    """
    engine = ENGINES[choice.name]
    runner = choice.runner or engine.default_runner(choice.version)
    chosen = rule_for(engine, choice.version, runner)
    if chosen is None:
        return None
    if source is not None:
        own = captured(chosen.rule, config, target, convert=lambda ids: source.entries(ids, target.layers))
        return Column(
            label=choice.label,
            choice=choice,
            capture=own,
            rule=chosen.rule,
            source=f"its source, {source.where}",
            own=source,
            ruled=source.cited(own.source.ids if own.source is not None else None, target.layers),
        )
    column = Column(
        label=choice.label,
        choice=choice,
        capture=captured(chosen.rule, config, target),
        rule=chosen.rule,
        doubt=chosen.doubt,
    )
    return column if choice.runner or not engine.runners else _either_runner(engine, column, config, target)


def _either_runner(engine: EngineRules, column: Column, config: Mapping[str, Any], target: TargetShape) -> Column:
    """Nobody said which runner: no matter where all capture the same, else a doubt."""
    for runner in engine.runners:
        other = rule_for(engine, column.choice.version, runner)
        if other is None or other.doubt or other.rule == column.rule:
            continue
        also = captured(other.rule, config, target)
        if also.states != column.capture.states:
            used = column.rule.runner or "the default"
            doubt = f"it is so with runner {used}; runner {runner} captures {in_words(also.states)}"
            return column.model_copy(update={"doubt": column.doubt or doubt})
    return column


def elsewhere(config: Mapping[str, Any], target: TargetShape) -> tuple[Column, ...]:
    """What the newest known version of every engine, with each of its runners, would capture."""
    found: list[Column] = []
    for engine in ENGINES.values():
        for runner in engine.runners or (None,):
            choice = EngineChoice(name=engine.name, version=engine.newest, runner=runner)
            column = column_for(choice, config, target)
            if column is not None:
                label = choice.label + (f" (runner {runner})" if runner else "")
                found.append(column.model_copy(update={"label": label}))
    return tuple(found)


def written(config: Mapping[str, Any], column: Column | None) -> Ids | None:
    """The ids as configured: those that the engine reads, else those that stand somewhere."""
    if column is not None and column.capture.source is not None:
        return column.capture.source
    return next(iter(configured(config)), None)


def compare(
    column: Column | None,
    *,
    config: Mapping[str, Any],
    config_file: str,
    target: TargetShape,
    record: TrainingRecord | None,
    choice: EngineChoice | None = None,
) -> tuple[Observation, ...]:
    """What is to be said of WIRE-1 for one engine version; `choice` names it where its rules are not known."""
    if at_key(config, AUX_SWITCH) is False:
        return (_said("silent", f"{AUX_SWITCH} is false: the target hands over its last hidden state only"),)
    cited = _cited(config, config_file, column)
    if column is None:
        words = "no engine and version was named whose rules are known; without one nothing is captured"
        decides = "name the engine and its version"
        if choice is not None:
            known = f"the rules of {ENGINES[choice.name].title} are known for {ENGINES[choice.name].known}"
            words = f"what {choice.label} captures is not known; {known}"
            decides = "name one of those versions, if it is one of them that serves"
        return (_said("suggests", words, cited, decides=decides),)
    if column.states is None:
        return (_cannot(column, cited, config, target, record),)
    if column.logged is not None:
        cited = (column.logged, *cited)
        if record is None and _contradicted(column, config):
            words = f"{_as_configured(column)}: in no numbering are these the states that the config names"
            fix = Repair(f"make the engine read {written_key(config)}, or serve it with one that does")
            return (_said("supports", words, cited, fix=fix, explains=True),)
    if record is None:
        return (_said("suggests", f"{_as_configured(column)}; nothing says what it was trained on", cited),)
    sources = (*record.sources, *cited)
    same = record.states == column.states
    doubt = record.doubt or column.doubt
    if doubt:
        words = f"{_difference(record.states, column) if not same else _sameness(column)}; but {doubt}"
        return (_said("suggests", words, sources, decides=_deciding(column, record)),)
    if same:
        return (_said("silent", _sameness(column), sources),)
    fix = _fix(record, column, config, target)
    return (_said("supports", _difference(record.states, column), sources, fix=fix, explains=True),)


def _said(
    stance: Any,
    claim: str,
    sources: Sequence[Source] = (),
    *,
    decides: str = DECIDES,
    fix: Repair = NO_REPAIR,
    explains: bool = False,
) -> Observation:
    return Observation(
        check=CHECK,
        cause=CAUSE,
        stance=stance,
        claim=claim,
        binds=explains,
        explains=explains,
        unmeasured=explains,
        about="accept_length",
        sources=tuple(sources),
        decides="" if stance in ("silent", "supports") else decides,
        decided_by="read",
        fix=fix.words,
        edits=fix.edits,
    )


def _cannot(
    column: Column,
    cited: tuple[Source, ...],
    config: Mapping[str, Any],
    target: TargetShape,
    record: TrainingRecord | None,
) -> Observation:
    """The configured ids cannot be served: the first forward fails, or delivers fewer states than asked for."""
    capture = column.capture
    lost = f"{in_words(capture.missing)} never captured" if capture.missing else ""
    claim = f"{column.label} cannot serve the configured ids {_ids(capture.source)}: {capture.fails or lost}"
    fix = _fix(record, column, config, target) if record is not None else NO_REPAIR
    sources = (*(record.sources if record else ()), *cited)
    return _said("suggests" if column.doubt else "supports", claim, sources, fix=fix, explains=not column.doubt)


def _contradicted(column: Column, config: Mapping[str, Any]) -> bool:
    """Whether what the log says is captured is neither the inputs nor the outputs of the layers that were named."""
    ids = next(iter(configured(config)), None)
    if ids is None:
        return False
    meant = [at_entries(sorted(v + shift for v in ids.ids if v + shift >= 0)) for shift in (0, 1)]
    return tuple(column.capture.states) not in meant


def written_key(config: Mapping[str, Any]) -> str:
    """The key under which the layer ids stand."""
    ids = next(iter(configured(config)), None)
    return ids.key if ids is not None else "its layer ids"


def _fix(record: TrainingRecord, column: Column, config: Mapping[str, Any], target: TargetShape) -> Repair:
    """What brings it right; of an engine with a rule of its own only ids that this rule turns into the states."""
    if column.own is not None:
        return repair_by(column.own, record.states, column.rule, target)
    if column.source:
        return Repair(f"name the ids that this engine turns into {in_words(record.states)}")
    choice = column.choice
    return repair(record.states, choice.name, choice.version, choice.runner, config, target)


def _as_configured(column: Column) -> str:
    capture = column.capture
    if capture.source is not None:
        said = f"{column.label} captures {in_words(capture.states)} for {capture.source.key} {_ids(capture.source)}"
    else:
        said = f"{column.label} captures its defaults, {in_words(capture.states)}"
    if column.source:
        said += f" (by {column.source})"
    if capture.passed_over is not None:
        said += f" ({capture.passed_over.key} {_ids(capture.passed_over)} is not looked at)"
    return said


def _difference(trained: tuple[str, ...], column: Column) -> str:
    return f"trained on {in_words(trained)}; {_as_configured(column)}{_shift(trained, column.capture.states)}"


def _sameness(column: Column) -> str:
    return f"trained on {in_words(column.capture.states)}; {_as_configured(column)}: the same states in the same order"


def _shift(trained: tuple[str, ...], got: tuple[str, ...]) -> str:
    """In words how far the states are off, where all are off by the same."""
    if len(trained) != len(got):
        return f": {len(got)} states in place of {len(trained)}"
    if sorted(trained) == sorted(got):
        return ": the same states in another order"
    steps = {entry_of(b) - entry_of(a) for a, b in zip(trained, got, strict=True)}
    if len(steps) == 1:
        step = steps.pop()
        return f": each state {abs(step)} layer{'s' if abs(step) > 1 else ''} {'later' if step > 0 else 'earlier'}"
    lost = [state for state in trained if state not in got]
    return f": {in_words(lost)} of what it learnt from {'is' if len(lost) == 1 else 'are'} missing" if lost else ""


def _deciding(column: Column, record: TrainingRecord) -> str:
    if record.doubt:
        return "settle the training record, or test the drafter alone on stored states in both wirings"
    if ENGINES[column.choice.name].runners and "runner" in column.doubt:
        return "see in the server's log which model runner it uses, or name it"
    if column.choice.name == "sglang":
        return "read the rule in the installed source: specdoctor wiring --engine-source HOST:.../sglang/srt/models/..."
    return "read the capture rule in the installed source"


def _cited(config: Mapping[str, Any], config_file: str, column: Column | None) -> tuple[Source, ...]:
    ids = written(config, column)
    ruled = (column.ruled,) if column is not None and column.ruled is not None else ()
    if ids is None:
        return (Source(where=config_file, quote=""), *ruled)
    return (Source(where=config_file, key=ids.key, quote=_ids(ids)), *ruled)


def _ids(ids: Ids | None) -> str:
    return "[" + ", ".join(map(str, ids.ids)) + "]" if ids is not None else "[]"
