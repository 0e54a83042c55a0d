"""Go's template language as `--format` uses it: fields, json, println, index, len, join, range, if, else, end."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

_ACTION = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}", re.DOTALL)
_FUNCTIONS = ("json", "println", "print", "index", "len", "join", "upper", "lower", "eq", "ne", "not", "truncate")


class TemplateError(Exception):
    """The template cannot be read or filled in; the text is Go's."""


def fill(form: str, values: Any) -> str:
    """The text of a template. Raises TemplateError."""
    text = form.replace("\\t", "\t").replace("\\n", "\n")
    if text.count("{{") != text.count("}}"):
        raise TemplateError("template: :1: unclosed action")
    pieces = _ACTION.split(text)
    out, rest = _run(pieces, 0, values, values)
    if rest < len(pieces):
        raise TemplateError("template: :1: unexpected {{end}}")
    return out


def _run(pieces: list[str], at: int, dot: Any, root: Any) -> tuple[str, int]:
    """Fill in from piece `at` (even: text, odd: action) to the end, or to an `else` or `end` of ours."""
    out = ""
    while at < len(pieces):
        if at % 2 == 0:
            out += pieces[at]
            at += 1
            continue
        action = pieces[at]
        word = action.split(" ", 1)[0]
        if word in ("end", "else"):
            return out, at
        at += 1
        if word in ("range", "if", "with"):
            text, at = _block(word, action[len(word) :].strip(), pieces, at, dot, root)
            out += text
        else:
            out += _shown(_value(action, dot, root))
    return out, at


def _block(word: str, condition: str, pieces: list[str], at: int, dot: Any, root: Any) -> tuple[str, int]:
    value = _value(condition, dot, root)
    given = list(value.values()) if isinstance(value, Mapping) else list(value or []) if word == "range" else [value]
    each = given if word == "range" else given if value else []
    dots = each if word in ("range", "with") else [dot] * len(each)
    body, end = "", at
    for item in dots:
        text, end = _run(pieces, at, item, root)
        body += text
    if not dots:
        _, end = _run(pieces, at, _Anything(), root)
    if end < len(pieces) and pieces[end].startswith("else"):
        text, end = _run(pieces, end + 1, dot if not dots else _Anything(), root)
        body = body if dots else text
    if end >= len(pieces):
        raise TemplateError("template: :1: unexpected EOF")
    return body, end + 1


class _Anything(dict[str, Any]):
    """Stands for the data of a branch that is passed over."""

    def __missing__(self, key: str) -> _Anything:
        return self


def _value(text: str, dot: Any, root: Any) -> Any:
    value: Any = None
    for number, part in enumerate(text.split("|")):
        words = _words(part.strip())
        arguments = [_operand(word, dot, root) for word in (words[1:] if _is_call(words) else words)]
        if number:
            arguments.append(value)
        value = _call(words[0], arguments) if _is_call(words) else arguments[0] if arguments else ""
    return value


def _words(text: str) -> list[str]:
    try:
        lexer = shlex.shlex(text, posix=False)
        lexer.whitespace_split = True
        return list(lexer)
    except ValueError as error:
        raise TemplateError("template: :1: unterminated quoted string") from error


def _is_call(words: Sequence[str]) -> bool:
    return bool(words) and words[0][0].isalpha() and words[0] not in ("true", "false", "nil")


def _operand(word: str, dot: Any, root: Any) -> Any:
    if word[0] in "\"'`":
        return word[1:-1]
    if re.fullmatch(r"-?\d+", word):
        return int(word)
    if word in ("true", "false"):
        return word == "true"
    found = root if word.startswith("$") else dot
    for name in word.lstrip("$").strip("()").split(".")[1:]:
        if not name:
            continue
        if isinstance(found, Mapping):
            if name not in found and not isinstance(found, _Anything):
                raise TemplateError(f'template: :1:2: executing "" at <{word}>: map has no entry for key "{name}"')
            found = found[name]
        elif found is not None:
            raise TemplateError(f'template: :1:2: executing "" at <{word}>: can\'t evaluate field {name}')
    return found


def _call(name: str, arguments: list[Any]) -> Any:
    if name not in _FUNCTIONS:
        raise TemplateError(f'template: :1: function "{name}" not defined')
    first = arguments[0] if arguments else ""
    if name == "json":
        return json.dumps(first, separators=(",", ":"), ensure_ascii=False)
    if name in ("println", "print"):
        return " ".join(_shown(each) for each in arguments) + ("\n" if name == "println" else "")
    if name == "index":
        for key in arguments[1:]:
            first = first.get(key, "") if isinstance(first, Mapping) else first[key] if key < len(first or []) else ""
        return first
    if name == "join":
        return str(arguments[1]).join(str(each) for each in first or [])
    if name in ("eq", "ne"):
        return (first in arguments[1:]) == (name == "eq")
    if name == "len":
        return len(first or "")
    if name == "not":
        return not first
    if name == "truncate":
        return str(first)[: int(arguments[1])]
    return str(first).upper() if name == "upper" else str(first).lower()


def _shown(value: Any) -> str:
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "map[" + " ".join(f"{key}:{_shown(each)}" for key, each in sorted(value.items())) + "]"
    if isinstance(value, list | tuple):
        return "[" + " ".join(_shown(each) for each in value) + "]"
    return str(value)
