"""Compare what was asked for with what is in force, and name the rule behind each difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from specdoctor.core.redact import secret_name
from specdoctor.core.server import LogReading, Notice, Rewrite, Source
from specdoctor.engines.argument_values import as_text, same_value
from specdoctor.engines.sglang_args import is_speculative
from specdoctor.engines.sglang_effect import Situation, effect_of, given, holds, normal_algorithm
from specdoctor.engines.sglang_flags import is_known
from specdoctor.engines.sglang_rules import RULES, STATIC_DEFAULTS, Rule
from specdoctor.engines.versions import VersionRange

UNKNOWN_RULE = "unknown"
_SHARE = "effective_max_running_requests_per_dp"
# Spellings of one argument under two names: the older flag fills the newer argument.
RENAMED = {
    "cuda_graph_max_bs": "cuda_graph_max_bs_decode",
    "cuda_graph_bs": "cuda_graph_bs_decode",
    "mamba_scheduler_strategy": "mamba_radix_cache_strategy",
    "speculative_dflash_draft_window_size": "speculative_draft_window_size",
}
# Asked for as switches and resolved into another argument: their own value says nothing.
_RESOLVED_ELSEWHERE = frozenset(
    {
        "config",
        "cuda_graph_config",
        "disable_cuda_graph",
        "disable_decode_cuda_graph",
        "disable_prefill_cuda_graph",
        "enable_breakable_cuda_graph",
        "disable_piecewise_cuda_graph",
        "enforce_piecewise_cuda_graph",
        "enable_dp_attention",
        "mamba_radix_cache_strategy",
    }
)
_TOUCHED = frozenset(rule.key for rule in RULES if not is_speculative(rule.key))


@dataclass(frozen=True)
class InForce:
    """Values in force and where each stands. `source` makes the citation of one argument."""

    values: Mapping[str, JsonValue]
    source: Callable[[str], Source | None]


@dataclass(frozen=True)
class Comparison:
    """Everything a comparison needs; `asked_source` makes the citation of what was asked for.

    `asked_complete` False: a file of arguments was not seen, so what is not asked for here may be asked for there.
    """

    asked: Mapping[str, str]
    asked_source: Callable[[str], Source | None]
    force: InForce
    versions: VersionRange
    architecture: str | None = None
    log: LogReading | None = None
    asked_complete: bool = True


def in_force_text(values: Mapping[str, JsonValue]) -> dict[str, str]:
    """Values in force as text, for the rules' conditions; what is null counts as set to nothing."""
    return {key: as_text(value) or "" for key, value in values.items() if not isinstance(value, dict)}


def _logged(rule: Rule, notices: tuple[Notice, ...]) -> Notice | None:
    if rule.log is None:
        return None
    return next((notice for notice in notices if rule.log.search(notice.text)), None)


def _met(rule: Rule, situation: Situation, *, said: bool) -> bool:
    """Whether a rule's conditions hold. Where the log says that it acted, what is not known is taken as met."""
    return all(
        holds(condition, situation) or (said and condition.operator == "is" and situation.value(condition.key) is None)
        for condition in rule.when
    )


def _explains(rule: Rule, key: str, value: JsonValue, situation: Situation, *, said: bool) -> bool:
    if rule.key != key or rule.drops or not rule.versions.overlaps(situation.versions):
        return False
    if not _met(rule, situation, said=said):
        return False
    effect = effect_of(rule, situation)
    if effect is None:
        return rule.effect in (None, "auto")
    return same_value(effect, value)


