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

_KEYWORDS = frozenset({"do", "then", "else", "elif", "if", "while", "until", "{", "!", "time", "$", ">", "(", "&&"})
_REDIRECTION = re.compile(r"(?:\d|&)?(?:>>|>&|&>|>|<)(.*)", re.DOTALL)
_UNIT_KEY = re.compile(r"Exec(?:Start|StartPre)=[-@+!:]*")
_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_NO_VALUE = frozenset(
    {"--rm", "-d", "--detach", "-i", "--interactive", "-t", "--tty", "--privileged", "--init", "--read-only", "-P"}
    | {"--publish-all", "--no-healthcheck", "--oom-kill-disable", "--sig-proxy", "--quiet", "-q", "--replace"}
)
_NO_VALUE_LETTERS = re.compile(r"-[ditPq]{2,}")
_DEEPEST = 3


class Command(Frozen):
    """One command of a text. `words` are those of the program itself, wrappers such as `docker run IMAGE` and `sh -c`
    taken off, others (`srun`, `numactl`) left before it; for a container without a command they are the arguments that
    its image's own entry point is given.

    `line` and `last_line` bound it in the file; `comment` is the remark right above it.
    """

    words: tuple[str, ...]
    line: int
    last_line: int
    env: dict[str, str] = Field(default_factory=dict)
    image: str = ""
    carrier: Carrier = "shell"
    comment: str = ""


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
                update={"carrier": carrier, "image": inner.image or c.image, "env": {**c.env, **inner.env}}
            )
            for c in found
            for inner in _unwrapped(Statement(list(c.words), c.line, c.last_line, c.comment), {}, c.image, 0)
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
        commands += [
            c if c.carrier != "shell" else c.model_copy(update={"carrier": plain})
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
    return re.sub(r"^(?:```|~~~).*$", "", text, flags=re.MULTILINE) if "```" in text or "~~~" in text else text


def _unit_environment(text: str) -> dict[str, str]:
    env: dict[str, str] = {}
    for line in re.findall(r"^[ \t]*Environment=(.*)$", text, re.MULTILINE):
        for statement in statements(line):
            env |= assignments(statement.words)
    return env


def _unwrapped(statement: Statement, exported: dict[str, str], image: str, depth: int) -> Iterator[Command]:
    words = [_UNIT_KEY.sub("", word) for word in _without_redirections(statement.words)]
    while words and words[0] in _KEYWORDS:
        words = words[1:]
    env = assignments(words)
    words = words[sum(1 for w in words[: len(env) + 1] if w == "env" or "=" in w) :] if env else words
    carrier: Carrier = "shell"
    inside = _container_run(words)
    if inside is not None:
        image, given, words = inside
        env, carrier = {**env, **given}, "docker"
    script = _shell_script(words)
    if script is not None and depth < _DEEPEST:
        for inner in statements(script, {**exported, **env}):
            placed = Statement(inner.words, statement.line, statement.last_line, statement.comment)
            for command in _unwrapped(placed, {**exported, **env}, image, depth + 1):
                yield command if carrier == "shell" else command.model_copy(update={"carrier": carrier})
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
        )


def _without_redirections(words: Sequence[str]) -> list[str]:
    kept: list[str] = []
    skip = False
    for word in words:
        match = None if skip else _REDIRECTION.fullmatch(word)
        if match is None and not skip:
            kept.append(word)
        skip = match is not None and not match[1]
    return kept


def _container_run(words: Sequence[str]) -> tuple[str, dict[str, str], list[str]] | None:
    """Image, environment and inner words of `docker run ...`, also behind sudo; None for another command."""
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
    return image, env, [*entry, *words[index + 1 :]]


def _shell_script(words: Sequence[str]) -> str | None:
    """The text that `sh -c` is given, whatever stands before it."""
    for index, word in enumerate(words[:-1]):
        if word in ("-c", "-lc", "-ec", "-exc", "-xc", "-ic", "-lic") and index and words[index - 1].endswith("sh"):
            return words[index + 1]
    return None
