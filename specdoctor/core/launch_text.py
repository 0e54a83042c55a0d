"""Commands that start something, out of any text that people send: shell, docker, compose, Kubernetes, systemd, Slurm.

Engine-neutral: every command is given with its wrappers taken off as far as they are known (environment, containers,
shells); whether it starts a server, its engine's adapter tells from the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from specdoctor.core.launch_yaml import container_commands
from specdoctor.core.model import Frozen
from specdoctor.core.shell_words import MOST_TEXT, Statement, assignments, statements

Carrier = Literal["shell", "docker", "compose", "kubernetes", "systemd", "slurm"]
Typed = tuple[str, str]
"""A word as it is meant, and as it stands in the text: with quotes, and variables that are not known."""

_KEYWORDS = frozenset({"do", "then", "else", "elif", "if", "while", "until", "{", "!", "time", "$", ">", "(", "&&"})
KEPT = frozenset({"do", "then", "else", "!", "time"})
"""Words of the shell that belong to what stands on the line."""
_REDIRECTION = re.compile(r"(?:\d|&)?(?:>>|>&|&>|>|<)(.*)", re.DOTALL)
_UNIT_KEY = re.compile(r"Exec(?:Start|StartPre)=[-@+!:]*")
_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_NO_VALUE = frozenset(
    {"--rm", "-d", "--detach", "-i", "--interactive", "-t", "--tty", "--privileged", "--init", "--read-only", "-P"}
    | {"--publish-all", "--no-healthcheck", "--oom-kill-disable", "--sig-proxy", "--quiet", "-q", "--replace"}
)
_NO_VALUE_LETTERS = re.compile(r"-[ditPq]{2,}")
_DEEPEST = 3


class Script(Frozen):
    """The text that `sh -c` is given, and the words around it; `start` and `end` bound one command in it.

    `text_typed` is the text with the quotes it was given in; `outer` is the script that this one stands in.
    """

    before: tuple[Typed, ...]
    text: str
    text_typed: str
    start: int
    end: int
    after: tuple[Typed, ...] = ()
    outer: Script | None = None


class Part(Frozen):
    """One key of a container's description (`command`, `args`) with its words; `listed`: each is an item of a list."""

    key: str
    words: tuple[Typed, ...]
    listed: bool


class Command(Frozen):
    """One command of a text. `words` are those of the program itself, wrappers such as `docker run IMAGE` and `sh -c`
    taken off, others (`srun`, `numactl`) left before it; for a container without a command they are the arguments that
    its image's own entry point is given.

    `line` and `last_line` bound it in the file; `comment` is the remark right above it. `typed` is the whole statement,
    the words before its own included; of the program's own words the first `aside` stand elsewhere in it (an entry
    point), `redirected` are its redirections. `exported` are variables set before it; `script` is the one it stands
    in, `parts` are the keys of a container. `start` and `end` bound the statement in the text, but for a container's.
    """

    words: tuple[str, ...]
    line: int
    last_line: int
    env: dict[str, str] = Field(default_factory=dict)
    image: str = ""
    carrier: Carrier = "shell"
    comment: str = ""
    typed: tuple[Typed, ...] = ()
    aside: int = 0
    redirected: tuple[Typed, ...] = ()
    exported: dict[str, str] = Field(default_factory=dict)
    script: Script | None = None
    parts: tuple[Part, ...] = ()
    start: int = 0
    end: int = 0


def commands_in(text: str) -> tuple[Command, ...]:
    """Every command of a text, in order. Quotes, continuations and variables are resolved; nothing is run."""
    text = text[:MOST_TEXT]
    found = container_commands(text) if _looks_like_yaml(text) else []
    if found:
        carrier: Carrier = (
            "kubernetes" if re.search(r"^[ \t]*(?:apiVersion|kind)\s*:", text, re.MULTILINE) else "compose"
        )
        return tuple(
            inner.model_copy(
                update={
                    "carrier": carrier,
                    "image": inner.image or c.image,
                    "env": {**c.env, **inner.env},
                    "parts": tuple(Part(key=key, words=tuple(words), listed=listed) for key, words, listed in c.parts),
                }
            )
            for c in found
            for inner in _unwrapped(
                Statement(list(c.words), c.line, c.last_line, c.comment, list(c.typed)), {}, c.image, 0
            )
        )
    unit = "[Service]" in text
    exported: dict[str, str] = _unit_environment(text) if unit else {}
    plain: Carrier = "systemd" if unit else "slurm" if "#SBATCH" in text else "shell"
    commands: list[Command] = []
    for statement in statements(_without_fences(text), exported):
        env = assignments(statement.words)
        if statement.words[0] == "export":
            exported |= env
        if len(env) == len(statement.words) - (statement.words[0] in ("export", "env")):
            continue
        bounds = {"start": statement.start, "end": statement.end}
        commands += [
            c.model_copy(update={**bounds, "carrier": plain if c.carrier == "shell" else c.carrier})
            for c in _unwrapped(statement, exported, "", 0)
        ]
    return tuple(commands)


