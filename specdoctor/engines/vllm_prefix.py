"""What stands around a vLLM log message: carriers, the process it comes from, level, stamp and source file."""

from __future__ import annotations

import re
from dataclasses import dataclass

from specdoctor.engines.log_carriers import CARRIERS, inner_of_docker_json, without_colours

_PROCESS = re.compile(r"\((?P<proc>[\w-]+) pid=(?P<pid>\d+)(?:, ip=[\d.]+)?\) ?")
_HEAD = re.compile(
    r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) (?P<ts>\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d+)? "
    r"(?:\[(?P<source>[^\]]{0,200})\] ?|(?P<old>[\w./]+:\d+)\] ?)?"
)
_START = re.compile(r"[\d(A-Za-z]")
YEAR = "2024-"  # no line names its year; a leap year, so that every day is one


@dataclass(slots=True)
class VllmLine:
    """One line without what carried it. `stamp` (month, day, time) and `source` are empty without vLLM's head."""

    message: str
    stamp: str = ""
    process: str = ""
    level: str = ""
    source: str = ""


def split_line(raw: str) -> VllmLine:
    """The message of a raw line with what vLLM's head says of it."""
    text = raw.rstrip("\r")
    if text.startswith('{"log":"'):
        text = inner_of_docker_json(text)
    text = without_colours(text)
    if not _START.match(text):
        return VllmLine(text)
    at = 0
    process = ""
    for _ in range(4):
        own = _PROCESS.match(text, at)
        if own is not None:
            process, at = own["proc"], own.end()
            continue
        head = _HEAD.match(text, at)
        if head is not None:
            source = head["source"] or head["old"] or ""
            return VllmLine(text[head.end() :], head["ts"], process, head["level"], source)
        carrier = next((m for m in (c.match(text, at) for c in CARRIERS) if m is not None), None)
        if carrier is None:
            break
        at = carrier.end()
    return VllmLine(text[at:], process=process)
