"""What carries the lines of any server's log: containers, journals, compose, colours; and how a line is quoted."""

from __future__ import annotations

import json
import re

from specdoctor.core.redact import redact

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
CARRIERS = (
    re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d) (?:std(?:out|err) [FP] )?"),
    re.compile(r"[A-Z][a-z]{2} [ \d]\d [\d:]{8} \S+ [^\s:]+(?:\[\d+\])?: "),
    re.compile(r"[\w.-]+ +\| "),
)
MAX_QUOTE = 300


def without_colours(text: str) -> str:
    """`text` without terminal colour codes."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def inner_of_docker_json(text: str) -> str:
    """The line inside a record of docker's JSON log files; any other text as it is."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return text
    inner = record.get("log") if isinstance(record, dict) else None
    return inner.rstrip("\n") if isinstance(inner, str) else text


def quote_from(raw: str, wanted: str) -> str:
    """`wanted` as it can be cited from `raw`: a part of that line, short, without colour codes or secrets.

    A secret is cut off together with what follows it, so that what is quoted still stands in the line.
    """
    text = wanted if wanted in raw else max(_ANSI.split(raw), key=len)
    text = text.split("\r", 1)[0][:MAX_QUOTE].strip()
    clean = redact(text)
    if clean == text:
        return text
    same = next((i for i, (a, b) in enumerate(zip(text, clean, strict=False)) if a != b), 0)
    return text[:same].strip()
