"""The verdict as it stands on the terminal: a label and a sentence per line, each with its evidence."""

from __future__ import annotations

import re

from specdoctor.core.events import VerdictReached
from specdoctor.render.layout import labelled, pad, paste_lines, width_of, wrap

# Evidence ids that end a line, set apart by two spaces or more.
_CITED = re.compile(r"\s{2,}((?:E\d+)(?: E\d+)*)\s*$")


def verdict_text(event: VerdictReached, *, width: int = 80) -> str:
    """The composed lines of a verdict, wrapped to `width` columns; words are never cut, so that they can be copied.

    A launch line stands by itself under what to do now, whole: pasted, it is one command. So does the command
    that makes what it needs.
    """
    lines = event.lines or (("verdict", event.headline),)
    label_width = max(width_of(label) for label, _ in lines) + 2
    out: list[str] = []
    advice = event.recommendation
    commands = [line for line in (advice.first, advice.launch) if line] if advice else []
    together = "; then: ".join(commands)
    for label, text in lines:
        if commands and label == "do now" and text.startswith(together):
            how = (
                "start it with the next line"
                if len(commands) == 1
                else "make the folder with the first command, then start it with the second"
            )
            out += labelled(label, f"{how}{text[len(together) :]}", label_width=label_width, width=width)
            out += [line for command in commands for line in paste_lines(command, width=width)]
            continue
        cited = _CITED.search(text)
        block = labelled(label, text[: cited.start()] if cited else text, label_width=label_width, width=width)
        out += _with_evidence(block, cited.group(1), width, label_width) if cited else block
    return "\n".join(out)


def _with_evidence(block: list[str], ids: str, width: int, label_width: int) -> list[str]:
    """The ids at the right edge of the last line, or on a line of their own where they do not fit."""
    if width_of(block[-1]) + 2 + width_of(ids) <= width:
        return [*block[:-1], pad(block[-1], width - width_of(ids)) + ids]
    return [*block, *(line.rjust(width) for line in wrap(ids, width - label_width))]
