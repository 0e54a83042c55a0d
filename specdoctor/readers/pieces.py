"""A text that holds several things at once, taken apart: fenced blocks of an issue, a command pasted above its log.

Every piece keeps the numbers of its lines: what belongs to others is left empty in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

LARGEST_CHARS = 8 << 20
MOST_PIECES = 50
_FENCE = re.compile(r"^[ \t>]*(?:```|~~~)")
_QUOTED = re.compile(r"^[ \t]*(?:>[ \t]?)+(?=\S|[ \t])")
_PROMPT = re.compile(r"^[ \t]*(?:\(\S+\)[ \t]+)?(?:\[?[\w.-]+@[\w.-]+[: ]\S*[$#][ \t]+|[$#%][ \t]+|\+ )?")
_COMMAND = re.compile(
    r"(?:(?:sudo|nohup|exec|env) +)*(?:[A-Z][A-Z0-9_]*=\S* +)*(?:(?:numactl|taskset|srun|nice|time)(?: +[-\d]\S*)* +)?"
    r"(?:\S*python[\d.]* -m (?:sglang|vllm)\S*|(?:\S*/)?(?:vllm serve|sglang serve|llama-server|trtllm-serve) |"
    r"(?:docker|podman) run )"
)
_PROGRAMS = (
    "-m sglang", "-m vllm", "vllm serve", "sglang serve", "llama-server", "trtllm-serve", "docker run", "podman run",
)  # fmt: skip
"""A text that names none of them holds no command: most lines of a long log need not be looked at."""
_SPAN = re.compile(r"(?<!`)`([^`]{12,})`(?!`)")
_PROSE = re.compile(r"^(?:[A-Z][\w']*|we|i|it|my|our|the)\b,?(?: [^\s=$\\|&<>`{}\[\]]+){4,}[.?!:,]\s*$")
"""A sentence beside a command: no script, but what somebody writes about it."""
_HASHED = re.compile(r"^[ \t]*#")
_LOGGED = re.compile(r"\d\d:\d\d:\d\d|^(?:srv|slot|llama_\w+|main|common_\w+|\d+\.\d\d\.\d{3}\.\d{3})\b")
_FEWEST_LOGGED = 3
"""A text with fewer lines of a log beside its command is a launch file, not a paste."""
_SURELY_LOGGED = re.compile(
    r"\b(?:INFO|WARNING|ERROR|DEBUG) \d\d-\d\d \d\d:\d\d:\d\d\b|\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b.*\] |"
    r"\beval time = +[\d.]+ ms|\bdraft acceptance rate = "
)
"""A line as only an engine writes it: one is enough."""


def pieces_of(texts: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The texts with those of several things replaced by their pieces, and the file behind the name of each piece."""
    out: dict[str, str] = {}
    behind: dict[str, str] = {}
    for where, text in texts.items():
        short = len(text) <= LARGEST_CHARS
        blocks = _blocks(text) if short else []
        spans = _spans(text) if short and "`" in text else {}
        if not blocks and not spans:
            out[where] = text
            continue
        lines, fenced = text.split("\n"), _is_fenced(text)
        for number, (at, command) in enumerate(list(spans.items())[:MOST_PIECES], start=len(blocks) + 1):
            out[f"{where}#{number}"] = "\n".join(command if n == at else "" for n in range(len(lines)))
            behind[f"{where}#{number}"] = where
            lines[at] = lines[at].replace(command, "")
        taken: set[int] = set()
        for number, block in enumerate(blocks[:MOST_PIECES], start=1):
            name = f"{where}#{number}"
            out[name] = "\n".join(_bare(line, fenced) if n in block else "" for n, line in enumerate(lines))
            behind[name] = where
            taken |= block
        rest = "\n".join(
            "" if n in taken or _FENCE.match(line) else line if fenced else _QUOTED.sub("", line)
            for n, line in enumerate(lines)
        )
        if rest.strip():
            out[where] = rest
    return out, behind


def _blocks(text: str) -> list[set[int]]:
    """The lines of each piece, by index; empty for a text of one kind."""
    if _is_fenced(text):
        return _fenced(text.split("\n"))
    return _commands(text.split("\n")) if any(program in text for program in _PROGRAMS) else []


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


def _spans(text: str) -> dict[int, str]:
    """Commands between single back quotes in prose, by the index of their line."""
    lines = text.split("\n")
    fenced: set[int] = set().union(*_fenced(lines))
    found: dict[int, str] = {}
    for index, line in enumerate(lines):
        for match in _SPAN.finditer(line[:4000]) if index not in fenced and "`" in line else ():
            if _COMMAND.match(_bare(match[1])) and " -" in match[1]:
                found.setdefault(index, match[1])
    return found


def _commands(lines: list[str]) -> list[set[int]]:
    """Commands with the lines that continue them, where much else stands beside them that is no shell."""
    found: list[set[int]] = []
    index = 0
    while index < len(lines):
        if not lines[index] or _COMMAND.match(_bare(lines[index][:2000])) is None:
            index += 1
            continue
        block = {index}
        while lines[index].rstrip().endswith("\\") and index + 1 < len(lines):
            index += 1
            block.add(index)
        found.append(block)
        index += 1
    typed = [block for block in found if not _HASHED.match(lines[min(block)])]
    found = typed or found
    if not found:
        return []
    commands = set().union(*found)
    beside = [line[:200] for n, line in enumerate(lines) if n not in commands]
    surely = any(_SURELY_LOGGED.search(line) for line in beside)
    written = (line[:2000] for n, line in enumerate(lines) if n not in commands)
    told = not lines[0].startswith("#!") and any(_PROSE.match(line) for line in written)
    return found if surely or told or sum(1 for line in beside if _LOGGED.search(line)) >= _FEWEST_LOGGED else []


def _is_fenced(text: str) -> bool:
    return "```" in text or "~~~" in text


def _bare(line: str, fenced: bool = False) -> str:
    """A line of a paste without the quote of a mail and the prompt of a shell before it."""
    return line if fenced else _PROMPT.sub("", _QUOTED.sub("", line), count=1)
