"""Lines that a person pastes to do by hand what specdoctor will not do: the changed launch, and the way back."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specdoctor.core.launch import LaunchChange
from specdoctor.core.redact import MASK
from specdoctor.core.server import Keeper

_NAME = re.compile(r"[^A-Z0-9]+")
LOG = "sglang-by-hand.log"


@dataclass(frozen=True)
class Wanted:
    """A server to be started by hand. `line` is its launch line for a shell, `original` that of the server as it is.

    `argv` are its words as it runs now, secrets masked; `change` makes the wanted ones of them.
    """

    pid: int
    cwd: str
    argv: tuple[str, ...]
    change: LaunchChange
    line: str
    original: str


@dataclass(frozen=True)
class ByHand:
    """What to paste: `start` brings the changed server up, `back` the original. `first` is said before."""

    start: str
    back: str
    first: str = ""


HandLines = Callable[[Keeper, Wanted], ByHand]


def instead(pid: int, cwd: str, line: str) -> str:
    """End one process, wait for its end, and start another in the background in its folder."""
    wait = f"kill {pid}; while kill -0 {pid} 2>/dev/null; do sleep 1; done"
    return f"{wait}; {in_background(cwd, line)}"


def in_background(cwd: str, line: str) -> str:
    """A line in a folder, in the background, with a log beside it."""
    return f"cd {shlex.quote(cwd or '/')} && nohup {_runnable(line)} >> {LOG} 2>&1 &"


def _runnable(line: str) -> str:
    """A line that begins with a variable needs `env` behind `nohup`."""
    return f"env {line}" if re.match(r"[A-Za-z_]\w*=", line) else line


def by_shell(keeper: Keeper, wanted: Wanted) -> ByHand:
    """A process that a shell can end and start again."""
    return ByHand(
        start=instead(wanted.pid, wanted.cwd, wanted.line),
        back=f"kill that server, then: {in_background(wanted.cwd, wanted.original)}",
    )


def variable(name: str) -> str:
    """The shell variable that stands for the masked value of a flag or variable."""
    return _NAME.sub("_", name.upper()).strip("_") or "SECRET"


def named_secrets(words: Sequence[str]) -> list[str]:
    """The variables that stand for the masked parts of a command line, in their order."""
    found, owner = [], ""
    for word in words:
        flag, equals, value = word.partition("=")
        if word.startswith("-"):
            owner = flag
        found += [variable(owner)] * (value if equals and word.startswith("-") else word).count(MASK)
    return found


def shell_text(text: str, secrets: Sequence[str]) -> str:
    """One word for the shell; each masked part of it becomes the next variable."""
    pieces = text.split(MASK)
    names = [*secrets, *["SECRET"] * len(pieces)]
    out = [shlex.quote(pieces[0])] if pieces[0] or len(pieces) == 1 else []
    for name, piece in zip(names, pieces[1:], strict=False):
        out += [f'"${name}"', *([shlex.quote(piece)] if piece else [])]
    return "".join(out)


def as_json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
