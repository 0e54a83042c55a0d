"""The port of an engine adapter: pure functions from facts and text to views, plans and sentences."""

from __future__ import annotations

from typing import Protocol

from specdoctor.core.facts import Facts
from specdoctor.core.launch import LaunchChange, ReadyRules
from specdoctor.core.server import Failure, LogReading, ServerView, SpecSetting


class Engine(Protocol):
    """One inference engine. Does no I/O; every method is a function of its arguments."""

    @property
    def name(self) -> str: ...

    def servers(self, facts: Facts) -> tuple[ServerView, ...]:
        """Every server of this engine that the facts show, running or dead (a log without its process)."""
        ...

    def read_log(self, text: str, *, where: str, argv: tuple[str, ...] = ()) -> LogReading:
        """Read a log of any version; unknown lines cost nothing. `argv`: its launch line, where known."""
        ...

    def view_from_files(self, texts: dict[str, str]) -> ServerView | None:
        """A view from files alone (log, launch line, server-info JSON by file name); None if none is this engine's."""
        ...

    def ready_rules(self, version: str | None) -> ReadyRules: ...

    def change_spec(self, view: ServerView, setting: SpecSetting, *, label: str) -> LaunchChange:
        """The change that makes `setting` effective on this server; `setting.on` False removes speculation.

        Only speculation changes: what the engine itself ties to it is kept equal where a flag allows it.
        """
        ...

    def change_flags(
        self, *, label: str, set_flags: dict[str, tuple[str, ...]], remove_flags: tuple[str, ...] = ()
    ) -> LaunchChange:
        """A change of other flags, with this engine's knowledge of which flags take no value."""
        ...

    def effective_spec(self, view: ServerView, change: LaunchChange) -> SpecSetting | None:
        """What `change` will make effective by this version's rules, None where they do not tell."""
        ...

    def paste_line(self, view: ServerView, change: LaunchChange) -> str:
        """The launch line to paste for `change`, shell-quoted, secrets as `$NAME`."""
        ...

    def explain_failure(self, log: str) -> Failure | None:
        """Why a start failed, from its log."""
        ...
