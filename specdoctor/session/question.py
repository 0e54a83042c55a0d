"""The question before load or a restart, as lines: what happens, how long, the way back, the exact commands."""

from __future__ import annotations

import textwrap

from specdoctor.core.events import ApprovalAsked
from specdoctor.core.model import Risk
from specdoctor.render.clean import clean
from specdoctor.render.layout import paste_lines

KINDS = {Risk.LOAD: "benchmarks", Risk.RESTART: "restarts"}


def question_lines(asked: ApprovalAsked, *, width: int) -> list[str]:
    """The whole question with its commands, wrapped beside its labels."""
    # What a benchmark sends stands in its text as it is.
    commands = command_lines(asked, width=width) if asked.risk is Risk.RESTART else []
    if not commands:
        return _wrapped(asked.text, width)
    # The last paragraph, what a yes does and how it is undone, stays next to the prompt.
    before, _, last = asked.text.rpartition("\n\n")
    return [*_wrapped(before, width), "", "  would run", *commands, "", *_wrapped(last, width)]


def _wrapped(text: str, width: int) -> list[str]:
    lines: list[str] = []
    for line in clean(text).splitlines():
        lines += textwrap.wrap(line, width, subsequent_indent=" " * 12, break_long_words=False) or [""]
    return lines


def command_lines(asked: ApprovalAsked, *, width: int) -> list[str]:
    """The command lines of a question, to be read as they would be run."""
    return [f"    {part}" for line in asked.lines for part in paste_lines(clean(line), width=width - 4)]


def choices(asked: ApprovalAsked) -> str:
    """What can be answered, in one line."""
    kind = KINDS.get(asked.risk, asked.risk.word)
    return f"{asked.risk.word.capitalize()}?  [y] this one  [k] all {kind}  [a] this run  [n] no  [c] commands"