def argv_of(text: str) -> tuple[str, ...]:
    """The words of a text's last command; empty where it holds none."""
    found = commands_in(text)
    return found[-1].words if found else ()


def _looks_like_yaml(text: str) -> bool:
    return bool(re.search(r"^[ \t]*(?:- )?image\s*:", text, re.MULTILINE)) and bool(
        re.search(r"^[ \t]*(?:- )?(?:command|args|entrypoint)\s*:", text, re.MULTILINE)
    )


def _without_fences(text: str) -> str:
    fenced = "```" in text or "~~~" in text
    return re.sub(r"^(?:```|~~~).*$", lambda m: " " * len(m[0]), text, flags=re.MULTILINE) if fenced else text


def _unit_environment(text: str) -> dict[str, str]:
    env: dict[str, str] = {}
    for line in re.findall(r"^[ \t]*Environment=(.*)$", text, re.MULTILINE):
        for statement in statements(line):
            env |= assignments(statement.words)
    return env


def _unwrapped(
    statement: Statement, exported: dict[str, str], image: str, depth: int, outer: Script | None = None
) -> Iterator[Command]:
    typed, redirected = _redirections_apart(tuple(zip(statement.words, statement.typed, strict=True)))
    words = [_UNIT_KEY.sub("", word) for word, _ in typed]
    while words and words[0] in _KEYWORDS:
        typed = typed if words[0] in KEPT else typed[1:]
        words = words[1:]
    env = assignments(words)
    words = words[sum(1 for w in words[: len(env) + 1] if w == "env" or "=" in w) :] if env else words
    carrier: Carrier = "shell"
    aside = 0
    inside = _container_run(words)
    if inside is not None:
        image, given, entry, words = inside
        env, carrier, aside, words = {**env, **given}, "docker", len(entry), [*entry, *words]
    at = _script_at(words)
    if at is not None and depth < _DEEPEST:
        for inner in statements(words[at], {**exported, **env}):
            placed = Statement(
                inner.words, statement.line, statement.last_line, statement.comment, inner.typed, inner.start, inner.end
            )
            around = len(typed) - len(words) + at
            script = Script(
                before=typed[:around], text=words[at], text_typed=typed[around][1], start=inner.start, end=inner.end,
                after=typed[around + 1 :] + redirected, outer=outer,
            )  # fmt: skip
            for command in _unwrapped(placed, {**exported, **env}, image, depth + 1, script):
                kept = {"exported": exported} if outer is None else {}
                yield command.model_copy(update=kept if carrier == "shell" else {**kept, "carrier": carrier})
        return
    if words:
        yield Command(
            words=tuple(words),
            line=statement.line,
            last_line=statement.last_line,
            env={**exported, **env},
            image=image,
            carrier=carrier,
            comment=statement.comment,
            typed=typed,
            aside=aside,
            redirected=redirected,
            exported=exported,
            script=outer,
        )


def _redirections_apart(typed: Sequence[Typed]) -> tuple[tuple[Typed, ...], tuple[Typed, ...]]:
    """The words of a statement, and its redirections."""
    kept: list[Typed] = []
    apart: list[Typed] = []
    skip = False
    for word in typed:
        match = None if skip else _REDIRECTION.fullmatch(word[0])
        (kept if match is None and not skip else apart).append(word)
        skip = match is not None and not match[1]
    return tuple(kept), tuple(apart)


def _container_run(words: Sequence[str]) -> tuple[str, dict[str, str], list[str], list[str]] | None:
    """Image, environment, entry point and inner words of `docker run ...`, also behind sudo; None for anothers."""
    start = next((i for i, w in enumerate(words[:4]) if w.rpartition("/")[2] in _CONTAINERS), None)
    if start is None or "run" not in words[start + 1 : start + 3]:
        return None
    index = words.index("run", start) + 1
    env: dict[str, str] = {}
    entry: list[str] = []
    while index < len(words) and words[index].startswith("-"):
        option, equals, value = words[index].partition("=")
        index += 1
        if option in _NO_VALUE or (_NO_VALUE_LETTERS.fullmatch(option) and not equals):
            continue
        if not equals:
            value = words[index] if index < len(words) else ""
            index += 1
        if option in ("-e", "--env") and "=" in value:
            env |= assignments([value])
        if option == "--entrypoint":
            entry = value.split()
    image = words[index] if index < len(words) else ""
    return image, env, entry, list(words[index + 1 :])


def _script_at(words: Sequence[str]) -> int | None:
    """Where the text stands that `sh -c` is given, whatever stands before it."""
    for index, word in enumerate(words[:-1]):
        if word in ("-c", "-lc", "-ec", "-exc", "-xc", "-ic", "-lic") and index and words[index - 1].endswith("sh"):
            return index + 1
    return None
