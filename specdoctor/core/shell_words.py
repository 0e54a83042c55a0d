"""Shell text as lists of words: continuations, quotes over several lines, comments, variables; nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from specdoctor.core.shell_quoting import retyped

MOST_TEXT = 200_000
LONGEST_QUOTE = 20_000
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)(?:(:?[-=+?])([^{}]*))?\}|([A-Za-z_]\w*))")
_QUOTED = {"'": re.compile(r"'([^']*)'"), '"': re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)}
_BRACKET = re.compile(r"[()]")
MOST_UNCLOSED = 16
_ENDS = frozenset(";&|\n")
_BLANKS = frozenset(" \t\r")
_ESCAPED_IN_QUOTES = frozenset('"\\$`\n')


@dataclass
class Statement:
    """One simple command or assignment: its words, the lines it stands on, the comment right before it.

    `typed` holds each word as a shell would have to be given it: as written, known variables replaced. `start` and
    `end` bound the words in the text.
    """

    words: list[str] = field(default_factory=list)
    line: int = 1
    last_line: int = 1
    comment: str = ""
    typed: list[str] = field(default_factory=list)
    start: int = 0
    end: int = 0


def statements(text: str, variables: Mapping[str, str] | None = None) -> Iterator[Statement]:
    """The commands of a text in order. `variables` are known beforehand; those that the text assigns join them."""
    reader = _Reader(text[:MOST_TEXT], dict(variables or {}))
    while (found := reader.statement()) is not None:
        if found.words:
            yield found


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """`text` with the variables that are known; others stay as they are written, defaults count."""

    def value(match: re.Match[str]) -> str:
        known = variables.get(match[1] or match[4])
        if match[2] and match[2][-1] == "+":
            return match[3] if known else ""
        if known is not None and (known or not match[2]):
            return known
        return match[3] if match[2] and match[2][-1] in "-=" else match[0]

    return _VARIABLE.sub(value, text) if "$" in text else text


class _Reader:
    """Goes through the text once; an apostrophe that opens no quotation is an ordinary letter."""

    def __init__(self, text: str, variables: dict[str, str]) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self.variables = variables
        self._arrays: dict[str, list[str]] = {}
        self._comment = ""
        self._here: list[str] = []
        self._unclosed = 0
        self._replaced = False

    def statement(self) -> Statement | None:
        """The next statement, empty for a bare separator; None at the end."""
        if self._at >= len(self._text):
            return None
        found = Statement(line=self._line)
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in _BLANKS or self._continued():
                self._skip_blank(char)
            elif char == "#":
                self._skip_comment(alone=not found.words)
            elif char in _ENDS:
                self._end(char)
                break
            else:
                if not found.words:
                    found.line, found.start = self._line, self._at
                self._word(found)
                found.end = self._at
        found.last_line = max(found.line, self._line - (self._text[self._at - 1 : self._at] == "\n"))
        return self._taken(found)

    def _taken(self, found: Statement) -> Statement:
        found.words = self._assigned(found.words)
        found.typed = found.typed if found.words else []
        if found.words:
            found.comment, self._comment = self._comment, ""
        elif self._text[max(self._at - 2, 0) : self._at] == "\n\n":
            self._comment = ""
        return found

    def _continued(self) -> bool:
        """Whether a backslash (or ^ or `, elsewhere) joins this line and the next."""
        char = self._text[self._at]
        if char not in "\\^`":
            return False
        rest = self._text[self._at + 1 : self._at + 200]
        stripped = rest.lstrip(" \t\r")
        before = self._text[self._at - 1 : self._at]
        return stripped[:1] == "\n" and (char == "\\" or before in _BLANKS)

    def _skip_blank(self, char: str) -> None:
        if char in _BLANKS:
            self._at += 1
            return
        end = self._text.index("\n", self._at)
        self._at = end + 1
        self._line += 1
        self._skip_comment_lines()

    def _skip_comment_lines(self) -> None:
        """A commented-out line amid a continued command is left out, as people mean it (a shell would end there)."""
        while match := re.compile(r"[ \t]*#[^\n]*\\[ \t\r]*\n").match(self._text, self._at):
            self._at = match.end()
            self._line += 1

    def _skip_comment(self, *, alone: bool) -> None:
        end = self._text.find("\n", self._at)
        end = len(self._text) if end < 0 else end
        if alone:
            shebang = self._text.startswith("#!", self._at)
            self._comment = "" if shebang else self._text[self._at : end].lstrip("# ").strip()
        self._at = end

    def _end(self, char: str) -> None:
        self._at += 1
        if char == "\n":
            self._line += 1
            self._skip_here_documents()

    def _skip_here_documents(self) -> None:
        for mark in self._here:
            end = re.compile(rf"^[ \t]*{re.escape(mark)}[ \t\r]*$", re.MULTILINE).search(self._text, self._at)
            if end is None:
                continue
            self._line += self._text.count("\n", self._at, end.end())
            self._at = end.end()
        self._here = []

    def _word(self, found: Statement) -> None:
        start = self._at
        pieces: list[str] = []
        quoted = self._replaced = False
        text = self._text
        while self._at < len(text):
            char = text[self._at]
            joins = char == "&" and text[self._at - 1 : self._at] == ">"
            if (char in _BLANKS or char in _ENDS or self._continued()) and not joins:
                break
            if char in "'\"" and (inner := self._quotation(char, start)) is not None:
                quoted = True
                pieces.append(inner)
            elif char == "\\" and self._at + 1 < len(text):
                pieces.append(text[self._at + 1])
                self._at += 2
            elif char == "(" and (piece := self._group()) is not None:
                pieces.append(piece)
            elif char == "$" and text[self._at + 1 : self._at + 2] == "(":
                self._at += 1
                pieces.append("$" + (self._group() or ""))
            elif char == "$" and (match := _VARIABLE.match(text, self._at)) is not None:
                pieces.append(self._expanded(match[0]))
                self._at = match.end()
            else:
                pieces.append(char)
                self._at += 1
        self._keep(found, text[start : self._at], "".join(pieces), quoted=quoted)

    def _keep(self, found: Statement, raw: str, word: str, *, quoted: bool) -> None:
        array = re.fullmatch(r"[\"']?\$\{([A-Za-z_]\w*)\[[@*]\]\}[\"']?", raw)
        here = re.fullmatch(r"\d?<<-?['\"]?(\w+)['\"]?", raw)
        if here is not None and array is None:
            self._here.append(here[1])
            return
        words = [word]
        if array is not None and array[1] in self._arrays:
            words = self._arrays[array[1]]
        elif not quoted and raw.startswith("$") and word != raw and word.split() != [word]:
            words = word.split()
        found.words += words
        found.typed += (
            [retyped(raw, word)] if words == [word] and not self._replaced else [retyped("", w) for w in words]
        )

    def _expanded(self, text: str) -> str:
        value = expanded(text, self.variables)
        self._replaced = self._replaced or value != text
        return value

    def _quotation(self, quote: str, start: int) -> str | None:
        """The text of a quotation that opens here; None where the mark is a mere letter (an apostrophe)."""
        text = self._text
        match = _QUOTED[quote].match(text, self._at, self._at + LONGEST_QUOTE)
        if match is None:
            return None
        inner = match[1]
        if self._at > start and text[self._at - 1].isalnum() and "\n" in inner:
            return None
        self._at = match.end()
        self._line += inner.count("\n")
        if quote == "'":
            return inner
        return self._expanded(_without_escapes(inner))

    def _group(self) -> str | None:
        """What stands in brackets, as written; None where they never close."""
        depth = 0
        if self._unclosed > MOST_UNCLOSED:
            return None
        for match in _BRACKET.finditer(self._text, self._at, self._at + LONGEST_QUOTE):
            depth += 1 if match[0] == "(" else -1
            if depth == 0:
                inner = self._text[self._at : match.end()]
                self._line += inner.count("\n")
                self._at = match.end()
                return inner
        self._unclosed += 1
        return None

    def _assigned(self, words: list[str]) -> list[str]:
        """Takes note of assignments; a statement that is nothing else is gone."""
        rest = words[1:] if words[:1] in (["export"], ["local"], ["declare"], ["readonly"]) else words
        found = [re.fullmatch(r"([A-Za-z_]\w*)(\+?)=(.*)", word, re.DOTALL) for word in rest]
        if not rest or not all(found):
            return words
        for match in found:
            if match is None:
                continue
            name, value = match[1], match[3]
            if value.startswith("(") and value.endswith(")") and len(value) <= LONGEST_QUOTE:
                inner = [w for s in statements(value[1:-1].replace("\n", " "), self.variables) for w in s.words]
                self._arrays[name] = [*(self._arrays.get(name, []) if match[2] else []), *inner]
            else:
                self.variables[name] = (self.variables.get(name, "") if match[2] else "") + value
        return words


def _without_escapes(inner: str) -> str:
    out: list[str] = []
    index = 0
    while index < len(inner):
        if inner[index] == "\\" and inner[index + 1 : index + 2] in _ESCAPED_IN_QUOTES and index + 1 < len(inner):
            out.append("" if inner[index + 1] == "\n" else inner[index + 1])
            index += 2
        else:
            out.append(inner[index])
            index += 1
    return "".join(out)


def assignments(words: Sequence[str]) -> dict[str, str]:
    """Leading `NAME=value` words, behind `env` and `export` too."""
    env: dict[str, str] = {}
    for word in words:
        match = re.fullmatch(r"([A-Za-z_]\w*)=(.*)", word, re.DOTALL)
        if match is None and word not in ("env", "export"):
            break
        if match is not None:
            env[match[1]] = match[2]
    return env
