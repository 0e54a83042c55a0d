"""Files that somebody gives, as every engine's adapter sorts them: which tell of the present."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from pydantic import JsonValue

from specdoctor.core.server import LogReading
from specdoctor.engines.live_servers import State

EARLIER = re.compile(r"before|baseline|\bbase\b|_base|start|old|prev|without|nospec|other")
_LATER = re.compile(r"after|end|final|now")


@dataclass(frozen=True)
class GivenLog:
    """One log with what was read of it."""

    name: str
    text: str
    reading: LogReading


def preference(name: str, earlier: re.Pattern[str] = EARLIER) -> tuple[int, int, str]:
    """Files about the present come before those about the past or about something else; then by name."""
    stem = PurePosixPath(name).stem.lower()
    return (1 if earlier.search(stem) else 0, 0 if _LATER.search(stem) else 1, name)


def is_object(text: str) -> bool:
    """Whether a text is a JSON object and no log in a container's JSON lines."""
    head = text.lstrip()
    return head[:1] == "{" and not head.startswith('{"log":')


def state_by_log(log: LogReading | None, *, serves: bool = False) -> State:
    """The state that a log ends in; running without one. `serves`: other signs say that it answered requests."""
    if log is None:
        return "running"
    if log.shutdown_line is not None or log.failure is not None:
        return "down"
    return "running" if log.ready_line is not None or log.decode or serves else "starting"


@dataclass(frozen=True)
class ModelConfig:
    """A model's configuration among the files that were given."""

    name: str
    values: dict[str, JsonValue]

    @property
    def is_bare(self) -> bool:
        """Whether its name says nothing of whose it is."""
        return PurePosixPath(self.name).name == "config.json"

    @property
    def of_another(self) -> bool:
        """Whether its name says that it belongs to something else."""
        return "other" in PurePosixPath(self.name).stem.lower()

    def holds(self, *keys: str) -> bool:
        """Whether it has any of these keys."""
        return any(key in self.values for key in keys)


def configs_among(
    texts: Mapping[str, str],
    marks: tuple[str, ...],
    *,
    is_draft: Callable[[ModelConfig], bool],
    is_none: Callable[[ModelConfig], bool],
    earlier: re.Pattern[str] = EARLIER,
) -> tuple[dict[str, JsonValue] | None, dict[str, JsonValue] | None]:
    """The target's and the draft's configuration, told apart by name, else by `is_draft`.

    Only JSON objects that hold one of `marks` count, without those that are none (`is_none`).
    """
    target: dict[str, JsonValue] | None = None
    draft: dict[str, JsonValue] | None = None
    for name in sorted(texts, key=lambda n: (preference(n, earlier), len(n))):
        text = texts[name]
        if text.lstrip()[:1] != "{" or not any(mark in text for mark in marks):
            continue
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if not isinstance(parsed, dict) or is_none(config := ModelConfig(name, parsed)):
            continue
        if "target" in name.lower() or not ("draft" in name.lower() or is_draft(config)):
            target = target or parsed
        else:
            draft = draft or parsed
    return target, draft
