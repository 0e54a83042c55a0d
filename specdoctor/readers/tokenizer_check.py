"""Somebody's comparison of two tokenizers: digests of their files, lengths, token ids."""

from __future__ import annotations

import re
from typing import NamedTuple

from specdoctor.core.material import Material, Notes
from specdoctor.core.reader import Reading

_DIGEST = re.compile(r"^[0-9a-f]{32,128}\s+\*?\S*token\S*", re.MULTILINE | re.IGNORECASE)
_LENGTH = re.compile(r"len\(\s*\w*tok\w*\s*\)|vocab_size\s*[:=]|tokenizer\.(?:json|model)", re.IGNORECASE)
_MOST_CHARS = 64 * 1024


class _Reader(NamedTuple):
    name: str = "tokenizer_check"
    summary: str = "digests and lengths of two tokenizers side by side"
    rank: int = 50

    def read(self, text: str, *, where: str) -> Reading | None:
        if len(text) > _MOST_CHARS or text.lstrip()[:1] in ("{", "["):
            return None
        if not _DIGEST.search(text) and len(_LENGTH.findall(text)) < 2:
            return None
        lines = tuple(line.rstrip("\r") for line in text.split("\n"))
        return Reading(kind="tokenizer check", pieces=Material(notes=(Notes(where=where, lines=lines),)))


reader = _Reader()
