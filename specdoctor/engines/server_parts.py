"""What every engine's view of one server is put together from, and the fields that all views fill alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from pydantic import JsonValue

from specdoctor.core.server import Keeper, LogReading, ServerRef, Source, Surroundings
from specdoctor.engines.live_servers import State

UNSEEN = Keeper(kind="unknown", reason="no process was looked at")
GONE = Keeper(kind="unknown", reason="its process is gone, so nothing shows who kept it")


class CommonFields(TypedDict):
    """Fields of a view that are as the parts have them."""

    state: State
    ref: ServerRef | None
    version_range: str | None
    argv: tuple[str, ...]
    env: dict[str, str]
    started_at: float | None
    keeper: Keeper
    surroundings: Surroundings
    target_config: dict[str, JsonValue] | None
    log_path: str | None
    needs_api_key: bool


@dataclass(frozen=True, kw_only=True)
class ServerParts:
    """What was read of one server, whatever its engine. An engine's own parts come on top of these."""

    state: State
    asked_source: Source | None = None
    cite_asked: Callable[[str], Source | None] = field(default=lambda _key: None)
    log: LogReading | None = None
    log_path: str | None = None
    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    ref: ServerRef | None = None
    started_at: float | None = None
    keeper: Keeper | None = None
    surroundings: Surroundings = field(default_factory=Surroundings)
    needs_api_key: bool = False
    target_config: dict[str, JsonValue] | None = None
    draft_config: dict[str, JsonValue] | None = None

    def asked_lines(self, keys: Iterable[str]) -> dict[str, int]:
        """The line on which each argument was asked for, where what was read has lines."""
        cited = {key: self.cite_asked(key) for key in keys}
        return {key: source.line for key, source in cited.items() if source is not None and source.line is not None}

    def common(self) -> CommonFields:
        """The fields of the view that need no engine to be told."""
        return CommonFields(
            state=self.state,
            ref=self.ref,
            version_range=self.log.version_range if self.log is not None else None,
            argv=self.argv,
            env=dict(self.env),
            started_at=self.started_at,
            keeper=self.keeper or UNSEEN,
            surroundings=self.surroundings,
            target_config=self.target_config,
            log_path=self.log_path,
            needs_api_key=self.needs_api_key,
        )
