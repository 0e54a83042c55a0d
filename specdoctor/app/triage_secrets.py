"""Secrets out of what triage says: whatever any of the files shows to be one is masked in all of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from specdoctor.core.launch_text import commands_in
from specdoctor.core.redact import MASK, redact, redact_known, secrets_in_argv
from specdoctor.core.typed_secrets import redact_typed, typed_secrets

LONGEST_TEXT = 1 << 20
"""A longer text is a log, whose commands are not looked for."""


def secrets_of(texts: Mapping[str, str], prose: Iterable[str] = ()) -> frozenset[str]:
    """Values of secret flags in the commands that the files hold, and what a person's prose names as secret."""
    short = (text for text in texts.values() if len(text) <= LONGEST_TEXT)
    return frozenset(
        value
        for text in short
        for command in commands_in(text)
        for value in secrets_in_argv(command.words)
        if not value.startswith("$")
    ).union(*(typed_secrets(text) for text in prose))


def without_secrets(document: Any, known: Iterable[str], *, prose: Collection[str] = ()) -> Any:
    """The same JSON document with every string masked; a quote ends before its first secret, so that it still opens.

    `prose`: the files that a person wrote; what is quoted from them is masked as a typed sentence.
    """
    return _masked(document, frozenset(known), prose, typed=False)


def _masked(document: Any, known: frozenset[str], prose: Collection[str], *, typed: bool) -> Any:
    if isinstance(document, str):
        return redact_typed(redact_known(document, known)) if typed else redact(document, known=known)
    if isinstance(document, list):
        return [_masked(item, known, prose, typed=typed) for item in document]
    if isinstance(document, dict):
        from_prose = typed or _place(document) in prose
        masked = {key: _masked(value, known, prose, typed=from_prose) for key, value in document.items()}
        quote = document.get("quote")
        if isinstance(quote, str) and masked["quote"] != quote:
            masked["quote"] = masked["quote"].partition(MASK)[0].rstrip()
        return masked
    return document


def _place(quoted: Mapping[str, Any]) -> str:
    """The file that an entry quotes, without a line's number; "" for an entry that quotes none."""
    place = quoted.get("source") or quoted.get("where") or ""
    return re.sub(r":\d+$", "", place) if isinstance(place, str) else ""
