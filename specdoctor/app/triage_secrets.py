"""Secrets out of what triage says: whatever any of the files shows to be one is masked in all of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from specdoctor.core.launch_text import commands_in
from specdoctor.core.redact import MASK, redact, secrets_in_argv

LONGEST_TEXT = 1 << 20
"""A longer text is a log, whose commands are not looked for."""


def secrets_of(texts: Mapping[str, str]) -> frozenset[str]:
    """Values of secret flags in the commands that the files hold."""
    short = (text for text in texts.values() if len(text) <= LONGEST_TEXT)
    return frozenset(
        value
        for text in short
        for command in commands_in(text)
        for value in secrets_in_argv(command.words)
        if not value.startswith("$")
    )


def without_secrets(document: Any, known: Iterable[str]) -> Any:
    """The same JSON document with every string masked; a quote ends before its first secret, so that it still opens."""
    values = frozenset(known)
    if isinstance(document, str):
        return redact(document, known=values)
    if isinstance(document, list):
        return [without_secrets(item, values) for item in document]
    if isinstance(document, dict):
        masked = {key: without_secrets(value, values) for key, value in document.items()}
        quote = document.get("quote")
        if isinstance(quote, str) and masked["quote"] != quote:
            masked["quote"] = masked["quote"].partition(MASK)[0].rstrip()
        return masked
    return document
