"""Two measurements side by side: the parts that changed, and the suspects, most fitting first."""

from __future__ import annotations

from typing import Any

from specdoctor.analysis.attribution import Arm, Attribution, Part, Suspect
from specdoctor.core.estimate import Estimate
from specdoctor.render.figures import amount
from specdoctor.render.layout import clip, columns, labelled

SCHEMA = "specdoctor.compare/1"
_LABEL_WIDTH = 12
_SHAPES = {
    "uniform": "baseline and cycle changed by the same factor: the GPU as a whole, not what is launched",
    "cycle more": "the cycle changed more than the baseline step: host time, links or graphs, not a slower GPU",
    "no clear change": "neither baseline nor cycle changed clearly: nothing tells a slower GPU from a longer cycle",
    "unknown": "without both baselines it cannot be told whether the whole GPU or only the cycle slowed down",
}
_MOST_SUSPECTS = 12


def comparison_document(first: Arm, second: Arm, found: Attribution) -> dict[str, Any]:
    """The comparison for machines; ratios are second over first, with 95 % intervals."""
    return {
        "schema": SCHEMA,
        "first": _arm(first),
        "second": _arm(second),
        "verdict": found.outcome,
        "reason": found.reason,
        "shape": found.shape,
        "parts": [_part(part) for part in found.parts],
        "suspects": [suspect.model_dump(mode="json") for suspect in found.suspects],
    }


def _arm(arm: Arm) -> dict[str, Any]:
    return {"label": arm.label, "fingerprint": arm.fingerprint}


def _part(part: Part) -> dict[str, Any]:
    return {
        "name": part.name,
        "first": _estimate(part.first),
        "second": _estimate(part.second),
        "ratio": _estimate(part.ratio),
        "change": part.change,
    }


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "unit": estimate.unit,
        "estimator": estimate.estimator,
        "n": estimate.n,
    }


def comparison_text(first: Arm, second: Arm, found: Attribution, *, width: int) -> str:
    """The comparison for people."""
    lines: list[str] = []
    for label, text in (
        ("first", first.label),
        ("second", second.label),
        ("verdict", f"{found.outcome}: {found.reason}"),
    ):
        lines += labelled(label, text, label_width=_LABEL_WIDTH, width=width)
    if found.parts:
        rows = [(p.name, _short(p.first), _short(p.second), f"{p.ratio}: {p.change}") for p in found.parts]
        lines += ["", columns(("part", "first", "second", "second / first (95 %)"), rows, width=width)]
    if found.suspects:
        lines += ["", *labelled("shape", _SHAPES[found.shape], label_width=_LABEL_WIDTH, width=width), ""]
        rows_ = [(s.key, _value(s.first), _value(s.second), s.why) for s in found.suspects[:_MOST_SUSPECTS]]
        lines.append(columns(("differs", "first", "second", "why it matters"), rows_, width=width))
        left = len(found.suspects) - _MOST_SUSPECTS
        if left > 0:
            lines.append(f"and {left} more that fit no better (--json lists all)")
    lines += ["", *labelled("next", _next(found), label_width=_LABEL_WIDTH, width=width)]
    return "\n".join(lines)


def _short(estimate: Estimate) -> str:
    return f"{amount(estimate.value)} {estimate.unit}"


def _value(value: str | None) -> str:
    return "not known" if value is None else clip(value, 24)


def _next(found: Attribution) -> str:
    top: Suspect | None = found.suspects[0] if found.suspects else None
    if found.outcome == "not attributable":
        return "measure both settings now, in one state of the system: specdoctor investigate TARGET --allow restart"
    if found.outcome == "attributable" and top is not None:
        what = "the launch arguments" if top.key == "args.launch" else top.key
        return f"change back {what} alone and measure again"
    if found.outcome == "inconclusive":
        return "measure each side on more starts, with the same prompts"
    if found.outcome == "unexplained":
        return "measure each side once more: what was not recorded, or chance, made the difference"
    return "nothing to explain"
