"""Why a start failed or a server died: the telling exception of its log, and what it means in one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specdoctor.core.redact import redact
from specdoctor.core.server import Failure
from specdoctor.engines.explanation import Explanation
from specdoctor.engines.log_carriers import quote_from
from specdoctor.engines.sglang_failures_host import HOST_FAILURES, SECONDARY
from specdoctor.engines.sglang_failures_model import MODEL_FAILURES
from specdoctor.engines.sglang_prefix import split_line
from specdoctor.engines.suspects import Suspects

FAILURES = MODEL_FAILURES + HOST_FAILURES

# A line that may belong to a failure holds one of these; everything else is never looked at twice.
SUSPECT = ("rror", "xception", "Traceback", "igquit", "SIGQUIT", "exit code", "Killed", "include_parent=True")
_ARGPARSE = re.compile(r": error: (?:argument|unrecognized|ambiguous|the following)")
_BIND = re.compile(r"\[Errno 98\]|address already in use|EADDRINUSE")
_FATAL = re.compile(
    r"Scheduler hit an exception|Received sigquit from a child|SIGQUIT received|scheduler died during initialization"
    r"|Subprocess \S+ \(pid=\d+\) crashed with exit code|kill_process_tree called: .*include_parent=True|^Killed\b"
)
_CHAIN = ("During handling of the above exception", "The above exception was the direct cause")
_SIGTERM = "SIGTERM received"
_MAX_BLOCK_LINES = 400
_LAST_WORDS = 12
_MAX_MESSAGE = 4000
_OWN_KILL = "kill_process_tree called"
_OWN_KILL_NOTE = "; the exit code -9 (137) that follows is the launcher ending its own processes, not the OOM killer"


@dataclass(frozen=True)
class _Block:
    """One traceback chain: exception lines (number, text) from the root cause to the last, and all its text."""

    exceptions: tuple[tuple[int, str], ...]
    text: str

    @property
    def of_scheduler(self) -> bool:
        return self.text.startswith("Scheduler hit an exception")


def is_suspect(line: str) -> bool:
    return any(word in line for word in SUSPECT)


def _message(lines: Sequence[str], number: int) -> str:
    """The beginning of a message: what tells a failure stands there, and no line may cost more than that."""
    return split_line(lines[number - 1][:_MAX_MESSAGE]).message


def _read_block(lines: Sequence[str], first: int) -> tuple[_Block, int]:
    """The traceback that begins at line `first`, with the tracebacks chained to it; and the line after it."""
    exceptions: list[tuple[int, str]] = []
    text: list[str] = []
    number = first
    waiting, chained = True, False
    while number <= len(lines) and number < first + _MAX_BLOCK_LINES:
        message = _message(lines, number)
        opens = "Traceback (most recent call last)" in message
        chained = chained or message.startswith(_CHAIN)
        if not waiting and message.strip() and not chained:
            break
        if opens:
            waiting = True
            chained = False
        elif waiting and message and not message[0].isspace() and number > first:
            exceptions.append((number, message))
            waiting = False
        text.append(message)
        number += 1
    return _Block(tuple(exceptions), "\n".join(text)), number


def _blocks(suspects: Suspects) -> Iterator[_Block]:
    after = 0
    for number in suspects.numbers:
        if number < after or "Traceback (most recent call last)" not in suspects.lines[number - 1]:
            continue
        block, after = _read_block(suspects.lines, number)
        if block.exceptions:
            yield block


def _explain(block: _Block) -> tuple[int, str, Explanation | None, re.Match[str] | None]:
    """The exception of a chain that a row explains, root first; the last one if no row knows any."""
    for number, message in block.exceptions:
        for row in FAILURES:
            match = row.pattern.search(message)
            if match is not None and (row.frame is None or row.frame.search(block.text)):
                return number, message, row, match
    number, message = block.exceptions[-1]
    return number, message, None, None


def _single_lines(suspects: Suspects) -> Iterator[tuple[int, str, Explanation, re.Match[str]]]:
    """Failures that one line tells without a traceback."""
    for number in suspects.numbers:
        message = _message(suspects.lines, number)
        if not (_ARGPARSE.search(message) or _BIND.search(message) or _FATAL.search(message) or "Error" in message):
            continue
        for row in FAILURES:
            match = row.pattern.search(message) if row.frame is None and row.alone else None
            if match is not None:
                yield number, message, row, match
                break


def _tells_death(suspects: Suspects) -> bool:
    """Whether these lines tell of a dead server.

    Either one of them is written only by a dying server, or a server that never came up ended with an exception as
    its last words; tracebacks of single requests and of optional imports are neither.
    """
    if any(_FATAL.search(_message(suspects.lines, number)) for number in suspects.numbers):
        return True
    if suspects.ready:
        return False
    last = next((n for n in range(len(suspects.lines), 0, -1) if suspects.lines[n - 1].strip()), 0)
    return any(number > last - _LAST_WORDS for number in suspects.numbers)


def _failure(
    suspects: Suspects, number: int, message: str, row: Explanation | None, match: re.Match[str] | None
) -> Failure:
    groups = {k: redact(v)[:200] for k, v in match.groupdict().items() if v is not None} if match else {}
    if row is None:
        meaning = f"the server died with {redact(message)[:160].rstrip('. ')}"
    else:
        meaning = " ".join(row.meaning.format_map(_Groups(groups)).split())
    own_kill = any(n > number and _OWN_KILL in suspects.lines[n - 1] for n in suspects.numbers)
    return Failure(
        line=number,
        quote=quote_from(suspects.lines[number - 1], message),
        meaning=meaning + (_OWN_KILL_NOTE if own_kill else ""),
        cause=row.cause if row else None,
        next_step=row.next_step if row else "read the traceback above this line",
    )


class _Groups(dict[str, str]):
    """Groups of a match for a sentence; one that did not take part is left out of it."""

    def __missing__(self, key: str) -> str:
        return ""


def find_failure(suspects: Suspects) -> Failure | None:
    """The failure that these lines tell, None for a living server or one that was stopped in order.

    The first known cause wins: ranks that lose their peer afterwards, and the launcher's own kill, come later.
    """
    if not _tells_death(suspects):
        return None
    blocks = list(_blocks(suspects))
    own = [block for block in blocks if block.of_scheduler]
    explained = [_explain(block) for block in own or blocks]
    known = [e for e in explained if e[2] is not None and e[2].id not in SECONDARY]
    if known:
        return _failure(suspects, *known[0])
    alone = list(_single_lines(suspects))
    primary = [e for e in alone if e[2].id not in SECONDARY]
    if primary:
        return _failure(suspects, *primary[0])
    named = [e for e in explained if not e[1].startswith(("KeyboardInterrupt", "SystemExit"))]
    if named:
        return _failure(suspects, *named[0])
    return _failure(suspects, *alone[0]) if alone else None


def explain_failure(log: str) -> Failure | None:
    """Why a start failed, from its log alone; what follows an ordered stop is no failure."""
    lines = log.split("\n")
    numbers: list[int] = []
    ready = False
    for number, line in enumerate(lines, start=1):
        if _SIGTERM in line:
            break
        if "The server is fired up" in line or "Decode batch" in line:
            ready = True
        if is_suspect(line):
            numbers.append(number)
    return find_failure(Suspects(lines=lines, numbers=numbers, ready=ready))