class _Differ:
    """One comparison under way."""

    def __init__(self, case: Comparison) -> None:
        self._case = case
        self._notices: tuple[Notice, ...] = case.log.notices if case.log else ()
        text = in_force_text(case.force.values)
        self._situation = Situation(
            asked=case.asked, in_force=text, architecture=case.architecture, versions=case.versions
        )
        self._speculative = bool(normal_algorithm(text) or normal_algorithm(case.asked))

    def run(self) -> tuple[Rewrite, ...]:
        found: list[Rewrite] = []
        keys = [*self._case.force.values, *(k for k in self._case.asked if k not in self._case.force.values)]
        for key in dict.fromkeys(keys):
            rewrite = self._difference(key)
            if rewrite is not None:
                found.append(rewrite)
        return (*found, *self._dropped(), *self._announced({r.key for r in found}))

    def _value(self, key: str) -> tuple[str, JsonValue] | None:
        """The name and value under which an argument is in force; None where nothing shows it."""
        values = self._case.force.values
        for name in (key, RENAMED.get(key, "")):
            if name in values:
                return name, values[name]
        return None

    def _difference(self, key: str) -> Rewrite | None:
        case = self._case
        shown = self._value(key)
        if (
            shown is None
            or key in _RESOLVED_ELSEWHERE
            or secret_name(key)
            or (key != shown[0] and key not in case.asked)
        ):
            return None
        value = shown[1]
        asked = case.asked.get(key)
        if asked is not None:
            if same_value(asked, value) or asked.lower() == "auto":
                return None
            return self._named(key, asked, value, self._rule(key, value))
        if key in RENAMED.values() and any(old in case.asked and new == key for old, new in RENAMED.items()):
            return None
        if (
            not case.asked_complete
            or not self._speculative
            or not (is_speculative(key) or key in _TOUCHED or key == _SHARE)
        ):
            return None
        if value is None or value is False or value == STATIC_DEFAULTS.get(key):
            return None
        rule = self._rule(key, value)
        if rule is None and not (is_speculative(key) and is_known(key)):
            return None
        return self._named(key, None, value, rule)

    def _rule(self, key: str, value: JsonValue) -> Rule | None:
        said = {rule.id for rule in RULES if _logged(rule, self._notices) is not None}
        candidates = [r for r in RULES if _explains(r, key, value, self._situation, said=r.id in said)]
        return next(iter([r for r in candidates if r.id in said] or candidates), None)

    def _named(self, key: str, asked: str | None, value: JsonValue, rule: Rule | None) -> Rewrite:
        notice = _logged(rule, self._notices) if rule is not None else None
        where = self._case.log.where if self._case.log is not None else ""
        sources = [self._case.asked_source(key) if asked is not None else None, self._case.force.source(key)]
        if notice is not None:
            sources.append(Source(where=where, line=notice.line, quote=notice.text))
        cause = rule.cause if rule is not None else ("CFG-1" if is_speculative(key) else None)
        return Rewrite(
            key=key,
            asked=asked,
            effective=as_text(value),
            kind="defaulted" if asked is None else "rewritten",
            cause=cause,
            rule=rule.id if rule is not None else UNKNOWN_RULE,
            logged=notice.text if notice is not None else None,
            sources=tuple(source for source in sources if source is not None),
        )

    def _dropped(self) -> list[Rewrite]:
        """Arguments that were accepted and are ignored: their value in force still looks as asked."""
        out: list[Rewrite] = []
        for rule in RULES:
            if not rule.drops or not given(self._case.asked, rule.key):
                continue
            notice = _logged(rule, self._notices)
            sure = rule.versions.covers(self._case.versions) and rule.id == "token-map-ignored"
            if notice is None and not sure:
                continue
            if not all(holds(condition, self._situation) for condition in rule.when):
                continue
            asked = self._case.asked[rule.key]
            rewrite = self._named(rule.key, asked, None, rule)
            out.append(rewrite.model_copy(update={"kind": "dropped", "effective": None}))
        return out

    def _announced(self, known: set[str]) -> list[Rewrite]:
        """Effects that only a log line tells, since the values in force do not show the argument."""
        out: list[Rewrite] = []
        for rule in RULES:
            notice = _logged(rule, self._notices)
            if notice is None or rule.drops or not rule.binds or rule.key in known or self._value(rule.key) is not None:
                continue
            if not rule.versions.overlaps(self._situation.versions) or not _met(rule, self._situation, said=True):
                continue
            asked = self._case.asked.get(rule.key)
            effect = effect_of(rule, self._situation)
            if asked is not None and effect is not None and same_value(asked, effect):
                continue
            known.add(rule.key)
            named = self._named(rule.key, asked, None, rule)
            out.append(named.model_copy(update={"effective": effect}))
        return out


def rewrites(case: Comparison) -> tuple[Rewrite, ...]:
    """Every value in force that was not asked for, and every asked one that is ignored."""
    return _Differ(case).run()
