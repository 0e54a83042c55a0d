"""Secrets out of events and artefacts, at the moment they are written."""

from __future__ import annotations

import json
import re
import shlex
import types
from collections.abc import Iterable
from enum import Enum
from typing import Literal, TypeVar, Union, get_args, get_origin
from urllib.parse import quote

from pydantic import BaseModel

from specdoctor.core.events import Event
from specdoctor.core.redact import MASK, redact, redact_argv, redact_known, secret_name

ModelT = TypeVar("ModelT", bound=BaseModel)

# A flag and its value as two items of a written list, as an argv looks in JSON or in Python's repr.
_LISTED = re.compile(r"""(["'])(--?[\w-]+)\1(\s*,\s*)(["'])((?:\\.|(?!\4).)*)\4""")


class Redactor:
    """Removes secrets by shape and by value; one is shared by everything that writes, so that a value is learnt once.

    Only free text is touched: words of a closed list (a status, an event's kind) stay, whatever the secrets are.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        self.add(known)

    def add(self, values: Iterable[str]) -> None:
        """Remember secret values, with the spellings they have inside JSON, URLs and shell commands."""
        for value in values:
            if value and value != MASK:
                self._known |= {
                    value,
                    json.dumps(value)[1:-1],
                    json.dumps(value, ensure_ascii=False)[1:-1],
                    quote(value, safe=""),
                    shlex.quote(value),
                }

    def text(self, text: str) -> str:
        """`text` without secrets."""
        return redact(_LISTED.sub(_mask_listed, text), known=self._known)

    def without_known(self, text: str) -> str:
        """`text` without the values that were once recognised, whatever else looks like a secret."""
        return redact_known(text, self._known)

    def content(self, content: bytes) -> bytes:
        """An artefact without secrets; bytes that are no UTF-8 pass unchanged.

        A JSON document, or one on every line, is redacted value by value, so that it can still be read as JSON.
        """
        text = content.decode("utf-8", errors="surrogateescape")
        redacted = self._json(text)
        if redacted is None:
            lines = text.split("\n")
            documents = [self._json(line) if line.strip() else line for line in lines]
            whole = [d for d in documents if d is not None]
            redacted = "\n".join(whole) if len(whole) == len(lines) else self.text(text)
        return redacted.encode("utf-8", errors="surrogateescape")

    def _json(self, text: str) -> str | None:
        """The document without secrets, as it was written if it has none; None for what is no JSON object or list."""
        try:
            value = json.loads(text) if text.lstrip()[:1] in ("{", "[") else None
        except (ValueError, RecursionError):
            return None
        if value is None:
            return None
        clean = self._value(value)
        return text if clean == value else json.dumps(clean, separators=(",", ":"))

    def event(self, event: Event) -> Event:
        """The event without secrets, of the same type and still valid."""
        return self._model(event)

    def _model(self, model: ModelT) -> ModelT:
        update: dict[str, object] = {}
        for name, field in type(model).model_fields.items():
            old = getattr(model, name)
            if not _is_closed(field.annotation):
                new = self._value(old)
                if new is not old:
                    update[name] = new
        return model.model_copy(update=update) if update else model

    def _value(self, value: object, *, hidden: bool = False) -> object:
        """`hidden`: the value stands under the name of a secret, so that all its text goes."""
        if isinstance(value, BaseModel):
            return self._model(value)
        if isinstance(value, Enum):
            return value
        if isinstance(value, str):
            return MASK if hidden and value else self.text(value)
        if isinstance(value, tuple | list):
            words = redact_argv(value) if value and all(isinstance(v, str) for v in value) else value
            return type(value)(self._value(v, hidden=hidden) for v in words)
        if isinstance(value, dict):
            return {
                self.text(k) if isinstance(k, str) else k: self._value(v, hidden=hidden or secret_name(str(k)))
                for k, v in value.items()
            }
        return value


def _mask_listed(match: re.Match[str]) -> str:
    quote_1, flag, comma, quote_2 = match.group(1, 2, 3, 4)
    if not secret_name(flag):
        return match.group(0)
    return f"{quote_1}{flag}{quote_1}{comma}{quote_2}{MASK}{quote_2}"


def _is_closed(annotation: object) -> bool:
    """Whether a field takes only words of a closed list."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return all(a is type(None) or _is_closed(a) for a in get_args(annotation))
    return origin is Literal or (isinstance(annotation, type) and issubclass(annotation, Enum))
