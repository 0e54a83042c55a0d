"""What differs between a replay and the run its playbook was made from, for people and for programs."""

from __future__ import annotations

from typing import Any

from specdoctor.analysis.attribution import Suspect
from specdoctor.analysis.divergence import Divergence, FigureDivergence
from specdoctor.core.recorded import Recorded
from specdoctor.render.layout import clip, labelled

_MOST = 12
_LABEL = 10
_VALUE = 60


def divergence_text(then: Recorded, found: Divergence, *, width: int) -> str:
    """The report: a headline that names the best fitting difference, then each kind of difference."""
    rows: list[tuple[str, str]] = [("against", f"run {then.run} on {then.target}, {then.at}: {headline(found)}")]
    shown, versions = _split(found)
    rows += _block("differs", [_fact(s) for s in shown])
    if versions:
        rows.append(("", f"{len(versions)} arguments that only one of the two versions knows (--json lists them)"))
    rows += _block("figures", [_figure(f) for f in found.beyond_noise])
    alike = len(found.figures) - len(found.beyond_noise)
    if alike:
        rows.append(("alike", f"{alike} of {len(found.figures)} figures, within their noise and that of two starts"))
    now = [f.finding for f in found.findings if f.seen == "only now"]
    gone = [f.finding for f in found.findings if f.seen == "only then"]
    rows += _block("only now", [f"{f.check} {f.stance} {f.cause or 'no cause'}: {f.claim}" for f in now])
    rows += _block("only then", [f"{f.check} {f.stance} {f.cause or 'no cause'}: {f.claim}" for f in gone])
    rows += _block("ends", [f"{o.what}: {o.then} then, {o.now} now" for o in found.outcomes])
    rows += _block("no figure", [f"{launch} was not measured now" for launch in found.unmeasured])
    if found.elsewhere:
        rows.append(("elsewhere", "of the same name in another folder: " + ", ".join(s.key for s in found.elsewhere)))
    return "\n".join(line for label, text in rows for line in labelled(label, text, label_width=_LABEL, width=width))


def headline(found: Divergence) -> str:
    """The thing that differs, in one sentence."""
    if not found.any:
        return "nothing differs beyond noise"
    changed = ", ".join(dict.fromkeys(f"{f.part.name} {f.part.change}" for f in found.beyond_noise))
    what = changed or "no figure differs beyond noise"
    if found.facts:
        others = f" (and {len(found.facts) - 1} more facts)" if len(found.facts) > 1 else ""
        return f"{what}; what differs: {_fact(found.facts[0])}{others}"
    if found.findings:
        first = next((f for f in found.findings if f.seen == "only now"), found.findings[0])
        return f"{what}; {first.seen}: {first.finding.check} {first.finding.stance} {first.finding.cause or 'no cause'}"
    return f"{what}, and no version, argument or fact of the hardware that was recorded"


def divergence_document(then: Recorded, found: Divergence) -> dict[str, Any]:
    """The report for programs; `ratio` is now over then."""
    return {
        "against": {"run": then.run, "target": then.target, "at": then.at},
        "diverges": found.any,
        "headline": headline(found),
        **found.model_dump(mode="json"),
    }


def _split(found: Divergence) -> tuple[list[Suspect], list[Suspect]]:
    """The facts to show; of two engine versions, arguments that only one of them knows stand apart."""
    other = any(s.key == "engine.version" for s in found.facts)
    apart = [s for s in found.facts if other and s.key.startswith("args.") and None in (s.first, s.second)]
    return [s for s in found.facts if s not in apart], apart


def _block(label: str, texts: list[str]) -> list[tuple[str, str]]:
    rows = [(label if not i else "", text) for i, text in enumerate(texts[:_MOST])]
    left = len(texts) - _MOST
    return [*rows, ("", f"and {left} more (--json lists all)")] if left > 0 else rows


def _fact(fact: Suspect) -> str:
    return f"{fact.key}: {_value(fact.first)} then, {_value(fact.second)} now"


def _value(value: str | None) -> str:
    return "not there" if value is None else clip(value, _VALUE)


def _figure(f: FigureDivergence) -> str:
    where = (
        f"{f.launch}" + (f", {f.clients} clients" if f.clients > 1 else "") + (f", {f.prompts}" if f.prompts else "")
    )
    part = f.part
    figures = f"{part.second.with_unit()} against {part.first.with_unit()}"
    return f"{where}: {part.name} {part.change}, {figures}: {part.ratio} times"
