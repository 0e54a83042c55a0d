"""Text from elsewhere, made harmless to show and to pass on: no escapes, no invisible or reordering characters."""

from __future__ import annotations

import re
import unicodedata

# CSI sequences; strings (OSC, DCS, SOS, PM, APC) up to their end, if they have one; other two-byte sequences.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_BREAKS = re.compile(r"\r\n|[\r\v\f\x85\u2028\u2029]")
_GONE = frozenset({"Cc", "Cf", "Cs", "Co"})


def clean(text: str) -> str:
    """`text` with its line breaks and tabs, without anything that a terminal would act on or show out of order."""
    if text.isascii() and text.isprintable():
        return text
    text = _BREAKS.sub("\n", _ESCAPES.sub("", text))
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in _GONE)


def visible(text: str) -> str:
    """One line as it is, with what a terminal would act on written out: `\\x1b[31m`."""
    if text.isascii() and text.isprintable():
        return text
    shown = (c if c == "\t" or unicodedata.category(c) not in _GONE else _escaped(c) for c in text)
    return "".join(shown).expandtabs()


def _escaped(c: str) -> str:
    return c.encode("unicode_escape", "backslashreplace").decode()


def one_line(text: str) -> str:
    """`text` cleaned, with every run of white space made one space."""
    return " ".join(clean(text).split())
