"""What an engine captures for a drafter: its rule applied to the drafter's configuration and the target's layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from specdoctor.core.model import Frozen
from specdoctor.drafter.rules.rule import Convention, Family, Rule, entry_from
from specdoctor.drafter.states import at_entries

Convert = Callable[[Sequence[int] | None], list[int]]
AUX_SWITCH = "eagle_config.use_aux_hidden_state"


class TargetShape(Frozen):
    """What a rule needs to know of a target: its decoder layers and what it is called."""

    layers: int
    names: frozenset[str] = frozenset()
    """Architectures and model types, those of a multimodal wrapper and of the language model inside."""


class Ids(Frozen):
    """Layer ids as they stand in a configuration, and under which key."""

    key: str
    ids: tuple[int, ...]


class Capture(Frozen):
    """The states handed to the drafter, in the order of its input.

    `source` is the key the ids came from, None for the engine's defaults; `passed_over` holds ids that stand in the
    configuration where this rule does not look. `missing` are states asked for that are never captured; `fails` is what
    the engine says when it cannot take them at all.
    """

    states: tuple[str, ...]
    source: Ids | None = None
    passed_over: Ids | None = None
    missing: tuple[str, ...] = ()
    fails: str = ""


def id_list(value: object) -> tuple[int, ...] | None:
    """A list of whole numbers; None for anything else."""
    if not isinstance(value, list) or not value:
        return None
    if any(isinstance(item, bool) or not isinstance(item, int) for item in value):
        return None
    return tuple(value)


def at_key(config: Mapping[str, Any], key: str) -> Any:
    """The value at a dotted key; None without it. A key that has its dot in it (GGUF) is looked for as it stands."""
    if key in config:
        return config[key]
    here: Any = config
    for part in key.split("."):
        if not isinstance(here, Mapping):
            return None
        here = here.get(part)
    return here


KNOWN_KEYS = (
    "eagle3.target_layers",
    "eagle3.extract_layers",
    "eagle_config.eagle_aux_hidden_state_layer_ids",
    "eagle_aux_hidden_state_layer_ids",
    "aux_hidden_state_layer_ids",
    "eagle_config.layer_ids",
)


def configured(config: Mapping[str, Any]) -> tuple[Ids, ...]:
    """Every list of layer ids in a drafter's configuration, wherever an engine may look for it."""
    found = ((key, id_list(at_key(config, key))) for key in KNOWN_KEYS)
    return tuple(Ids(key=key, ids=ids) for key, ids in found if ids is not None)


def captured(
    rule: Rule, config: Mapping[str, JsonValue], target: TargetShape, *, convert: Convert | None = None
) -> Capture:
    """The states that a version with this rule takes for this drafter.

    `convert` gives the entries for ids (None: no ids) where the engine's own source was read.
    """
    family = _family(rule, target)
    found = _looked_up(rule, config)
    passed = next((one for one in configured(config) if found is None or one.key != found[0].key), None)
    if found is None:
        formulas = family.defaults if family and family.defaults else rule.defaults
        entries = [entry_from(formula, target.layers) for formula in formulas]
        source, reaches_end = None, False
    else:
        source, shift = found
        convention = family.convention if family and family.convention else rule.convention
        by, reaches_end = _shift_of(convention, source.ids, target.layers)
        entries = [v + shift + by for v in source.ids]
    if convert is not None:
        entries = convert(source.ids if source is not None else None)
    return _taken(rule, entries, target, source=source, passed=passed, reaches_end=reaches_end)


def _taken(
    rule: Rule, entries: list[int], target: TargetShape, *, source: Ids | None, passed: Ids | None, reaches_end: bool
) -> Capture:
    """What of the wanted entries is there to take."""
    ordered = sorted(set(entries)) if rule.ascending else entries
    last = target.layers + (0 if reaches_end else rule.last_entry)
    kept = [entry for entry in ordered if 0 <= entry <= last]
    missing = tuple(f"out({entry - 1})" for entry in ordered if not 0 <= entry <= last)
    fails = ""
    if kept and min(kept) < rule.first_entry:
        fails = rule.below_fails
    if rule.count is not None and len(entries) != rule.count:
        fails = f"it needs exactly {rule.count} layer ids, the file has {len(entries)}"
    return Capture(
        states=() if fails else at_entries(kept), source=source, passed_over=passed, missing=missing, fails=fails
    )


def _looked_up(rule: Rule, config: Mapping[str, JsonValue]) -> tuple[Ids, int] | None:
    """The ids this rule finds, with the shift of their place; None where it falls back to its defaults."""
    for lookup in rule.lookups:
        ids = id_list(at_key(config, lookup.key))
        if ids is not None:
            return Ids(key=lookup.key, ids=ids), lookup.shift
        parent = lookup.key.rpartition(".")[0]
        if lookup.ends and isinstance(at_key(config, parent), Mapping):
            return None
    return None


def _family(rule: Rule, target: TargetShape) -> Family | None:
    return next((f for f in rule.families if (f.architectures | f.model_types) & target.names), None)


def _shift_of(convention: Convention, ids: Sequence[int], layers: int) -> tuple[int, bool]:
    """What is added to each id, and whether the state after the last layer can be taken."""
    exception = (convention.unless == "first id is not 1" and ids[0] != 1) or (
        convention.unless == "largest id is L" and max(ids) == layers
    )
    if exception:
        return convention.otherwise, convention.reaches_end
    return convention.shift, False


def ids_for(rule: Rule, states: Sequence[int], target: TargetShape, *, key: str) -> tuple[int, ...] | None:
    """The ids to write under `key` so that this rule captures these entries in this order; None if it never does."""
    for shift in (0, 1):
        ids = tuple(entry - shift for entry in states)
        parent, _, name = key.rpartition(".")
        config: dict[str, JsonValue] = {name: list(ids)}
        got = captured(rule, {parent: config} if parent and "eagle3" not in parent else {key: list(ids)}, target)
        if not got.fails and got.states == at_entries(states):
            return ids
    return None
