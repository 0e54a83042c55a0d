"""Compare what was asked of a llama.cpp server with what is in force, and name the rule behind each difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from specdoctor.core.server import LogReading, Notice, Rewrite, Source, SpecSetting
from specdoctor.engines.llamacpp_args import Asked
from specdoctor.engines.llamacpp_effect import DEFAULTS, DRAFT, N_MAX, P_MIN, TYPE, Era, given_draft, types_asked
from specdoctor.engines.llamacpp_in_force import Settings
from specdoctor.engines.llamacpp_notices import INIT_FAILED, VOCABULARY

_LEARNED = "draft-"


@dataclass(frozen=True)
class Comparison:
    """Everything a comparison needs; `cite` makes the citation of what was asked for, `meant` is the type that fits."""

    asked: Asked
    cite: Callable[[str], Source | None]
    settings: Settings
    spec: SpecSetting | None
    era: Era
    meant: str = ""
    log: LogReading | None = None


def rewrites(case: Comparison) -> tuple[Rewrite, ...]:
    """Every difference, the one that switches speculation off first."""
    found = [_refused(case) or _draft_unused(case), *_lengths(case), *_defaults(case), _context(case)]
    return tuple(rewrite for rewrite in found if rewrite is not None)


def _notice(case: Comparison, kind: str) -> Notice | None:
    return next((n for n in case.log.notices if n.kind == kind), None) if case.log is not None else None


def _cited(case: Comparison, *keys: str, notice: Notice | None = None) -> tuple[Source, ...]:
    sources = [case.cite(key) for key in keys]
    sources += [case.settings.sources.get(key) for key in keys]
    if notice is not None and case.log is not None:
        sources.append(Source(where=case.log.where, line=notice.line, quote=notice.text))
    return tuple(dict.fromkeys(source for source in sources if source is not None))


def _refused(case: Comparison) -> Rewrite | None:
    """The speculative context could not be made: the server says so once and serves without speculation."""
    notice = _notice(case, INIT_FAILED)
    if notice is None or case.spec is None or case.spec.on:
        return None
    vocabulary = _notice(case, VOCABULARY) is not None or "vocab" in notice.text
    key = TYPE if TYPE in case.asked.values else DRAFT
    return Rewrite(
        key=key,
        asked=case.asked.values.get(key) or given_draft(case.asked.values),
        effective="none",
        kind="dropped",
        cause="MIS-1" if vocabulary else "CFG-2",
        rule="context-refused",
        logged=notice.text,
        fix="take a drafter of the target's own family, converted with the same version" if vocabulary else "",
        sources=_cited(case, key, notice=notice),
    )


def _draft_unused(case: Comparison) -> Rewrite | None:
    """A draft model without --spec-type is loaded and never asked: the default type is none, and no line says so."""
    values = case.asked.values
    draft = given_draft(values)
    if draft is None or types_asked(values) or case.spec is None or case.spec.on or case.era == "old":
        return None
    key = DRAFT if DRAFT in values else "hf_repo_draft"
    told = case.settings.told
    return Rewrite(
        key=key,
        asked=draft,
        effective=None,
        kind="dropped",
        cause="CFG-1",
        rule="no-spec-type",
        fix=f"start with --spec-type {case.meant}: in this build a draft model alone does not switch speculation on",
        sources=(*_cited(case, key), *((told,) if told is not None else ())),
    )


def _lengths(case: Comparison) -> list[Rewrite]:
    """Lengths and thresholds that the log shows other than typed (a trained block size clamps them)."""
    out: list[Rewrite] = []
    for key in (N_MAX, P_MIN):
        asked, effective = case.asked.values.get(key), case.settings.values.get(key)
        if asked is None or effective is None or _same(asked, str(effective)):
            continue
        notice = _notice(case, "clamped")
        out.append(
            Rewrite(
                key=key,
                asked=asked,
                effective=str(effective),
                kind="rewritten",
                cause="CFG-1",
                rule="trained-block-size" if notice is not None else "unknown",
                logged=notice.text if notice is not None else None,
                sources=_cited(case, key, notice=notice),
            )
        )
    return out


def _defaults(case: Comparison) -> list[Rewrite]:
    """What a drafting server fills in where nobody asked; the defaults changed between builds."""
    if case.spec is None or not case.spec.on or _LEARNED not in str(case.spec.algorithm):
        return []
    out: list[Rewrite] = []
    for key in (N_MAX, P_MIN):
        effective = case.settings.values.get(key, DEFAULTS[case.era].get(key))
        if key in case.asked.values or effective is None:
            continue
        source = case.settings.sources.get(key)
        out.append(
            Rewrite(
                key=key,
                asked=None,
                effective=str(effective),
                kind="defaulted",
                cause="CFG-1",
                rule=f"default-{case.era}",
                logged=source.quote if source is not None else None,
                sources=_cited(case, key),
            )
        )
    return out


def _context(case: Comparison) -> Rewrite | None:
    """The context of a slot, cut to what the model was trained for. The share of a slot is no rewrite."""
    notice, asked = _notice(case, "context-capped"), case.asked.values.get("ctx_size")
    effective = case.settings.values.get("ctx_slot")
    if notice is None or asked is None or effective is None or _same(asked, str(effective)):
        return None
    return Rewrite(
        key="ctx_size",
        asked=asked,
        effective=str(effective),
        kind="rewritten",
        cause=None,
        rule="training-context",
        logged=notice.text,
        sources=_cited(case, "ctx_size", notice=notice),
    )


def _same(asked: str, effective: str) -> bool:
    try:
        return abs(float(asked) - float(effective)) < 0.005
    except (ValueError, OverflowError):
        return asked == effective
