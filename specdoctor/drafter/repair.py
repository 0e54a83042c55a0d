"""What brings the wiring right: other ids, another place for them, another version, or training again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from specdoctor.core.errors import CheckpointError
from specdoctor.core.hypothesis import ConfigEdit
from specdoctor.drafter.capture import Capture, TargetShape, captured, ids_for
from specdoctor.drafter.rules.rule import EngineRules, Rule, rule_for
from specdoctor.drafter.rules.table import ENGINES
from specdoctor.drafter.source_rule import SourceRule
from specdoctor.drafter.states import entry_of, in_words


class Repair(NamedTuple):
    """A sentence, and as much of it as a configuration can hold."""

    words: str
    edits: tuple[ConfigEdit, ...] = ()


NO_REPAIR = Repair("")
ID_MEANS = {0: "enters", 1: "leaves"}
"""What id n stands for, by what is added to it to give the entry."""


def repair(
    trained: tuple[str, ...],
    engine: str,
    version: str,
    runner: str | None,
    config: Mapping[str, Any],
    target: TargetShape,
) -> Repair:
    """For this version, else the first later version that can serve the wiring, else retraining."""
    rules = ENGINES[engine]
    chosen = rule_for(rules, version, runner or rules.default_runner(version))
    here = _ids_here(chosen.rule, trained, target) if chosen is not None else None
    if here is not None and rules.from_checkpoint:
        key, ids = here
        again = ", make the GGUF file again" if rules.builds else ""
        then = f"{rules.title} {version} then captures them"
        words = f"write {key} {list(ids)} in the drafter's config.json{again}; {then}"
        return Repair(words, (ConfigEdit(key=key, value=list(ids)),))
    if here is not None:
        return Repair(f"set eagle3_layers_to_capture {sorted(here[1])} in the YAML of {rules.title}")
    edits: tuple[ConfigEdit, ...] = ()
    parts = [f"{rules.title} {version} cannot capture {in_words(trained)}"]
    later = _later(rules, version, runner, trained, target)
    got = captured(chosen.rule, config, target) if chosen is not None else None
    if later is not None:
        release, key, ids = later
        counts = _other_count(trained, ids, got)
        parts.append(f"{release} or later can, with {key} {list(ids)}{counts}")
        edits = (ConfigEdit(key=key, value=list(ids), needs=release),) if rules.from_checkpoint else ()
    if got is not None:
        retrain = f"train it again on {in_words(got.states)}" if got.states and not got.fails else "train it again"
        parts.append(f"or {retrain}, which this version captures")
    return Repair("; ".join(parts), edits)


def repair_by(own: SourceRule, trained: tuple[str, ...], rule: Rule, target: TargetShape) -> Repair:
    """The ids that an engine's own rule turns into these states; of a rule that is not a shift none are calculated."""
    entries = [entry_of(state) for state in trained]
    for shift in (1, 0):
        ids = [entry - shift for entry in entries]
        try:
            fits = sorted(own.entries(ids, target.layers)) == entries and min(entries) >= rule.first_entry
        except CheckpointError:
            break
        if fits:
            key = rule.lookups[0].key
            words = f"write {key} {ids} in the drafter's config.json; this engine then captures {in_words(trained)}"
            return Repair(words, (ConfigEdit(key=key, value=[*ids]),))
    return Repair(f"name the ids that this engine turns into {in_words(trained)}")


def _ids_here(rule: Rule, trained: tuple[str, ...], target: TargetShape) -> tuple[str, tuple[int, ...]] | None:
    """Key and ids that make this rule capture the trained states."""
    entries = [entry_of(state) for state in trained]
    for lookup in rule.lookups:
        if lookup.shift == 0 and not lookup.key.startswith(("dflash", "eagle3.")):
            ids = ids_for(rule, entries, target, key=lookup.key)
            if ids is not None:
                return lookup.key, ids
    if not rule.lookups and rule.convention.shift and rule.first_entry == 0:
        return "", tuple(entry - rule.convention.shift for entry in entries)
    return None


def _other_count(trained: tuple[str, ...], ids: tuple[int, ...], got: Capture | None) -> str:
    """What an id means there, in brackets, where it means another state in the version that runs now."""
    there = entry_of(trained[0]) - ids[0]
    if got is None or got.source is None or not got.states or there not in ID_MEANS:
        return ""
    here = min(entry_of(state) for state in got.states) - min(got.source.ids)
    if here == there or here not in ID_MEANS:
        return ""
    return f" (there id n is the state that {ID_MEANS[there]} layer n, here the one that {ID_MEANS[here]} it)"


def _later(
    engine: EngineRules, version: str, runner: str | None, trained: tuple[str, ...], target: TargetShape
) -> tuple[str, str, tuple[int, ...]] | None:
    read = engine.release(version)
    for rule in engine.rules:
        if read is None or rule.first <= read[0] or (runner is not None and rule.runner not in (None, runner)):
            continue
        found = _ids_here(rule, trained, target)
        if found is not None:
            return f"{engine.title} " + ".".join(map(str, rule.first)), *found
    return None
