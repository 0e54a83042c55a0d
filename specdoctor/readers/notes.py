"""A person's prose: whatever no stricter reader knows. Its numbers are claims."""

from __future__ import annotations

import re
from typing import NamedTuple

from specdoctor.analysis.symptom import UNITS, claims_of
from specdoctor.core.hypothesis import Claim
from specdoctor.core.material import Material, NotedFigure, Notes
from specdoctor.core.reader import Reading
from specdoctor.core.server import Source
from specdoctor.readers.json_file import document_of

_MOST_CHARS = 400_000
_LONGEST_LINE = 4000
_LOGGED = re.compile(r"\d\d:\d\d:\d\d|^\s*(?:prompt )?eval time =|^\s*total time =|\bdraft acceptance|^(?:slot|srv) ")
"""What a server wrote, pasted into somebody's text: no figure of that person's."""


class _Reader(NamedTuple):
    name: str = "notes"
    summary: str = "prose; numbers with units are taken for claims"
    rank: int = 90

    def read(self, text: str, *, where: str) -> Reading | None:
        if not text.strip() or len(text) > _MOST_CHARS:
            return None
        if document_of(text) is not None or text.startswith("data: {"):
            return Reading(kind="text")
        lines = tuple(line.rstrip("\r") for line in text.split("\n"))
        figures = tuple(
            _figure(claim, number, line, where)
            for number, line in enumerate(lines, start=1)
            if any(c.isdigit() for c in line[:_LONGEST_LINE]) and _LOGGED.search(line[:_LONGEST_LINE]) is None
            for claim in claims_of(line[:_LONGEST_LINE])
        )
        return Reading(kind="notes", pieces=Material(notes=(Notes(where=where, lines=lines, figures=figures),)))


def _figure(claim: Claim, number: int, line: str, where: str) -> NotedFigure:
    quote = claim.text if claim.text in line else line.strip()[:200]
    return NotedFigure(
        source=Source(where=where, line=number, quote=quote),
        metric=claim.metric,
        value=claim.value,
        unit=UNITS.get(claim.metric, ""),
        role=claim.role,
    )


reader = _Reader()
