"""What stands around an SGLang log message: container and journal prefixes, colours, its own stamp and rank."""

from __future__ import annotations

import re
from dataclasses import dataclass

from specdoctor.engines.log_carriers import CARRIERS, inner_of_docker_json, without_colours

_CARRIERS = (*CARRIERS, re.compile(r"\([\w.]+ pid=\d+(?:, ip=[\d.]+)?\) "))
_STAMP = re.compile(r"\[(?P<ts>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?)(?P<ranks>(?: [A-Z_]+\d+)*)\] ?")
_CARRIER_START = re.compile(r"[\d(A-Za-z]")
_MAX_TAIL = 4000


@dataclass(slots=True)
class LogLine:
    """One line without what carried it. `stamp` is the text of SGLang's own time stamp, empty without one."""

    message: str
    stamp: str = ""
    rank: str = ""


def split_line(raw: str) -> LogLine:
    """The message of a raw line with its stamp and rank; carriers in any of the known orders are taken off."""
    text = raw.rstrip("\r")
    if text.startswith('{"log":"'):
        text = inner_of_docker_json(text)
    text = without_colours(text)
    if text.startswith("["):
        match = _STAMP.match(text)
        if match is not None:
            return LogLine(text[match.end() :], match["ts"], match["ranks"].strip())
        return LogLine(text)
    if not _CARRIER_START.match(text):
        return LogLine(text)
    at = 0
    for _ in range(3):
        carrier = next((m for m in (c.match(text, at) for c in _CARRIERS) if m is not None), None)
        if carrier is None:
            break
        at = carrier.end()
    match = _STAMP.match(text, at)
    if match is not None:
        return LogLine(text[match.end() :], match["ts"], match["ranks"].strip())
    return LogLine(text[at:])


def after_bars(raw: str) -> str:
    """What stands in a line after progress bars, which end in bare carriage returns or run into a stamped message."""
    text = raw.rstrip("\r")
    if "\r" in text:
        text = text.rsplit("\r", 1)[-1]
    if "%|" in text:
        stamps = list(_STAMP.finditer(text[-_MAX_TAIL:]))
        if stamps:
            return text[-_MAX_TAIL:][stamps[-1].start() :]
    return text
