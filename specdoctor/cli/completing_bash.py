"""Words that bash has cut at colons and at signs, as in ssh://ann@gpu-7:22, put together again for completion."""

from __future__ import annotations

import io
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

ASKED = "_SPECDOCTOR_COMPLETE"
BREAKS = (":", "@")


def rejoined(words: list[str], cursor: int) -> tuple[list[str], int, str]:
    """The words as they were typed, the one at the cursor, and what of it stands before the part that bash replaces."""
    out: list[str] = []
    at, before = cursor, ""
    glue = False
    for number, word in enumerate(words):
        joins = bool(out) and (glue or word in BREAKS)
        if number == cursor:
            before = out[-1] if joins else ""
        if joins:
            out[-1] += word
        else:
            out.append(word)
        if number == cursor:
            at = len(out) - 1
        glue = word in BREAKS
    return out, at if cursor < len(words) else len(out), before


@contextmanager
def whole_words() -> Iterator[None]:
    """While bash asks for completions: whole words are completed, each reply is what takes the last part's place."""
    if os.environ.get(ASKED) != "complete_bash":
        yield
        return
    try:
        typed = shlex.split(os.environ["COMP_WORDS"])
        words, cursor, before = rejoined(typed, int(os.environ["COMP_CWORD"]))
    except (KeyError, ValueError):
        yield
        return
    os.environ.update(COMP_WORDS=shlex.join(words), COMP_CWORD=str(cursor))
    said = io.StringIO()
    try:
        with redirect_stdout(said):
            yield
    finally:
        lines = [line.removeprefix(before) for line in said.getvalue().splitlines()]
        sys.stdout.write("".join(f"{line}\n" for line in lines))
