"""llama.cpp builds: their number in a log, and what the wording of a log proves where none is printed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from specdoctor.core.server import Source

_IN_LOG = re.compile(
    r"\bbuild(?: =|:)\s*(?P<n>\d{1,6}) \((?P<hash>[0-9a-f]{6,40})\)|build_info: b(?P<info>\d{1,6})-[0-9a-f]{6,40}"
    r"|\bversion: (?P<version>\d{1,6}) \([0-9a-f]{6,40}\)"
)
_BUILD = re.compile(r"b?(\d{1,6})(?:-[\w.]+)?")
OLD_LAST = 8407
"""Up to here a draft model alone switches speculation on, drafts up to 16 tokens while above p-min 0.75."""
NEW_FIRST = 10068
"""From here speculation needs --spec-type; 3 tokens, p-min 0. The change lies in between, seen at these two builds."""


@dataclass(frozen=True)
class Wording:
    """Words that only some builds print: `since` included, `before` excluded."""

    id: str
    pattern: re.Pattern[str]
    since: int | None = None
    before: int | None = None


@dataclass(frozen=True)
class Proof:
    source: Source
    since: int | None
    before: int | None


# Bounds are builds at which another wording was seen, so they are wide.
WORDINGS = (
    Wording("acceptance rate", re.compile(r"draft acceptance rate = [\d.]+"), before=NEW_FIRST),
    Wording("mean acceptance length", re.compile(r", mean acceptance length ="), since=OLD_LAST + 1, before=11434),
    Wording("mean len", re.compile(r"generated\), mean len ="), since=NEW_FIRST + 1),
    Wording("implementation", re.compile(r"adding speculative implementation 'draft-"), since=OLD_LAST + 1),
    Wording("init result", re.compile(r"common_speculative_init_result: "), since=OLD_LAST + 1),
    Wording("server", re.compile(r"llama_server: (?:initializing|listening on|model loaded)"), since=OLD_LAST + 1),
)
_MARKS = ("draft acceptance", "speculative", "llama_server: ")


def version_in(message: str) -> tuple[str, str] | None:
    """The build that a line states ("b10068") with the words that do; None for a build that does not know its own."""
    match = _IN_LOG.search(message)
    if match is None:
        return None
    text = normal_version(match["n"] or match["info"] or match["version"])
    return (text, match[0]) if text is not None else None


def normal_version(text: str | None) -> str | None:
    """A build as the project names its releases: "b11434" for "b11434-515e855", "11434" or "11434.0.0"."""
    match = _BUILD.fullmatch((text or "").strip().removesuffix(".0.0"))
    return f"b{int(match[1])}" if match is not None and int(match[1]) > 0 else None


def build_number(version: str | None) -> int | None:
    found = normal_version(version)
    return int(found[1:]) if found is not None else None


def proof_in(message: str) -> tuple[Wording, str] | None:
    """What a line's wording proves, with the words that do."""
    if not any(mark in message for mark in _MARKS):
        return None
    for wording in WORDINGS:
        match = wording.pattern.search(message)
        if match is not None:
            return wording, match[0]
    return None


def narrow(proofs: Sequence[Proof]) -> tuple[str | None, tuple[Source, ...]]:
    """The builds that all proofs allow, as text, and the proofs; None where they contradict each other."""
    since = max((p.since for p in proofs if p.since is not None), default=None)
    before = min((p.before for p in proofs if p.before is not None), default=None)
    sources = tuple(p.source for p in proofs)
    if since is None and before is None:
        return None, sources
    if since is not None and before is not None and since >= before:
        return None, sources
    parts = ([f">={since}"] if since is not None else []) + ([f"<{before}"] if before is not None else [])
    return ",".join(parts), sources


def bounds(version: str | None, version_range: str | None) -> tuple[int | None, int | None]:
    """The least and the greatest build that it may be; None leaves that end open."""
    number = build_number(version)
    if number is not None:
        return number, number
    least = greatest = None
    for part in (version_range or "").split(","):
        digits = part.strip().lstrip("<>=b")
        if part.strip().startswith(">=") and digits.isdigit():
            least = int(digits)
        elif part.strip().startswith("<") and digits.isdigit():
            greatest = int(digits) - 1
    return least, greatest
