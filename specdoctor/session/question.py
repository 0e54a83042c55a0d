"""The question before load or a restart, as lines: what happens, how long, the way back, the exact commands."""

from __future__ import annotations

import re

from specdoctor.core.events import ApprovalAsked
from specdoctor.core.model import Risk
from specdoctor.render.approval import LABEL, beside_labels
from specdoctor.render.clean import clean
from specdoctor.render.layout import clip, paste_lines

KINDS = {Risk.LOAD: "benchmarks", Risk.RESTART: "restarts"}
SO_FAR = "  so far"
TOLD_BY = "/hypotheses lists what is known without it"
_ASIDE = re.compile(r"\s+\((?:[^()]|\([^()]*\))*\)")
"""Intervals and remarks of a sentence; a bracket that belongs to its word, as in out(2), is none."""


def question_lines(asked: ApprovalAsked, *, width: int, height: int = 10_000) -> list[str]:
    """The whole question with its commands, wrapped beside its labels, in `height` lines where that can be.

    Where room is short, first blank lines go, then intervals and remarks of what is known so far, then all of that:
    commands tell it. What is run, the time down and the way back stay whole.
    """
    lines = _laid_out(asked, asked.text, width)
    for most in (None, 2, 0):
        if len(lines) > height:
            text = asked.text if most is None else _shortened(asked.text, most * (width - LABEL) - 4)
            lines = [line for line in _laid_out(asked, text, width) if line]
    return lines


def _laid_out(asked: ApprovalAsked, text: str, width: int) -> list[str]:
    # What a benchmark sends stands in its text as it is.
    commands = command_lines(asked, width=width) if asked.risk is Risk.RESTART else []
    if not commands:
        return beside_labels(text, width)
    # The last paragraph, what a yes does and how it is undone, stays next to the prompt.
    before, _, last = text.rpartition("\n\n")
    return [*beside_labels(before, width), "", "  would run", *commands, "", *beside_labels(last, width)]


def _shortened(text: str, room: int) -> str:
    """What is known so far without figures in brackets, in `room` characters each; no room: only where it is told."""
    lines, known = [], False
    for line in clean(text).splitlines():
        known = line.startswith(SO_FAR) or (known and line.startswith(" " * LABEL))
        label, said = line[:LABEL], line[LABEL:]
        if not known:
            lines.append(line)
        elif room > 0:
            lines.append(f"{label}{clip(_ASIDE.sub('', said), room)}")
        elif label.strip():
            lines.append(f"{label}{TOLD_BY}")
    return "\n".join(lines)


def command_lines(asked: ApprovalAsked, *, width: int) -> list[str]:
    """The command lines of a question, to be read as they would be run."""
    return [f"    {part}" for line in asked.lines for part in paste_lines(clean(line), width=width - 4)]


def choices(asked: ApprovalAsked) -> str:
    """What can be answered, in one line."""
    kind = KINDS.get(asked.risk, asked.risk.word)
    return f"{asked.risk.word.capitalize()}?  [y] this one  [k] all {kind}  [a] this run  [n] no  [c] commands"
