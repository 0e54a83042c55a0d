"""Markdown in which nothing that came from elsewhere can act as Markdown or HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable

from specdoctor.render.clean import clean, one_line

# An underscore between two letters or digits (accept_length) means nothing to Markdown; any other may.
_SPECIAL = re.compile(r"([\\`*\[\]~|$]|(?<![^\W_])_|_(?![^\W_])|&(?=[#\w]+;))")
# What would begin a heading, a quote, a list, a rule or an underline at the start of a line.
_LEADING = re.compile(r"^(?:([#>]|[+-](?=\s|$)|[=-](?=[=\s-]*$))|(\d{1,9})(?=[.)](?:\s|$)))")


class Md(str):
    """Text that is Markdown already: composed here, with everything from elsewhere escaped."""

    __slots__ = ()


def inline(text: object) -> Md:
    """One line of any text, shown as it is written; safe in a paragraph, a list item and a table cell."""
    if isinstance(text, Md):
        return text
    line = _SPECIAL.sub(r"\\\1", one_line(str(text))).replace("<", "&lt;")
    line = _LEADING.sub(lambda m: f"\\{m[1]}" if m[1] else f"{m[2]}\\", line)
    # Neither addresses nor names shall become links.
    return Md(re.sub(r"(?i)(https?|ftp)://|\bwww\.|@(?=\w)", _unlinked, line))


def _unlinked(match: re.Match[str]) -> str:
    return (
        match.group(0)
        .replace(":", "&#58;")
        .replace("www.", "www&#46;")
        .replace("WWW.", "WWW&#46;")
        .replace("@", "&#64;")
    )


def code(text: object) -> Md:
    """One line as a code span; safe in a table cell. Empty text gives an empty span's place, nothing."""
    line = one_line(str(text))
    if not line:
        return Md("")
    if "|" in line:
        # No escape for a bar works both inside and outside of tables: such text is shown without the code font.
        return inline(line)
    fence = "`" * (max((len(run) for run in re.findall(r"`+", line)), default=0) + 1)
    space = " " if "`" in line else ""
    return Md(f"{fence}{space}{line}{space}{fence}")


def block(text: str) -> Md:
    """Lines as a code block whose fence the text cannot close."""
    lines = clean(text)
    fence = "`" * max(max((len(run) for run in re.findall(r"`+", lines)), default=0) + 1, 3)
    return Md(f"{fence}text\n{lines.rstrip()}\n{fence}")


def table(header: Iterable[object], rows: Iterable[Iterable[object]]) -> Md:
    """A table; every cell is escaped unless it is Markdown composed here."""
    titles = [inline(h) for h in header]
    lines = [titles, [Md("---")] * len(titles), *([inline(c) for c in row] for row in rows)]
    return Md("\n".join("| " + " | ".join(line) + " |" for line in lines))


def joined(parts: Iterable[Md], separator: str = ", ") -> Md:
    """Pieces of Markdown put together."""
    return Md(separator.join(parts))
