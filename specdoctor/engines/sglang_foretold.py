"""What a launch line will make effective by the rules of its version, where nothing that was read shows it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from specdoctor.core.server import Rewrite, Source
from specdoctor.engines.argument_values import same_value
from specdoctor.engines.sglang_effect import Situation, foretell, given, holds, normal_algorithm
from specdoctor.engines.sglang_rewrites import Comparison
from specdoctor.engines.sglang_rules import ALGORITHM, RULES_BY_ID, STEPS, TOKENS, TOPK, Rule

_READS = ("asked", "given", "is", "above")
_DROPPED = RULES_BY_ID["token-map-ignored"]


def foretold(case: Comparison, known: Collection[str], version: Source | None) -> tuple[Rewrite, ...]:
    """Values that the engine will replace or fill in, without those that were read (`case.force`, `known`).

    Each cites what was asked, the arguments that its rule looks at, and what states the version.
    """
    if not case.asked_complete or normal_algorithm(case.asked) is None:
        return ()
    return tuple(_with_version(rewrite, version) for rewrite in (*_lengths(case, known), *_dropped(case, known)))


def _lengths(case: Comparison, known: Collection[str]) -> Iterator[Rewrite]:
    found = foretell(case.asked, architecture=case.architecture, versions=case.versions)
    if found is None or ALGORITHM in case.force.values:
        return
    for key in (STEPS, TOPK, TOKENS):
        asked = case.asked[key] if given(case.asked, key) else None
        value, rule = found.values.get(key), found.rules.get(key)
        if value is None or rule is None or key in known or key in case.force.values:
            continue
        if asked is None or not same_value(asked, int(value)):
            yield _rewrite(case, rule, asked, value)


def _dropped(case: Comparison, known: Collection[str]) -> Iterator[Rewrite]:
    """An argument that this algorithm ignores, and says so in its log only."""
    key = _DROPPED.key
    if key in known or key in case.force.values or not given(case.asked, key):
        return
    situation = Situation(asked=case.asked, architecture=case.architecture, versions=case.versions)
    if _DROPPED.versions.covers(case.versions) and all(holds(condition, situation) for condition in _DROPPED.when):
        yield _rewrite(case, _DROPPED, case.asked[key], None)


def _rewrite(case: Comparison, rule: Rule, asked: str | None, value: str | None) -> Rewrite:
    cited = [case.asked_source(key) for key in dict.fromkeys((rule.key, *_inputs(rule))) if given(case.asked, key)]
    return Rewrite(
        key=rule.key,
        asked=asked,
        effective=value,
        kind="dropped" if rule.drops else "rewritten" if asked is not None else "defaulted",
        cause=rule.cause,
        rule=rule.id,
        note=rule.note,
        sources=tuple(source for source in cited if source is not None),
        foretold=True,
    )


def _inputs(rule: Rule) -> Iterator[str]:
    """The arguments that a rule looks at."""
    yield from (STEPS,) if rule.effect == "steps+1" else ()
    yield from (TOKENS, TOPK) if rule.effect == "tokens//topk" else ()
    if rule.effect is not None and rule.effect.startswith("="):
        yield rule.effect[1:]
    yield from (condition.key for condition in reversed(rule.when) if condition.operator in _READS)


def _with_version(rewrite: Rewrite, version: Source | None) -> Rewrite:
    return rewrite.model_copy(update={"sources": (*rewrite.sources, version)}) if version is not None else rewrite
