"""Commands of containers that a YAML file describes: compose services, pods and whatever holds pods."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from specdoctor.core.shell_words import expanded, statements

_MOST_NODES = 20_000
_DEEPEST = 40


@dataclass
class ContainerCommand:
    """What one container runs; lines are those of its command or arguments.

    `parts` are its keys in order, each with its words as they are meant and as they stand there, and whether they are
    items of a list.
    """

    words: list[str]
    line: int
    last_line: int
    image: str = ""
    env: dict[str, str] = field(default_factory=dict)
    comment: str = ""
    parts: list[tuple[str, list[tuple[str, str]], bool]] = field(default_factory=list)

    @property
    def typed(self) -> list[str]:
        return [typed for _, words, _ in self.parts for _, typed in words]


def container_commands(text: str) -> list[ContainerCommand]:
    """Every container with a command or arguments; empty for what is no YAML."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    found: list[ContainerCommand] = []
    reader = YAML(typ="rt")
    reader.allow_duplicate_keys = True
    try:
        for document in reader.load_all(text):
            found += [c for node in _mappings(document) if (c := _container(node, text)) is not None]
    except (YAMLError, ValueError, RecursionError, NotImplementedError, AttributeError, TypeError):
        return found
    return found


def _mappings(root: Any) -> Iterator[Any]:
    """Every mapping below `root`, each once even where aliases name it often."""
    seen: set[int] = set()
    todo = [(root, 0)]
    while todo and len(seen) < _MOST_NODES:
        node, depth = todo.pop(0)
        if id(node) in seen or depth > _DEEPEST:
            continue
        if isinstance(node, dict):
            seen.add(id(node))
            yield node
            todo += [(member, depth + 1) for member in node.values()]
        elif isinstance(node, list):
            seen.add(id(node))
            todo += [(member, depth + 1) for member in node]


def _container(node: Any, text: str) -> ContainerCommand | None:
    """The container that a mapping describes; its name says what it is for."""
    image = node.get("image")
    if image is None or not any(key in node for key in ("command", "args", "entrypoint")):
        return None
    if isinstance(image, dict):
        image = f"{image.get('repository', '')}:{image.get('tag', '')}"
    parts: list[tuple[str, list[tuple[str, str]], bool]] = []
    lines: list[int] = []
    env = _environment(node.get("environment", node.get("env")))
    for key in ("entrypoint", "command", "args"):
        if node.get(key) is not None:
            parts.append((key, _words(node[key], env), isinstance(node[key], list)))
            lines.append(_line(node, key))
    first = min(lines, default=1)
    last = _last_line(node, text, max(lines, default=1))
    name = str(node.get("name") or node.get("container_name") or "")
    words = [word for _, found, _ in parts for word, _ in found]
    if not words:
        return None
    return ContainerCommand(words, first, last, image=str(image), env=env, comment=name, parts=parts)


def _words(value: Any, env: dict[str, str]) -> list[tuple[str, str]]:
    """A list as it is, a text as a shell would split it; `$(NAME)` and `${NAME}` of the container's environment.

    Each word as it is meant, and as it stands there.
    """
    if isinstance(value, list):
        out = [(str(item), str(item)) for item in value if isinstance(item, str | int | float)]
    else:
        out = [pair for s in statements(str(value)) for pair in zip(s.words, s.typed, strict=True)]
    return [
        (expanded(word.replace("$(", "${").replace(")", "}") if "$(" in word else word, env), typed)
        for word, typed in out
    ]


def _environment(value: Any) -> dict[str, str]:
    if isinstance(value, dict):
        return {str(k): str(v) for k, v in value.items() if v is not None and not isinstance(v, dict | list)}
    env: dict[str, str] = {}
    for item in value if isinstance(value, list) else []:
        if isinstance(item, dict) and "name" in item and isinstance(item.get("value"), str | int | float):
            env[str(item["name"])] = str(item["value"])
        elif isinstance(item, str) and "=" in item:
            name, _, given = item.partition("=")
            env[name] = given
    return env


def _line(node: Any, key: str) -> int:
    try:
        return int(node.lc.key(key)[0]) + 1
    except (AttributeError, KeyError, TypeError):
        return 1


def _last_line(node: Any, text: str, first: int) -> int:
    """The line before the mapping's next key, or where the indentation ends."""
    lines = text.split("\n")
    if not 1 <= first <= len(lines):
        return first
    indent = len(lines[first - 1]) - len(lines[first - 1].lstrip(" -"))
    number = first
    while number < len(lines):
        line = lines[number]
        inner = len(line) - len(line.lstrip(" "))
        if line.strip() and (inner < indent or (inner == indent and not line.lstrip().startswith("-"))):
            break
        number += 1
    return number
