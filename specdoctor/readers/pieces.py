"""A text that holds several things at once, taken apart: fenced blocks of an issue, a command pasted above its log.

Every piece keeps the numbers of its lines: what belongs to others is left empty in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

LARGEST_CHARS = 8 << 20
MOST_PIECES = 50
_FENCE = re.compile(r"^[ \t>]*(?:```|~~~)")
_COMMAND = re.compile(
    r"^(?:[$>] |\+ )?(?:(?:sudo|nohup|exec|env) +)*(?:[A-Z][A-Z0-9_]*=\S* +)*"
    r"(?:\S*python[\d.]* -m (?:sglang|vllm)\S*|(?:\S*/)?(?:vllm serve|sglang serve|llama-server|trtllm-serve) |"
    r"(?:docker|podman) run )"
)
_LOGGED = re.compile(r"\d\d:\d\d:\d\d|^(?:srv|slot|llama_\w+|main|common_\w+|\d+\.\d\d\.\d{3}\.\d{3})\b")
_FEWEST_LOGGED = 3
"""A text with fewer lines of a log beside its command is a launch file, not a paste."""


def pieces_of(texts: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The texts with those of several things replaced by their pieces, and the file behind the name of each piece."""
    out: dict[str, str] = {}
    behind: dict[str, str] = {}
    for where, text in texts.items():
        blocks = _blocks(text) if len(text) <= LARGEST_CHARS else []
        if not blocks:
            out[where] = text
            continue
        lines = text.split("\n")
        taken: set[int] = set()
        for number, block in enumerate(blocks[:MOST_PIECES], start=1):
            name = f"{where}#{number}"
            out[name] = "\n".join(line if n in block else "" for n, line in enumerate(lines))
            behind[name] = where
            taken |= block
        rest = "\n".join("" if n in taken or _FENCE.match(line) else line for n, line in enumerate(lines))
        if rest.strip():
            out[where] = rest
    return out, behind


def _blocks(text: str) -> list[set[int]]:
    """The lines of each piece, by index; empty for a text of one kind."""
    if "```" in text or "~~~" in text:
        return _fenced(text.split("\n"))
    return _commands(text.split("\n"))


def _fenced(lines: list[str]) -> list[set[int]]:
    found: list[set[int]] = []
    start: int | None = None
    for index, line in enumerate(lines):
        if not _FENCE.match(line):
            continue
        if start is None:
            start = index
            continue
        block = set(range(start + 1, index))
        found += [block] if any(lines[n].strip() for n in block) else []
        start = None
    if start is not None:
        found.append(set(range(start + 1, len(lines))))
    return found


def _commands(lines: list[str]) -> list[set[int]]:
    """Commands with the lines that continue them, where much else stands beside them that is no shell."""
    found: list[set[int]] = []
    index = 0
    while index < len(lines):
        if not lines[index] or _COMMAND.match(lines[index][:2000]) is None:
            index += 1
            continue
        block = {index}
        while lines[index].rstrip().endswith("\\") and index + 1 < len(lines):
            index += 1
            block.add(index)
        found.append(block)
        index += 1
    if not found:
        return []
    commands = set().union(*found)
    logged = sum(1 for n, line in enumerate(lines) if n not in commands and _LOGGED.search(line[:200]))
    return found if logged >= _FEWEST_LOGGED else []
