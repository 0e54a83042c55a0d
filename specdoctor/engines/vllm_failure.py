"""Why a vLLM start failed or a server died: the telling line of its log, and what it means in one sentence.

Lines of several processes stand between each other, each with its process in front; an exception belongs to the frames
that the same process wrote before it. What the others say of it (engine dead, initialisation failed) comes later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from specdoctor.core.redact import redact
from specdoctor.core.server import Failure
from specdoctor.engines.explanation import Explanation
from specdoctor.engines.log_carriers import quote_from
from specdoctor.engines.suspects import Suspects
from specdoctor.engines.vllm_failures import FAILURES
from specdoctor.engines.vllm_prefix import split_line

SUSPECT = (
    "rror",
    "xception",
    "Interrupt",
    "Killed",
    "failed to start",
    "died unexpectedly",
    "Unexpected keyword",
    "Extra inputs",
)
_EXCEPTION = re.compile(r"(?:[A-Za-z_][\w.]*\.)?\w*(?:Error|Exception|Interrupt|Exit)(?:: |:?$)")
_PYDANTIC = re.compile(r"  (?:Value|Assertion) error, |  Unexpected keyword argument|  Extra inputs are not permitted")
_ARGPARSE = re.compile(r": error: (?:argument |unrecognized |ambiguous |the following )")
_FATAL = re.compile(
    r"EngineDeadError|EngineCore (?:encountered an issue|failed to start|encountered a fatal error)|"
    r"Engine core initialization failed|WorkerProc hit an exception|AsyncEngineDeadError|"
    r"Background loop has errored|Engine process failed to start|died unexpectedly|^Killed\b"
)
_SECONDARY = re.compile(
    r"EngineDeadError|Engine core initialization failed|Engine core proc .{0,40} died|WorkerProc initialization failed|"
    r"Worker failed with error|EngineCore encountered|Engine process failed to start|KeyboardInterrupt|SystemExit|"
    r"CancelledError|BrokenPipeError|ConnectionResetError|^ValidationError|pydantic_core\._pydantic_core\.ValidationError"
)
_ACCESS = " HTTP/1."
_LAST_WORDS = 12
_FRAMES = 120
_MOST_TOLD = 60
_MAX_MESSAGE = 4000


def is_suspect(raw: str) -> bool:
    """Whether a line may belong to a failure."""
    return any(word in raw for word in SUSPECT) and _ACCESS not in raw


def _message(lines: Sequence[str], number: int) -> str:
    return split_line(lines[number - 1][:_MAX_MESSAGE]).message


def _tells(message: str) -> bool:
    return bool(_EXCEPTION.match(message) or _PYDANTIC.match(message) or _ARGPARSE.search(message))


def _frames(lines: Sequence[str], number: int) -> str:
    """What the same process wrote just before a line."""
    own = split_line(lines[number - 1][:_MAX_MESSAGE]).process
    before = (split_line(raw[:_MAX_MESSAGE]) for raw in lines[max(0, number - 1 - _FRAMES) : number - 1])
    return "\n".join(line.message for line in before if line.process == own)


def _explanation(lines: Sequence[str], number: int, message: str) -> tuple[Explanation, re.Match[str]] | None:
    frames: str | None = None
    for row in FAILURES:
        match = row.pattern.search(message)
        if match is None:
            continue
        if row.frame is not None:
            frames = _frames(lines, number) if frames is None else frames
            if row.frame.search(frames) is None:
                continue
        return row, match
    return None


def _dead(suspects: Suspects) -> bool:
    """Whether these lines tell of a dead server: by words only a dying one writes, or by the last words of a start."""
    if any(_FATAL.search(_message(suspects.lines, number)) for number in suspects.numbers):
        return True
    if suspects.ready:
        return False
    last = next((n for n in range(len(suspects.lines), 0, -1) if suspects.lines[n - 1].strip()), 0)
    return any(n > last - _LAST_WORDS and _tells(_message(suspects.lines, n)) for n in suspects.numbers)


def _telling(suspects: Suspects) -> Iterator[tuple[int, str]]:
    told = 0
    for number in suspects.numbers:
        message = _message(suspects.lines, number)
        if _tells(message):
            told += 1
            yield number, message
        if told >= _MOST_TOLD:
            return


class _Groups(dict[str, str]):
    """Groups of a match for a sentence; one that did not take part is left out of it."""

    def __missing__(self, key: str) -> str:
        return ""


def _failure(suspects: Suspects, number: int, message: str, known: tuple[Explanation, re.Match[str]] | None) -> Failure:
    text = message.strip()
    if known is None:
        meaning = f"the server died with {redact(text)[:160].rstrip('. ')}"
        cause, then = None, "read the lines above it"
    else:
        row, match = known
        groups = _Groups({k: redact(v)[:200] for k, v in match.groupdict().items() if v is not None})
        meaning, cause, then = " ".join(row.meaning.format_map(groups).split()), row.cause, row.next_step
    raw = suspects.lines[number - 1]
    return Failure(line=number, quote=quote_from(raw, text), meaning=meaning, cause=cause, next_step=then)


def find_failure(suspects: Suspects) -> Failure | None:
    """The failure that these lines tell, None for a living server or one that was stopped in order.

    The first line that a row explains, else the first exception that is no echo of another process's.
    """
    if not suspects.numbers or not _dead(suspects):
        return None
    first: tuple[int, str] | None = None
    echo: tuple[int, str] | None = None
    for number, message in _telling(suspects):
        known = _explanation(suspects.lines, number, message)
        if known is not None:
            return _failure(suspects, number, message, known)
        if _SECONDARY.search(message):
            echo = echo or (number, message)
        else:
            first = first or (number, message)
    found = first or echo
    return _failure(suspects, *found, None) if found is not None else None
