"""The lower part of the screen, drawn over itself: list, progress, what is waited for. A pure function."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from specdoctor.render.layout import clip, width_of, wrap
from specdoctor.render.screen import Step, frame, picture_of
from specdoctor.session.question import choices
from specdoctor.session.view import View

if TYPE_CHECKING:
    from rich.text import Text

LEAST_ABOVE = 6
"""Lines that stay free above the region, for what scrolls by."""
LEAST_FRAME = 7
_HINTS = "/help lists the commands, Tab completes; a plain sentence says what you see"


def region(
    view: View, *, now: float, width: int, height: int, step: Step | None = None, leaving: str = ""
) -> list[Text]:
    """The lines above the prompt, at most `height`. A question that stands leaves room for itself above."""
    from rich.text import Text

    rule = Text("-" * width, style="dim")
    if view.ledger.started is None:
        return [rule, Text("beginning")]
    below = [Text(words, style="bold") for line in _state(view, leaving) for words in _whole(line, width)]
    if view.question is not None:
        return [rule, *below]
    why = Text(clip(f"why: {view.doing.why}", width)) if view.doing is not None and view.doing.why else Text()
    room = max(height - len(below) - 2, LEAST_FRAME)
    return [rule, *frame(picture_of(view.ledger), now=now, width=width, height=room, step=step), why, *below]


def _whole(line: str, width: int) -> list[str]:
    """A line with its gaps where it fits, else wrapped."""
    return [line] if width_of(line) <= width else wrap(line, width)


def _state(view: View, leaving: str) -> list[str]:
    """What the run waits for, in a line each."""
    ledger = view.ledger
    lines = []
    if leaving:
        lines.append(leaving)
    elif ledger.paused and ledger.pause is not None:
        doing = view.doing
        when = f"paused by {ledger.pause.by}" if doing is None else f"pauses after {doing.action} ({doing.what})"
        lines.append(f"{when}: /go lets it go on; Ctrl-C again puts the server back and leaves")
    lines += [f"{ask.ask} waits for its turn: {ask.text}" for ask in list(ledger.asks.values())[-2:]]
    if view.question is not None and not leaving:
        lines.append(choices(view.question))
    return lines


def hint(width: int) -> list[str]:
    """The first lines of a session."""
    return wrap(_HINTS, width)


Fragments = list[tuple[str, str]]


def fragments(lines: list[Text], style_of: Callable[[str], str] = str) -> Fragments:
    """Lines as prompt_toolkit takes them: pieces of text, each with its style."""
    out: Fragments = []
    for number, line in enumerate(lines):
        if number:
            out.append(("", "\n"))
        marks = [(0, len(line.plain), str(line.style)), *((s.start, s.end, str(s.style)) for s in line.spans)]
        edges = sorted({0, len(line.plain), *(m[0] for m in marks), *(m[1] for m in marks)})
        for begin, end in pairwise(edges):
            style = " ".join(style_of(m[2]) for m in marks if m[2] and m[0] <= begin and end <= m[1])
            out.append((style, line.plain[begin:end]))
    return out
