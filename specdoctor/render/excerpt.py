"""Lines of a raw text: those that were quoted with a little around them, numbered and wrapped; else the first ones."""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.core.server import Source
from specdoctor.render.clean import one_line, visible
from specdoctor.render.layout import wrap

HEAD_LINES = 30
SHORTEST_FOUND = 8
"""Letters of a quote that is looked for in other lines than the one it names."""
AROUND = 2
"""Lines shown before and after a quoted one."""
MOST_QUOTED = 12
MOST_OF_A_LINE = 4
"""Rows that one line of the text may take."""


def excerpt(content: bytes, quotes: Sequence[Source], *, width: int) -> list[str]:
    """`> 17  the quoted line`, its neighbours without the mark. What a terminal would act on is written out."""
    if b"\0" in content[:4096]:
        return [f"binary, {len(content)} bytes"]
    lines = content.decode("utf-8", errors="replace").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    quoted = _quoted(lines, quotes)
    shown = sorted({n for q in quoted for n in range(q - AROUND, q + AROUND + 1) if 0 <= n < len(lines)})
    numbers = shown or list(range(min(len(lines), HEAD_LINES)))
    size = len(str(numbers[-1] + 1)) if numbers else 1
    out: list[str] = []
    before = -1 if shown else None
    for n in numbers:
        if before is not None and n > before + 1:
            out.append(_left_out(n - before - 1))
        before = n if before is not None else None
        out += _rows(lines[n].rstrip("\r"), f"{'>' if n in quoted else ' '} {n + 1:>{size}}  ", width)
    rest = len(lines) - (numbers[-1] + 1 if numbers else 0)
    return [*out, f"({rest} more line{'s' if rest > 1 else ''})"] if rest > 0 else out


def _left_out(count: int) -> str:
    return f"({count} line{'s' if count > 1 else ''} left out)"


def _quoted(lines: Sequence[str], quotes: Sequence[Source]) -> set[int]:
    """Places of quotes: the line that a quote names where it stands there, else the first line that holds it."""
    plain = [one_line(line) for line in lines]
    found: set[int] = set()
    for source in quotes:
        words = one_line(source.quote).removesuffix("...").strip()
        if not words or len(found) >= MOST_QUOTED:
            continue
        named = source.line - 1 if source.line is not None else -1
        if 0 <= named < len(plain) and words in plain[named]:
            found.add(named)
        elif len(words) >= SHORTEST_FOUND:
            found.update([n for n, line in enumerate(plain) if words in line][:1])
    return found


def _rows(line: str, lead: str, width: int) -> list[str]:
    """One line of the text below its number; what is longer than some rows is cut, and marked."""
    rows = wrap(visible(line), max(width - len(lead), 8), cut_words=True)
    if len(rows) > MOST_OF_A_LINE:
        rows = [*rows[: MOST_OF_A_LINE - 1], f"{rows[MOST_OF_A_LINE - 1][:-3]}..."]
    return [(lead + rows[0]).rstrip(), *(" " * len(lead) + row for row in rows[1:])]
