"""A playbook as commented YAML. Every text is written as a quoted string, so that none can be anything else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from specdoctor.core.clean import one_line
from specdoctor.core.recorded import Recorded, RecordedFigure
from specdoctor.planners.playbook_schema import Playbook
from specdoctor.planners.playbook_values import as_written
from specdoctor.planners.playbook_writing import Written

_WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.-+"
_META = ("yes", "no", "on", "off", "true", "false", "null", "nan", "y", "n")
SLACK = 0.05
"""The share that a suggested expectation of a figure grants beyond what was measured (heuristic)."""


def playbook_text(written: Written) -> str:
    """The file: head, steps with what came of them, expectations, and the record that a replay is held against."""
    book = written.playbook
    lines = [f"# {one_line(book.about)}", "# Replay it elsewhere:  specdoctor replay THIS-FILE --target TARGET", ""]
    lines += _head(book)
    lines += ["", "steps:"]
    for step, remark in zip(book.steps, written.remarks, strict=True):
        lines += [f"  # {remark}"] if remark else []
        lines += _item(step.model_dump(mode="json", exclude_none=True, exclude_defaults=True) or {"restore": None})
    for each in written.left_out:
        lines += [f"  # left out: {one_line(each)}"]
    lines += ["", "# What has to come out again; the exit code of a replay tells whether it did.", "expect:"]
    for expected in book.expect:
        lines += _item(expected.model_dump(mode="json", exclude_none=True, exclude_defaults=False))
    lines = [line if line.lstrip().startswith("#") else as_written(line) for line in lines]
    lines += _suggested(book.recorded)
    if book.recorded is not None:
        lines += ["", "# What the run found. A replay says what differs: figures beyond their noise, all else exactly."]
        lines += _recorded(book.recorded)
    return "\n".join(lines) + "\n"


def _head(book: Playbook) -> list[str]:
    lines = [f"title: {_scalar(book.title)}", f"about: {_scalar(book.about)}", f"allow: {book.allow}"]
    lines += [f"symptom: {_scalar(book.symptom)}"] if book.symptom else []
    lines += [f"budgets: {_flow(book.budgets.model_dump(mode='json'))}   # the start that puts it back counts"]
    lines += [f"load: {_flow(book.load.model_dump(mode='json'))}"]
    return lines


def _item(data: Mapping[str, Any]) -> list[str]:
    """One entry of a list, a key a line; what is inside a key stands in one line."""
    lines = [f"    {key}: {_flow(_single(value))}".rstrip() for key, value in data.items()]
    return [f"  - {lines[0].lstrip()}", *lines[1:]]


def _single(value: Any) -> Any:
    """A list of one text as the text: both are read alike."""
    return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str) else value


def _suggested(recorded: Recorded | None) -> list[str]:
    """Expectations of the figures themselves, to be taken in where another host has to reach them."""
    figures = [f for f in recorded.figures if not f.prompts] if recorded is not None else []
    if not figures:
        return []
    return [
        "  # To hold another host to the figures as well, take the # away:",
        *(f"  # - {_flow(_expected(f))}" for f in figures),
    ]


def _expected(f: RecordedFigure) -> dict[str, Any]:
    wanted = {"metric": f.metric, "of": f.launch, "op": "==", "value": float(f"{f.value:.4g}")}
    half = max(f.high - f.value, f.value - f.low) / f.value if f.value else 0.0
    return {**wanted, "tolerance": round(min(half + SLACK, 0.9), 3), "unit": f.unit, "concurrency": f.clients}


def _recorded(recorded: Recorded) -> list[str]:
    lines = ["recorded:"]
    for key, value in recorded.model_dump(mode="json").items():
        if isinstance(value, dict):
            lines += [f"  {key}:", *(f"    {_scalar(k)}: {_flow(v)}" for k, v in value.items())] if value else []
        elif isinstance(value, list):
            lines += [f"  {key}:", *(f"    - {_flow(item)}" for item in value)] if value else []
        elif value is not None:
            lines += [f"  {key}: {_scalar(value)}"]
    return lines


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_scalar(k)}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    return "null" if value is None else _scalar(value)


def _scalar(value: Any) -> str:
    """A number or truth as it is, a plain word bare, every other text in double quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = one_line(str(value))
    bare = text[:1].isalpha() and all(c in _WORD for c in text) and text.lower() not in _META
    return text if bare else json.dumps(text, ensure_ascii=False)
