"""docs/causes.md, from the knowledge base."""

from __future__ import annotations

from collections.abc import Iterable

from specdoctor.cli.causes import known_from
from specdoctor.knowledge.cause import Cause, Group


def causes_page(groups: Iterable[Group]) -> str:
    """Every cause by group: how it shows, the test that decides, what it predicts, what to do."""
    lines = [
        "# Causes",
        "",
        "What can be wrong with speculative decoding. A cause is supported only by something that can be opened, else",
        "it is suspected with the test that decides; what contradicts it falsifies it. `specdoctor causes ID` shows",
        "one.",
    ]
    for group in groups:
        lines += ["", f"## {group.prefix}: {group.title}"]
        for cause in group.causes:
            lines += _entry(cause)
    return "\n".join(lines) + "\n"


def _entry(cause: Cause) -> list[str]:
    engines = ", ".join(cause.engines) + (f" ({cause.versions})" if cause.versions else "")
    rows = [
        ("Seen", cause.seen),
        ("Test", cause.check),
        ("Predicts", cause.predicts),
        ("Fix", cause.fix),
        ("Engines", engines),
        ("At worst", cause.severity),
        ("Known from", known_from(cause)),
    ]
    return ["", f"### {cause.id}: {cause.title}", "", *(f"- **{label}**: {text}" for label, text in rows)]
