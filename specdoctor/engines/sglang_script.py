"""Find launch lines in text files: shell scripts, a pasted command, a container's run line, a unit's ExecStart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from specdoctor.core.launch_text import Command, commands_in
from specdoctor.core.server import Source
from specdoctor.engines.sglang_args import Asked, flags_start, read_flags

_IMAGE_VERSION = re.compile(r"[\w./-]*sglang[\w./-]*:v?(\d+\.\d+\.\d+(?:\.post\d+|rc\d+)?)(?:-[\w.-]+)?")
_MARK = "--speculative-"
# Flags that no other engine has: a driver that passes them on starts SGLang.
_OWN_FLAGS = frozenset(
    {
        "--speculative-algorithm",
        "--speculative-draft-model-path",
        "--speculative-eagle-topk",
        "--speculative-num-draft-tokens",
    }
)


@dataclass(frozen=True)
class LaunchLine:
    """One command that starts a server. `argv` is the server's own line, without wrappers and assignments.

    `direct` is False for a benchmark driver that passes the flags on and starts servers itself. `line` is the number
    of its first line in the file; `image_version` is what a container image tag names; `remark` the comment
    right above.
    """

    argv: tuple[str, ...]
    asked: Asked
    line: int
    last_line: int
    env: dict[str, str] = field(default_factory=dict)
    direct: bool = True
    image_version: str | None = None
    image_quote: str = ""
    remark: str = ""


def _server_start(words: Sequence[str]) -> int | None:
    """Index of the word where the server's own command line begins, whatever wraps it."""
    return next((i for i in range(len(words)) if flags_start(words[i:]) is not None), None)


def _launch_of(command: Command) -> LaunchLine | None:
    """The launch in a command; None for one that starts no SGLang server."""
    words = list(command.words)
    start = _server_start(words)
    direct = start is not None
    if start is None:
        start = next((i for i, word in enumerate(words) if word.startswith("--")), len(words))
        if not _OWN_FLAGS.intersection(word.partition("=")[0] for word in words[start:]):
            return None
    asked = read_flags(words[start + (flags_start(words[start:]) or 0) :])
    image = _IMAGE_VERSION.fullmatch(command.image)
    return LaunchLine(
        argv=tuple(words[start:]) if direct else (),
        asked=asked if direct else _driver_asked(asked),
        line=command.line,
        last_line=command.last_line,
        env=command.env,
        direct=direct,
        image_version=image[1] if image else None,
        image_quote=image[0] if image else "",
        remark=command.comment,
    )


def _driver_asked(asked: Asked) -> Asked:
    """A benchmark driver's own list of configurations (batch,steps,topk,draft tokens), where all entries agree."""
    entries = [entry.split(",") for entry in asked.values.get("config_list", "").split()]
    if not entries or any(len(entry) != 4 or not all(part.isdigit() for part in entry) for entry in entries):
        return asked
    triples = {tuple(entry[1:]) for entry in entries}
    if len(triples) != 1 or triples == {("0", "0", "0")}:
        return asked
    steps, topk, tokens = triples.pop()
    words = asked.words["config_list"]
    added = {
        "speculative_num_steps": steps,
        "speculative_eagle_topk": topk,
        "speculative_num_draft_tokens": tokens,
    }
    return Asked(
        values={**asked.values, **added},
        words={**asked.words, **dict.fromkeys(added, words)},
        unknown=asked.unknown,
    )


def launch_lines(text: str) -> tuple[LaunchLine, ...]:
    """Every command in `text` that starts an SGLang server, in order. Comments are no commands."""
    if "sglang" not in text and _MARK not in text:
        return ()
    found = (_launch_of(command) for command in commands_in(text))
    return tuple(launch for launch in found if launch is not None)


def source_of(launch: LaunchLine, key: str, text: str, *, where: str) -> Source:
    """Where in the file an argument was asked for: the line that holds its flag, quoted as typed."""
    words = launch.asked.words.get(key, ())
    lines = text.split("\n")
    for number in range(launch.line, min(launch.last_line, len(lines)) + 1):
        line = lines[number - 1]
        at = line.find(words[0]) if words else -1
        if at >= 0:
            value = r"['\"]?[=\s]+['\"]?".join(re.escape(word) for word in words)
            match = re.compile(value).search(line, at)
            return Source(where=where, line=number, key=key, quote=match[0] if match else words[0])
    return Source(where=where, line=launch.line, key=key)
