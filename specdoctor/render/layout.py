"""Plain text laid out in terminal cells: wrapping, clipping, columns. Wide characters count as two."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from rich.cells import cell_len, chop_cells, set_cell_size

from specdoctor.render.clean import one_line

GAP = 3
_COLUMN_GAP = 2
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
    """`label` in its own column, `text` wrapped beside it; a label as wide as its column keeps one space."""
    label_width = max(label_width, width_of(label) + 1)
    beside = wrap(text, width - label_width)
    return [(pad(label, label_width) + beside[0]).rstrip(), *(" " * label_width + line for line in beside[1:])]


def labels(rows: Sequence[tuple[str, str]], *, label_width: int, width: int) -> str:
    """Rows of label and text, one below the other."""
    return "\n".join(
        line for label, text in rows for line in labelled(label, text, label_width=label_width, width=width)
    )


def columns(header: Sequence[str], rows: Sequence[Sequence[str]], *, width: int) -> str:
    """A table without lines; the last column is wrapped so that the whole fits `width`."""
    cells = [[one_line(c) for c in row] for row in (header, *rows)]
    widths = [max(width_of(row[i]) for row in cells) for i in range(len(header))]
    gaps = _COLUMN_GAP * (len(widths) - 1)
    tail_room = min(widths[-1], 20)
    while sum(widths[:-1]) + gaps + tail_room > width and max(widths[:-1], default=0) > 12:
        widths[widths[:-1].index(max(widths[:-1]))] -= 1
    room = max(width - sum(widths[:-1]) - gaps, 8)
    out: list[str] = []
    for row in cells:
        tail = wrap(row[-1], room)
        lead = "".join(pad(clip(c, w), w + _COLUMN_GAP) for c, w in zip(row[:-1], widths[:-1], strict=True))
        out.append((lead + tail[0]).rstrip())
        out += [" " * width_of(lead) + line for line in tail[1:]]
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
