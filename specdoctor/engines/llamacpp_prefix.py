"""What stands around a llama.cpp log message: carriers, and the time and level of newer builds."""

from __future__ import annotations

import re

from specdoctor.engines.log_carriers import inner_of_docker_json, without_colours

_STAMP = re.compile(r"(?:^|[\s|])(\d{1,6})\.(\d\d)\.(\d{3})\.(\d{3}) [TDIWEN] ")
_REACH = 200
_MAX_MESSAGE = 4000


def message_of(raw: str) -> str:
    """A raw line without colours and carriage return, cut where no message is that long.

    What a container or journal put before it stays: messages are searched for, not matched at the beginning.
    """
    text = raw[:_MAX_MESSAGE].rstrip("\r")
    if text.startswith('{"log":"'):
        text = inner_of_docker_json(text)
    return without_colours(text)


def seconds_of(message: str) -> float | None:
    """Seconds since the start of the server, by the stamp `minutes.seconds.milliseconds.microseconds`."""
    match = _STAMP.search(message, 0, _REACH)
    if match is None:
        return None
    minutes, seconds, milli, micro = (int(part) for part in match.groups())
    return minutes * 60.0 + seconds + milli / 1e3 + micro / 1e6
