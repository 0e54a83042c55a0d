"""Values as Python prints them, read without running anything: literals, dicts, calls and enums, cut off or not."""

from __future__ import annotations

import re

from pydantic import JsonValue

from specdoctor.core.redact import MASK, secret_name

_NUMBER = re.compile(r"[-+]?(?:\d{1,18}|\d{0,18}\.\d{0,18}(?:[eE][-+]?\d{1,3})?|\d{1,18}[eE][-+]?\d{1,3})")
_BARE = re.compile(r"[^,()\[\]{}<>'\"=:]+|[=:<>]")
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_CLOSE = {"(": ")", "[": "]", "{": "}", "<": ">"}
_PLAIN = {"'": re.compile(r"[^'\\]+"), '"': re.compile(r'[^"\\]+')}
_WORDS: dict[str, JsonValue] = {"None": None, "True": True, "False": False, "null": None, "true": True, "false": False}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_MAX_DEPTH = 30
_MAX_TEXT = 20_000


class _Parser:
    """A walk over the text; each method begins at `at` and leaves it behind what it read."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at

    def blank(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in " \t\r\n":
            self.at += 1

    def fields(self, close: str, separator: str, depth: int = 0) -> dict[str, JsonValue]:
        """`name=value, ...` or `'name': value, ...` up to `close` (or the end of the text)."""
        found: dict[str, JsonValue] = {}
        while True:
            self.blank()
            if self.at >= len(self.text) or self.text[self.at] == close:
                self.at += 1
                return found
            start = self.at
            name = self.name(separator)
            if name is not None:
                value = self.value(depth + 1)
                found[name] = MASK if secret_name(name) and isinstance(value, str) else value
            else:
                self.value(depth + 1)
            self.blank()
            if (self.at < len(self.text) and self.text[self.at] == ",") or self.at == start:
                self.at += 1

    def name(self, separator: str) -> str | None:
        """A name with its separator behind it; None (and nothing read) where there is none."""
        start = self.at
        if self.text[self.at] in "'\"":
            name: str | None = self.string()
        else:
            match = _NAME.match(self.text, self.at)
            name = match[0] if match else None
            self.at = match.end() if match else self.at
        self.blank()
        if name is not None and self.text[self.at : self.at + 1] == separator:
            self.at += 1
            return name
        self.at = start
        return None

    def string(self) -> str:
        plain = _PLAIN[self.text[self.at]]
        quote = self.text[self.at]
        self.at += 1
        out: list[str] = []
        while self.at < len(self.text):
            run = plain.match(self.text, self.at)
            if run is not None:
                out.append(run[0])
                self.at = run.end()
            char = self.text[self.at : self.at + 1]
            if char == "\\":
                after = self.text[self.at + 1 : self.at + 2]
                out.append(_ESCAPES.get(after, after))
                self.at += 2
                continue
            if char == quote:
                break
        self.at += 1
        return "".join(out)[:_MAX_TEXT]

    def value(self, depth: int) -> JsonValue:
        self.blank()
        if self.at >= len(self.text):
            return ""
        char = self.text[self.at]
        if depth > _MAX_DEPTH:
            return self.skip()
        if char in "'\"":
            return self.string()
        if char == "{":
            self.at += 1
            return self.fields("}", ":", depth)
        if char in "[(":
            self.at += 1
            return self.items(_CLOSE[char], depth)
        if char == "<":
            return self.enum()
        return self.word(depth)

    def items(self, close: str, depth: int) -> JsonValue:
        found: list[JsonValue] = []
        while True:
            self.blank()
            if self.at >= len(self.text) or self.text[self.at] == close:
                self.at += 1
                return found
            start = self.at
            found.append(self.value(depth + 1))
            self.blank()
            if self.text[self.at : self.at + 1] == "," or self.at == start:
                self.at += 1

    def enum(self) -> JsonValue:
        """`<Kind.MEMBER: value>` is its member's name; any other object its text."""
        start = self.at
        inner = self.skip()
        match = re.match(r"<[\w.]*?(\w+): ", self.text[start : start + 200])
        return match[1] if match else inner

    def skip(self) -> str:
        """The text of one bracketed value, unread."""
        start = self.at
        stack: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in "'\"":
                self.string()
                continue
            if char in _CLOSE:
                stack.append(_CLOSE[char])
            elif stack and char == stack[-1]:
                stack.pop()
                if not stack:
                    self.at += 1
                    break
            elif not stack and char in ",)]}":
                break
            self.at += 1
        return self.text[start : min(self.at, start + _MAX_TEXT)]

    def word(self, depth: int) -> JsonValue:
        """A bare word, a number, or a call whose named arguments are its value."""
        start = self.at
        name = _NAME.match(self.text, self.at)
        if name is not None and self.text[name.end() : name.end() + 1] == "(":
            self.at = name.end() + 1
            return self.fields(")", "=", depth)
        while self.at < len(self.text) and self.text[self.at] not in ",()[]{}'\"":
            match = _BARE.match(self.text, self.at)
            if match is None:
                break
            self.at = match.end()
        text = self.text[start : self.at].strip()
        if text in _WORDS:
            return _WORDS[text]
        if text and len(text) < 40 and _NUMBER.fullmatch(text):
            try:
                return int(text) if text.lstrip("+-").isdigit() else float(text)
            except ValueError:
                return text
        return text[:_MAX_TEXT]


def read_dict(text: str, at: int) -> dict[str, JsonValue]:
    """The dict whose opening brace stands at `at`. Secret values come back masked."""
    return _Parser(text, at + 1).fields("}", ":")


def read_fields(text: str, at: int) -> dict[str, JsonValue]:
    """`name=value, name=value` from `at` to the end of the text. Secret values come back masked."""
    return _Parser(text, at).fields("\n", "=")
