"""Commands in text files: lines joined, words split as a shell would, wrappers and their environment told apart."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_SEPARATORS = frozenset({";", "&&", "||", "|", "&"})
_REDIRECTION = re.compile(r"(?:\d|&)?(?:>>|>|<|>&)(.*)")
_MAX_TEXT = 200_000
_UNIT_KEY = re.compile(r"Exec(?:Start|StartPre)=[-@+!]*")
_PROMPTS = ("$", "#", ">", "%")
_MAX_LINE = 20_000


@dataclass(frozen=True)
class ShellCommand:
    """One command of a file. `words` is the program's own line, `wrapper` what stands before it (docker run, nohup).

    `line` and `last_line` are the numbers of its first and last line in the file.
    """

    words: tuple[str, ...]
    line: int
    last_line: int
    env: dict[str, str] = field(default_factory=dict)
    wrapper: tuple[str, ...] = ()


def logical_lines(text: str) -> Iterator[tuple[int, int, str]]:
    """Lines with `\\` continuations joined: first number, last number, text."""
    parts: list[str] = []
    first = 1
    lines = text[:_MAX_TEXT].split("\n")
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip("\r").rstrip()
        if not parts:
            first = number
        if line.endswith("\\") and number < len(lines):
            parts.append(line[:-1])
            continue
        parts.append(line)
        yield first, number, " ".join(parts)
        parts = []


def split_words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    try:
        return list(lexer)
    except ValueError:
        return line.split()


def commands(words: Sequence[str]) -> Iterator[list[str]]:
    current: list[str] = []
    for word in words:
        if word in _SEPARATORS:
            if current:
                yield current
            current = []
        else:
            current.append(word)
    if current:
        yield current


def without_redirections(words: Sequence[str]) -> list[str]:
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
            continue
        match = _REDIRECTION.fullmatch(word)
        if match is None:
            kept.append(word)
        else:
            skip = not match[1]
    return kept


def expand(word: str, variables: dict[str, str]) -> str:
    return _VARIABLE.sub(lambda m: variables.get(m[1] or m[2], m[0]), word)


def container_env(words: Sequence[str]) -> dict[str, str]:
    env: dict[str, str] = {}
    for index, word in enumerate(words):
        given = word.removeprefix("--env=") if word.startswith("--env=") else None
        if word in ("-e", "--env") and index + 1 < len(words):
            given = words[index + 1]
        match = ASSIGNMENT.fullmatch(given) if given else None
        if match is not None:
            env[match[1]] = match[2]
    return env


def shell_c(words: Sequence[str]) -> list[str] | None:
    for index, word in enumerate(words[:-1]):
        if word in ("-c", "-lc", "-ec") and index > 0 and words[index - 1].endswith("sh"):
            return split_words(words[index + 1])
    return None


def commands_in(text: str, starts: Callable[[Sequence[str]], bool]) -> tuple[ShellCommand, ...]:
    """Every command in `text` whose program `starts` knows, in order, whatever wraps it. Comments are no commands."""
    found: list[ShellCommand] = []
    variables: dict[str, str] = {}
    exported: dict[str, str] = {}
    for first, last, line in logical_lines(text):
        if len(line) > _MAX_LINE or not line.strip() or line.lstrip().startswith("#"):
            continue
        for command in commands(split_words(line)):
            known = _known_command(command, starts, variables, first, last)
            if known is not None:
                found.append(replace(known, env={**exported, **known.env}))
                continue
            for word in command:
                match = ASSIGNMENT.fullmatch(word)
                if match is not None:
                    variables[match[1]] = expand(match[2], variables)
                    if command[0] == "export":
                        exported[match[1]] = variables[match[1]]
    return tuple(found)


def _known_command(
    command: Sequence[str], starts: Callable[[Sequence[str]], bool], variables: dict[str, str], first: int, last: int
) -> ShellCommand | None:
    given = [expand(_UNIT_KEY.sub("", word), variables) for word in without_redirections(command)]
    if given and given[0] in _PROMPTS:
        given = given[1:]
    nested = shell_c(given)
    for inner in commands(nested or ()):
        found = _known_command(inner, starts, variables, first, last)
        if found is not None:
            return replace(found, env={**container_env(given), **found.env}, wrapper=(*given, *found.wrapper))
    start = next((i for i in range(len(given)) if starts(given[i:])), None)
    if start is None:
        return None
    env: dict[str, str] = {}
    for word in given[:start]:
        match = ASSIGNMENT.fullmatch(word)
        if match is None and word not in ("env", "export"):
            break
        if match is not None:
            env[match[1]] = match[2]
    wrapper = tuple(given[:start])
    return ShellCommand(
        words=tuple(given[start:]), line=first, last_line=last, env={**container_env(wrapper), **env}, wrapper=wrapper
    )
