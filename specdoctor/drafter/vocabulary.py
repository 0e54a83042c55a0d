"""Which text each token id stands for, without keeping the texts: enough to compare two tokenizers id by id."""

from __future__ import annotations

import json
import re
import zlib
from array import array
from dataclasses import dataclass, field

_PAIR = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:\s*(\d{1,9})\s*(?=[,}])')
_ADDED = re.compile(rb'"id"\s*:\s*(\d{1,9})\s*,\s*"content"\s*:\s*"((?:[^"\\]|\\.)*)"')
MOST_TOKENS = 4_000_000


@dataclass(frozen=True)
class Vocabulary:
    """Checksums of the token texts by id; 0 where an id has no text. `special` names the added tokens."""

    where: str
    checks: array[int]
    special: dict[int, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """One more than the largest id."""
        return len(self.checks)

    def differing(self, other: Vocabulary) -> tuple[int, ...]:
        """The ids that both know and that stand for different texts."""
        both = zip(self.checks, other.checks, strict=False)
        return tuple(i for i, (mine, theirs) in enumerate(both) if mine != theirs and mine and theirs)


def tokenizer_json(raw: bytes, where: str) -> Vocabulary | None:
    """The vocabulary of a `tokenizer.json`; None when the file holds no map from token to id (a unigram model)."""
    start = raw.find(b'"vocab"')
    found: dict[int, int] = {}
    if start >= 0 and raw[start + 7 :].lstrip(b" \t\r\n:").startswith(b"{"):
        begin = raw.index(b"{", start) + 1
        at = begin
        while match := _PAIR.search(raw, at):
            gap = raw[at : match.start()].strip(b" \t\r\n,")
            if gap:
                break
            number = int(match[2])
            if number < MOST_TOKENS:
                found[number] = _check(match[1])
            at = match.end()
    special = {int(m[1]): _text(m[2]) for m in _ADDED.finditer(raw) if int(m[1]) < MOST_TOKENS}
    for number, text in special.items():
        found[number] = zlib.crc32(text.encode("utf-8", errors="replace")) or 1
    if not found:
        return None
    checks = array("I", bytes(4 * (max(found) + 1)))
    for number, check in found.items():
        checks[number] = check
    return Vocabulary(where=where, checks=checks, special=special)


def _text(inside: bytes) -> str:
    """The text of a JSON string, given what stands between its quotes."""
    if b"\\" not in inside:
        return inside.decode("utf-8", errors="replace")
    try:
        return str(json.loads(b'"' + inside + b'"'))
    except ValueError:
        return inside.decode("utf-8", errors="replace")


def _check(inside: bytes) -> int:
    plain = inside if b"\\" not in inside else _text(inside).encode("utf-8", errors="replace")
    return zlib.crc32(plain) or 1
