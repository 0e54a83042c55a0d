"""Evaluate the rules: what a launch line will make effective, and which rule explains a value in force."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from specdoctor.core.server import SpecSetting
from specdoctor.engines.sglang_rules import ALGORITHM, LIMIT, RULES, STEPS, TOKENS, TOPK, Condition, Rule, auto_triple
from specdoctor.engines.versions import VersionRange

_DRAFT_LENGTH = (ALGORITHM, STEPS, TOPK, TOKENS)
_AUTO = (STEPS, TOPK, TOKENS)
_NONE = frozenset({"", "none", "null"})
EAGLE_FAMILY = frozenset({"EAGLE", "EAGLE3", "STANDALONE", "FROZEN_KV_MTP"})


@dataclass(frozen=True)
class Situation:
    """What a rule sees: the arguments asked for, those in force as text, the target's class and the versions."""

    asked: Mapping[str, str]
    in_force: Mapping[str, str] = field(default_factory=dict)
    architecture: str | None = None
    versions: VersionRange = field(default_factory=VersionRange)

    def value(self, key: str) -> str | None:
        if key == "architecture":
            return self.architecture
        found = self.in_force.get(key, self.asked.get(key))
        return None if found is None or found.lower() in _NONE else found


def given(asked: Mapping[str, str], key: str) -> bool:
    """Whether an argument was asked for with a real value."""
    return asked.get(key, "").lower() not in _NONE


def holds(condition: Condition, situation: Situation) -> bool:
    """Whether a condition is met; what is not known does not meet one."""
    if condition.operator == "asked":
        return situation.asked.get(condition.key, "").upper() in {word.upper() for word in condition.operand}
    if condition.operator == "absent":
        return not given(situation.asked, condition.key)
    value = situation.value(condition.key)
    if condition.operator == "not":
        return value not in condition.operand
    if value is None:
        return False
    if condition.operator == "given":
        return True
    if condition.operator == "above":
        return _integer(value) > int(condition.operand[0])
    return value in condition.operand


def _integer(text: str | None) -> int:
    try:
        return int(float(text or ""))
    except (ValueError, OverflowError):
        return 0


def effect_of(rule: Rule, situation: Situation) -> str | None:
    """The value that a rule sets here; None where it cannot be told."""
    effect = rule.effect
    if effect is None:
        return None
    if effect.startswith("="):
        return situation.value(effect[1:]) or _static(effect[1:])
    if effect == "auto":
        triple = auto_triple(situation.value(ALGORITHM), situation.architecture, situation.versions)
        return triple[_AUTO.index(rule.key)] if triple else None
    if effect == "steps+1":
        steps = situation.value(STEPS)
        return str(_integer(steps) + 1) if steps is not None else None
    if effect == "tokens//topk":
        topk = _integer(situation.value(TOPK))
        return str(_integer(situation.value(TOKENS)) // topk) if topk > 0 else None
    if effect in ("dp-share", "chunk-share"):
        ranks = _integer(situation.value("attn_dp_size")) or _integer(situation.value("dp_size"))
        whole = situation.value(LIMIT) if effect == "dp-share" else situation.asked.get(rule.key)
        return str(_integer(whole) // ranks) if ranks > 1 and _integer(whole) > 0 else None
    return effect


def _static(key: str) -> str | None:
    return {"speculative_ngram_max_bfs_breadth": "10", "speculative_ngram_max_match_window_size": "12"}.get(key)


def normal_algorithm(asked: Mapping[str, str]) -> str | None:
    """The algorithm asked for, upper case as the engine reads it; None for no speculation."""
    name = asked.get(ALGORITHM, "")
    return None if name.lower() in _NONE else name.upper()


def asked_setting(asked: Mapping[str, str]) -> SpecSetting:
    """The speculation asked for, as typed: what was left out is 0."""
    algorithm = normal_algorithm(asked)
    if algorithm is None:
        return SpecSetting()
    return SpecSetting(
        algorithm=algorithm,
        draft_steps=_integer(asked.get(STEPS)),
        topk=_integer(asked.get(TOPK)),
        draft_tokens=_integer(asked.get(TOKENS)),
    )


def setting_from(in_force: Mapping[str, str]) -> SpecSetting:
    """The speculation that values in force (as text) describe."""
    return asked_setting(in_force)


def _refused(asked: Mapping[str, str], algorithm: str) -> bool:
    """Whether the engine ends at this combination of steps, topk and draft tokens."""
    if algorithm not in EAGLE_FAMILY or asked.get("speculative_adaptive") == "True":
        return False
    if given(asked, STEPS):
        return not given(asked, TOPK)
    return given(asked, TOPK) or given(asked, TOKENS)


@dataclass(frozen=True)
class Foretold:
    """The speculation that a launch line will make effective, and the rule that sets each value not left as asked."""

    setting: SpecSetting
    values: Mapping[str, str] = field(default_factory=dict)
    rules: Mapping[str, Rule] = field(default_factory=dict)


def predict(asked: Mapping[str, str], *, architecture: str | None, versions: VersionRange) -> SpecSetting | None:
    """The speculation that a launch line will make effective, None where the rules of these versions do not tell."""
    found = foretell(asked, architecture=architecture, versions=versions)
    return found.setting if found is not None else None


def foretell(asked: Mapping[str, str], *, architecture: str | None, versions: VersionRange) -> Foretold | None:
    """The same with the rules that set it.

    A rule that only some of the possible versions have makes its value unknown, unless it would not change it. A value
    that is not written out (a variable) tells nothing.
    """
    algorithm = normal_algorithm(asked)
    if algorithm is None:
        return Foretold(SpecSetting())
    if _refused(asked, algorithm) or any(given(asked, key) and not asked[key].isdecimal() for key in _AUTO):
        return None
    rules: dict[str, Rule] = {}
    state: dict[str, str | None] = {ALGORITHM: algorithm}
    state.update({key: asked.get(key) if given(asked, key) else None for key in _AUTO})
    for rule in RULES:
        if rule.key not in _DRAFT_LENGTH or rule.id == "gemma-mtp" or not rule.versions.overlaps(versions):
            continue
        known = {key: value if value is not None else "" for key, value in state.items()}
        situation = Situation(asked=asked, in_force=known, architecture=architecture, versions=versions)
        if not all(holds(condition, situation) for condition in rule.when):
            continue
        value = effect_of(rule, situation)
        if value is None and rule.id == "block-tokens" and given(asked, TOKENS):
            continue
        if value != state[rule.key]:
            rules[rule.key] = rule
        state[rule.key] = value if value == state[rule.key] or rule.versions.covers(versions) else None
    if state[ALGORITHM] is None or any(state[key] is None for key in _AUTO):
        return None
    values = {key: value for key, value in state.items() if value is not None}
    return Foretold(setting_from(values), values, rules)
