"""Compare what a vLLM launch asked for with what is in force, and name the rule behind each difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from specdoctor.core.server import LogReading, Notice, Rewrite, Source
from specdoctor.engines.argument_values import as_text, same_value
from specdoctor.engines.versions import VersionRange
from specdoctor.engines.vllm_args import METHOD, MODEL, NESTED, SPEC, TOKENS, is_speculative
from specdoctor.engines.vllm_effect import method_in_force, speculates
from specdoctor.engines.vllm_rules import IGNORED_BATCH_LIMIT, Row, find_row

_BATCH_LIMIT = f"{SPEC}.disable_by_batch_size"
_LOOKUP = (f"{SPEC}.prompt_lookup_max", f"{SPEC}.prompt_lookup_min")
# Asked for and in force under one name, and of weight for speed or capacity.
_COMPARED = ("max_model_len", "max_num_seqs", "max_num_batched_tokens", "enforce_eager", "enable_prefix_caching",
             "enable_chunked_prefill", "kv_cache_dtype", "tensor_parallel_size", "pipeline_parallel_size",
             "data_parallel_size", "quantization", "async_scheduling", "disable_custom_all_reduce")  # fmt: skip
_OF_METHODS = {"draft_model", "mtp", "eagle", "eagle3", "dflash", "dspark", "medusa", "mlp_speculator"}


@dataclass(frozen=True)
class Case:
    """What a comparison needs. `source` cites a value in force, `asked_source` what was asked for."""

    asked: Mapping[str, str]
    values: Mapping[str, JsonValue]
    asked_source: Callable[[str], Source | None]
    source: Callable[[str], Source | None]
    versions: VersionRange
    log: LogReading | None = None
    target: Mapping[str, JsonValue] | None = None
    draft: Mapping[str, JsonValue] | None = None
    asked_complete: bool = True


def _sources(*found: Source | None) -> tuple[Source, ...]:
    return tuple(source for source in found if source is not None)


def _announced(case: Case) -> dict[str, tuple[Row, Notice, str | None, str | None]]:
    """Rewrites that the log tells itself, by argument: the row, its line, old and new value."""
    found: dict[str, tuple[Row, Notice, str | None, str | None]] = {}
    for notice in case.log.notices if case.log is not None else ():
        known = find_row(notice.text)
        if known is None or not known[0].key or known[0].key in found:
            continue
        row, match = known
        groups = match.groupdict()
        found[row.key] = (row, notice, groups.get("old"), groups.get("new") or row.effect)
    return found


def _of_log(case: Case) -> list[Rewrite]:
    out: list[Rewrite] = []
    for key, (row, notice, old, new) in _announced(case).items():
        asked = case.asked.get(key)
        if key == "model_runner" or (asked is not None and new is not None and same_value(asked, new)):
            continue
        given = asked if asked is not None else (old if key == METHOD else None)
        where = case.log.where if case.log is not None else ""
        said = Source(where=where, line=notice.line, key=key, quote=notice.text)
        out.append(
            Rewrite(
                key=key,
                asked=given,
                effective=None if row.drops else new,
                kind="dropped" if row.drops else "rewritten" if given is not None else "defaulted",
                cause=row.cause,
                rule=row.kind,
                logged=notice.text,
                sources=_sources(case.asked_source(key) if asked is not None else None, said),
            )
        )
    return out


def _differing(case: Case, known: set[str]) -> list[Rewrite]:
    """Values in force that differ from what was asked for, and speculative ones that nobody asked for."""
    out: list[Rewrite] = []
    for key, value in case.values.items():
        compared = is_speculative(key) or key in _COMPARED
        asked = case.asked.get(key)
        if key in known or key in NESTED or not compared:
            continue
        if asked is not None:
            if same_value(asked, value) or asked.lower() == "auto" or "$" in asked:
                continue
            rule, cause = _rule(case, key, asked)
            kind = "rewritten"
        else:
            rule, cause = _default_rule(case, key, value)
            kind = "defaulted"
            if not rule:
                continue
        sources = _sources(case.asked_source(key) if asked is not None else None, case.source(key))
        out.append(
            Rewrite.model_validate(
                {"key": key, "asked": asked, "effective": as_text(value), "kind": kind, "cause": cause, "rule": rule,
                 "sources": sources}
            )
        )  # fmt: skip
    return out


def _rule(case: Case, key: str, asked: str) -> tuple[str, str | None]:
    if key == METHOD:
        if asked.endswith("_mtp"):
            return "method-renamed", None
        by_path = method_in_force(case.asked, draft=case.draft, target=case.target) != asked
        return ("method-by-path" if by_path else "unknown"), "CFG-1"
    if key == MODEL:
        return "speculators-verifier", "CFG-1"
    return "unknown", "CFG-1" if is_speculative(key) else None


def _default_rule(case: Case, key: str, value: JsonValue) -> tuple[str, str | None]:
    if not case.asked_complete or not speculates(case.asked) or value in (None, "", False, 0):
        return "", None
    if key == METHOD:
        return ("method-detected", "CFG-1") if case.asked.get(MODEL) is not None else ("", None)
    if key == TOKENS:
        return "tokens-defaulted", "CFG-1"
    if key in _LOOKUP and str(case.values.get(METHOD, "")).startswith("ngram"):
        return "lookup-defaulted", "CFG-1"
    if key == f"{SPEC}.parallel_drafting" and value is True:
        return "parallel-drafting", None
    return "", None


def _foretold(case: Case) -> list[Rewrite]:
    """A method that parts of the draft's path will replace, where no value in force was seen."""
    asked = case.asked.get(METHOD)
    if METHOD in case.values or not speculates(case.asked) or case.asked.get(MODEL) is None:
        return []
    method = method_in_force(case.asked, draft=case.draft, target=case.target)
    if method is None or method == asked or (asked is not None and asked not in _OF_METHODS):
        return []
    return [
        Rewrite(
            key=METHOD,
            asked=asked,
            effective=method,
            kind="defaulted" if asked is None else "rewritten",
            cause="CFG-1" if asked is not None and not asked.endswith("_mtp") else None,
            rule="method-by-path" if method != "draft_model" else "method-detected",
            sources=_sources(case.asked_source(METHOD), case.asked_source(MODEL)),
            foretold=True,
            note="unless a head's method is asked for by name, parts of the draft's path decide",
        )
    ]


def _ignored(case: Case) -> list[Rewrite]:
    asked = case.asked.get(_BATCH_LIMIT)
    if asked is None or not IGNORED_BATCH_LIMIT.covers(case.versions):
        return []
    return [
        Rewrite(
            key=_BATCH_LIMIT,
            asked=asked,
            effective=None,
            kind="dropped",
            cause="CFG-1",
            rule="batch-limit-ignored",
            sources=_sources(case.asked_source(_BATCH_LIMIT)),
            foretold=True,
            note="these versions check it and then use it for nothing",
        )
    ]


def rewrites(case: Case) -> tuple[Rewrite, ...]:
    """Every value in force that was not asked for, and every asked one that is ignored."""
    told = _of_log(case)
    known = {rewrite.key for rewrite in told} | {_BATCH_LIMIT}
    return (*told, *_differing(case, known), *_foretold(case), *_ignored(case))
