"""Two measurements side by side: the parts that changed, and the suspects, most fitting first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from specdoctor.analysis.attribution import NOT_JUDGED, Arm, Attribution, Part, Suspect, not_known
from specdoctor.core.estimate import Estimate
from specdoctor.render.figures import amount
from specdoctor.render.layout import clip, columns, labelled, wrap

SCHEMA = "specdoctor.compare/1"
_LABEL_WIDTH = 12
_SHAPES = {
    "uniform": "baseline and cycle changed by the same factor: the GPU as a whole, not what is launched",
    "cycle more": "the cycle changed more than the baseline step: host time, links or graphs, not a slower GPU",
    "no clear change": "neither baseline nor cycle changed clearly: nothing tells a slower GPU from a longer cycle",
    "unknown": "without both baselines it cannot be told whether the whole GPU or only the cycle slowed down; a "
    "run with both: specdoctor bench TARGET --allow restart --against-launch off",
}
_FILES = {
    "model.config.": "target's config.json,",
    "draft.config.": "drafter's config.json,",
    "draft.tensors.": "drafter's tensor",
}
_WHOLE_FILES = {
    "model.config": "target's config.json (digest; its entries are not on record)",
    "draft.config": "drafter's config.json (digest; its entries are not on record)",
}
_NO_INTERVAL = {"low": None, "high": None}
_MEASURE_WITH_INTERVAL = (
    "measure each side with an interval: specdoctor bench TARGET --allow load --blocks 4 --json > FILE, then compare "
    "the two files"
)
_MOST_SUSPECTS = 20
_MOST_OF_A_FILE = 6
_LONGEST = 160
"""Characters of a value; a longer one is cut, a name never."""


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
        "ratio": _estimate(part.ratio) | (_NO_INTERVAL if part.change == "not judged" else {}),
        "change": part.change,
        "why": NOT_JUDGED if part.change == "not judged" else None,
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
        some = any(p.change != "not judged" for p in found.parts)
        lines += [
            "",
            columns(("part", "first", "second", f"second / first{' (95 %)' if some else ''}"), rows, width=width),
        ]
    if found.suspects:
        lines += ["", *labelled("shape", _SHAPES[found.shape], label_width=_LABEL_WIDTH, width=width), ""]
        known = [suspect for suspect in found.suspects if not not_known(suspect, first, second)]
        told = _not_one_file_alone(known)[:_MOST_SUSPECTS]
        lines += _differing(told, width)
        left = len(known) - len(told)
        if left > 0:
            lines.append(f"and {left} more that fit no better (--json lists all)")
        lines += _one_sided(len(found.suspects) - len(known), first, second, width)
    lines += ["", *labelled("next", _next(found), label_width=_LABEL_WIDTH, width=width)]
    return "\n".join(lines)


def _one_sided(count: int, first: Arm, second: Arm, width: int) -> list[str]:
    """How many facts one side does not know, and why."""
    if not count:
        return []
    sides = " and ".join(arm.label for arm in (first, second) if arm.one_run)
    why = f"{sides}: a result of another tool, which records few of them" if sides else "the other recorded none such"
    text = f"{count} {'facts' if count > 1 else 'fact'} that one side alone knows ({why}; --json lists all)"
    return labelled("not known", text, label_width=_LABEL_WIDTH, width=width)


def _short(estimate: Estimate) -> str:
    return f"{amount(estimate.value)} {estimate.unit}"


def _not_one_file_alone(suspects: Sequence[Suspect]) -> list[Suspect]:
    """The suspects in their order with few entries of each file, so that another file is not crowded out."""
    count: dict[str, int] = {}
    kept = []
    for suspect in suspects:
        file = next((prefix for prefix in _FILES if suspect.key.startswith(prefix)), suspect.key)
        count[file] = count.get(file, 0) + 1
        kept += [suspect] if count[file] <= _MOST_OF_A_FILE else []
    return kept


def _differing(suspects: Sequence[Suspect], width: int) -> list[str]:
    """Each fact with both values, first / second, under the reason why it matters."""
    lines: list[str] = []
    for why, alike in groupby(suspects, key=lambda s: s.why):
        lines += labelled(
            "differs" if not lines else "", f"{why} (first / second):", label_width=_LABEL_WIDTH, width=width
        )
        for s in alike:
            name, *more = wrap(
                f"{_named(s.key)}: {_value(s.key, s.first)} / {_value(s.key, s.second)}", width - _LABEL_WIDTH - 4
            )
            lines += [f"{' ' * (_LABEL_WIDTH + 2)}{name}", *(f"{' ' * (_LABEL_WIDTH + 4)}{line}" for line in more)]
    return lines


def _named(key: str) -> str:
    """A fact in words where its name is that of a file's entry."""
    for prefix, words in _FILES.items():
        if key.startswith(prefix):
            return f"{words} {key.removeprefix(prefix)}"
    return _WHOLE_FILES.get(key, key)


def _value(key: str, value: str | None) -> str:
    if value is not None and key == "args.launch":
        value = "; ".join(_change(part) for part in value.split("; "))
    return "not known" if value is None else clip(value, _LONGEST)


def _change(part: str) -> str:
    """One change of a launch's key: what is removed has a dash before it there and no value."""
    removed = part.startswith("-") and "=" not in part
    return f"without {part[1:].removesuffix(':')}" if removed else part


def _next(found: Attribution) -> str:
    top: Suspect | None = found.suspects[0] if found.suspects else None
    if found.outcome == "not attributable":
        return "measure both settings now, in one state of the system: specdoctor investigate TARGET --allow restart"
    if found.outcome == "attributable" and top is not None:
        what = "the launch arguments" if top.key == "args.launch" else top.key
        return f"change back {what} alone and measure again"
    if any(part.change == "not judged" for part in found.parts) and not any(part.changed for part in found.parts):
        return _MEASURE_WITH_INTERVAL
    if found.outcome == "inconclusive":
        return "measure each side on more starts, with the same prompts"
    if found.outcome == "unexplained":
        return "measure each side once more: what was not recorded, or chance, made the difference"
    return "nothing to explain"
