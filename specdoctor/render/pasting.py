"""Lines to paste that stand inside of other text: shown as code, for an escape would change what a shell reads."""

from __future__ import annotations

from collections.abc import Iterable

from specdoctor.core.ledger import Ledger
from specdoctor.render.clean import one_line
from specdoctor.render.layout import paste_lines
from specdoctor.render.markdown import Md, code, inline, joined


def paste_lines_of(ledger: Ledger) -> tuple[str, ...]:
    """The launch lines that a run gives people to paste."""
    advice = ledger.verdict.recommendation if ledger.verdict is not None else None
    lines = [advice.first, advice.launch, advice.rollback] if advice is not None else []
    lines += [line for r in ledger.refusals for line in (r.start, r.back)]
    lines += [line for note in ledger.notes for line in note.lines]
    lines += [line for asked in ledger.batches.values() for line in asked.lines]
    return tuple(dict.fromkeys(line for line in lines if line.strip()))


def dry_run_text(ledger: Ledger, *, width: int) -> str:
    """The commands that a dry run would have given, each to be pasted; empty for any other run."""
    lines = [line for note in ledger.notes for line in note.lines] if ledger.settings.dry_run else []
    shown = [part for line in dict.fromkeys(lines) for part in ("", *paste_lines(line, width=width))]
    return "\n".join(["what would be done:", *shown]) if shown else ""


def with_lines(text: str, lines: Iterable[str]) -> Md:
    """One line of any text with each of `lines` that stands in it as code."""
    rest = one_line(text)
    found = [line for line in map(one_line, lines) if line and line in rest]
    if not found:
        return inline(rest)
    line = max(found, key=len)
    before, after = rest.split(line, 1)
    parts = (with_lines(before, found), code(line), with_lines(after, found))
    spaces = ("", " " if before.endswith(" ") else "", " " if after.startswith(" ") else "")
    return joined([Md(space + part) for space, part in zip(spaces, parts, strict=True)], "")
