"""Parse the `server_args=` line of a start-up log, in both its forms, without running anything of it.

Up to 0.5.18 it is the repr of a dataclass (`ServerArgs(model_path='...', ...)`), from 0.5.19 a dict. Some values are
reprs of objects; those become nested mappings where they look like calls, else the text itself.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from pydantic import JsonValue

from specdoctor.core.redact import MASK, secret_name

_START = re.compile(r"server_args=(?:[\w.]*ServerArgs\(|\{)")
_CALL = re.compile(r"[A-Za-z_][\w.]*\((.*)\)", re.DOTALL)
_ENUM = re.compile(r"<[\w.]+: (.+)>", re.DOTALL)
_OPEN = {"(": ")", "[": "]", "{": "}", "<": ">"}
_MAX_VALUE = 20_000
_MAX_DEPTH = 40


@dataclass(frozen=True)
class ServerArgs:
    """`values` by argument name; `complete` is False where the line was cut before its closing bracket."""

    values: dict[str, JsonValue]
    form: str
    complete: bool


def _end_of_string(text: str, index: int) -> int:
    quote = text[index]
    index += 1
    while index < len(text):
        if text[index] == "\\":
            index += 2
            continue
        if text[index] == quote:
            return index + 1
        index += 1
    return len(text)


def _parts(text: str, start: int, close: str) -> Iterator[tuple[str, bool]]:
    """Pieces between top-level commas from `start` to the closing bracket; the last one says whether it was met."""
    stack: list[str] = []
    piece = index = start
    while index < len(text):
        char = text[index]
        if char in "'\"":
            index = _end_of_string(text, index)
            continue
        if char in _OPEN and not (char == "<" and text[index + 1 : index + 2] in "= "):
            stack.append(_OPEN[char])
        elif stack and char == stack[-1]:
            stack.pop()
        elif not stack and char == close:
            yield text[piece:index], True
            return
        elif not stack and char == ",":
            yield text[piece:index], False
            piece = index + 1
        index += 1
    yield text[piece:], False


def _literal(text: str, depth: int) -> JsonValue:
    text = text.strip()
    if depth < _MAX_DEPTH and len(text) <= _MAX_VALUE:
        try:
            return _json(ast.literal_eval(text))
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            pass
        enum = _ENUM.fullmatch(text)
        if enum is not None:
            return _literal(enum[1], depth + 1)
        call = _CALL.fullmatch(text)
        if call is not None and "=" in call[1]:
            return _fields(call[1] + ")", 0, "call", depth + 1)[0]
    return text[:_MAX_VALUE]


def _json(value: object) -> JsonValue:
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    return repr(value)


def _fields(text: str, start: int, form: str, depth: int = 0) -> tuple[dict[str, JsonValue], bool]:
    separator, close = (":", "}") if form == "dict" else ("=", ")")
    values: dict[str, JsonValue] = {}
    complete = False
    for part, last in _parts(text, start, close):
        complete = complete or last
        name, found, value = part.partition(separator)
        name = name.strip().strip("'\"")
        if found and name.isidentifier():
            values[name] = MASK if secret_name(name) and value.strip() != "None" else _literal(value, depth)
    return values, complete


@lru_cache(maxsize=16)
def parse_server_args(line: str) -> ServerArgs | None:
    """What a `server_args=` line holds; None if `line` has none. Secret values come back masked."""
    match = _START.search(line)
    if match is None:
        return None
    form = "dict" if match[0].endswith("{") else "call"
    values, complete = _fields(line, match.end(), form)
    return ServerArgs(values=values, form=form, complete=complete)


def masked(values: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """`values` with every secret masked, at any depth."""
    return {
        key: MASK if secret_name(key) and isinstance(value, str) else _masked_value(value)
        for key, value in values.items()
    }


def _masked_value(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return masked(value)
    if isinstance(value, list):
        return [_masked_value(item) for item in value]
    return value
