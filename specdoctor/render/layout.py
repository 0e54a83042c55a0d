"""Plain text laid out in terminal cells: wrapping, clipping, columns. Wide characters count as two."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from rich.cells import cell_len, chop_cells, set_cell_size

from specdoctor.render.clean import one_line

GAP = 3
_COLUMN_GAP = 2
_LEAST_OF_LAST = 20
"""Cells that the last column of a table keeps beside the others."""
_LEAST_BESIDE = 9
"""Cells that a text needs beside its label."""
ELLIPSIS = "..."


def width_of(text: str) -> int:
    """Terminal cells that `text` takes."""
    return cell_len(text)


def pad(text: str, width: int) -> str:
    """`text` filled with spaces to `width`; longer text is left as it is."""
    return text + " " * (width - width_of(text))


def clip(text: str, width: int) -> str:
    """One clean line of at most `width` cells; what is cut is marked."""
    text = one_line(text)
    if width_of(text) <= width:
        return text
    if width <= len(ELLIPSIS):
        return ELLIPSIS[: max(width, 0)]
    return set_cell_size(text, width - len(ELLIPSIS)).rstrip() + ELLIPSIS


def gapped(parts: Sequence[str], width: int) -> str:
    """Parts set apart by a gap, in at most `width` cells: the last ones are cut or left out when there is no room."""
    line = ""
    for part in parts:
        room = width - width_of(line) - (GAP if line else 0)
        if not one_line(part) or (line and room < 8):
            continue
        line += (" " * GAP if line else "") + clip(part, room)
    return line


def wrap(text: str, width: int, *, cut_words: bool = False) -> list[str]:
    """Clean lines of at most `width` cells. A longer word stays whole, so that it can be copied, unless `cut_words`."""
    lines: list[str] = []
    current = ""
    for word in one_line(text).split():
        joined = f"{current} {word}" if current else word
        if width_of(joined) <= width:
            current = joined
            continue
        if current:
            lines.append(current)
        pieces = chop_cells(word, max(width, 2)) if cut_words else [word]
        lines += pieces[:-1]
        current = pieces[-1]
    return [*lines, current] if current or not lines else lines


def labelled(label: str, text: str, *, label_width: int, width: int) -> list[str]:
    """`label` in its own column, `text` wrapped beside it; a label as wide as its column keeps one space.

    Where little room is left beside it the text stands below.
    """
    label_width = max(label_width, width_of(label) + 1)
    if width - label_width < _LEAST_BESIDE:
        below = [f"  {line}" for line in wrap(text, width - 2) if line]
        return [label.rstrip(), *below] if label.strip() else below or [""]
    beside = wrap(text, width - label_width)
    return [(pad(label, label_width) + beside[0]).rstrip(), *(" " * label_width + line for line in beside[1:])]


def labels(rows: Sequence[tuple[str, str]], *, label_width: int, width: int) -> str:
    """Rows of label and text, one below the other."""
    return "\n".join(
        line for label, text in rows for line in labelled(label, text, label_width=label_width, width=width)
    )


def columns(header: Sequence[str], rows: Sequence[Sequence[str]], *, width: int) -> str:
    """A table without lines: where it is wider than `width` its cells are wrapped between words, the widest first.

    A long word of the last column squeezes no other: it begins further left, beside or below what stands there.
    Where not even the longest words have room side by side, each row stands with its cells one below the other.
    """
    cells = [[one_line(c) for c in row] for row in (header, *rows)]
    places = range(len(header))
    widths = [max(width_of(row[i]) for row in cells) for i in places]
    least = [max((width_of(word) for row in cells for word in row[i].split()), default=0) for i in places]
    room = width - _COLUMN_GAP * (len(widths) - 1)
    longest = least[-1]
    least[-1] = min(longest, _LEAST_OF_LAST)
    if sum(least) > room or longest > width:
        return stacked(header, rows, width=width)
    fair = [max(least[i], min(widths[i], 12)) for i in places[:-1]] + [min(widths[-1], _LEAST_OF_LAST)]
    while sum(widths) > room:
        slack = [i for i in places if widths[i] > fair[i]] or [i for i in places if widths[i] > least[i]]
        widths[max(slack, key=lambda i: widths[i])] -= 1
    return "\n".join(line for row in cells for line in _row(row, widths, width))


def _row(row: Sequence[str], widths: Sequence[int], width: int) -> list[str]:
    """The lines of one row of a table; a word too long for the last column ends where the table does."""
    *leads, tail = (wrap(cell, size) for cell, size in zip(row, widths, strict=True))
    out: list[str] = []
    while tail or len(out) < max(map(len, leads), default=0):
        pieces = [lines[len(out)] if len(out) < len(lines) else "" for lines in leads]
        lead = "".join(pad(p, w + _COLUMN_GAP) for p, w in zip(pieces, widths[:-1], strict=True))
        start = min(width_of(lead), max(width - width_of(tail[0]), 0)) if tail else 0
        text = lead.rstrip()
        fits = bool(tail) and (not text or width_of(text) + _COLUMN_GAP <= start)
        out.append((pad(text, start) + tail.pop(0)).rstrip() if fits else text)
    return out


def stacked(header: Sequence[str], rows: Sequence[Sequence[str]], *, width: int) -> str:
    """A table for little room: of each row its first cell, below it the others with their heads."""
    out: list[str] = []
    for row in rows:
        out += wrap(row[0], width)
        for head, cell in zip(header[1:], row[1:], strict=True):
            if one_line(cell):
                first, *rest = wrap(f"{head} {cell}", width - 2)
                out += [f"  {first}", *(f"    {line}" for line in wrap(" ".join(rest), width - 4) if rest)]
    return "\n".join(out)


def paste_lines(command: str, *, width: int) -> list[str]:
    """A shell command over several lines joined by backslashes: pasted, it is the same command.

    A flag stays with its value where the width allows it. A command that a shell would not split is left alone.
    """
    command = one_line(command)
    if width_of(command) <= width or not _splits(command):
        return [command]
    words = re.findall(r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+""", command)
    groups: list[str] = []
    for word in words:
        if groups and groups[-1].startswith("-") and " " not in groups[-1] and not word.startswith("-"):
            groups[-1] += f" {word}"
        else:
            groups.append(word)
    lines = [groups[0]]
    for group in groups[1:]:
        room = width - 2 - (2 if len(lines) > 1 else 0)
        if width_of(f"{lines[-1]} {group}") <= room:
            lines[-1] += f" {group}"
        else:
            lines.append(group)
    return [("  " if i else "") + line + (" \\" if i < len(lines) - 1 else "") for i, line in enumerate(lines)]


def _splits(command: str) -> bool:
    try:
        shlex.split(command)
    except ValueError:
        return False
    return True
