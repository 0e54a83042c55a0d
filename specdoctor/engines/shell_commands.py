"""Commands of one engine in text files: its program found among the words, whatever wraps it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from specdoctor.core import launch_text


@dataclass(frozen=True)
class ShellCommand:
    """One command of a file. `words` is the program's own line, `wrapper` what stands before it (an image, nohup).

    `line` and `last_line` are the numbers of its first and last line in the file, `remark` the comment right above it.
    """

    words: tuple[str, ...]
    line: int
    last_line: int
    env: dict[str, str] = field(default_factory=dict)
    wrapper: tuple[str, ...] = ()
    remark: str = ""


def commands_in(text: str, starts: Callable[[Sequence[str]], bool]) -> tuple[ShellCommand, ...]:
    """Every command in `text` whose program `starts` knows, in order, whatever wraps it. Comments are no commands.

    A container's image stands before its arguments, where it may be the program that `starts` knows.
    """
    found: list[ShellCommand] = []
    for command in launch_text.commands_in(text):
        words = [command.image, *command.words] if command.image else list(command.words)
        start = next((i for i in range(len(words)) if starts(words[i:])), None)
        if start is not None:
            found.append(
                ShellCommand(
                    words=tuple(words[start:]),
                    line=command.line,
                    last_line=command.last_line,
                    env=command.env,
                    wrapper=tuple(words[:start]),
                    remark=command.comment,
                )
            )
    return tuple(found)
