"""llama.cpp: the engine port, over what the modules beside it know of builds, flags, rules and log lines."""

from __future__ import annotations

from specdoctor.core.engine import Engine
from specdoctor.core.facts import Facts
from specdoctor.core.launch import LaunchChange, ReadyRules
from specdoctor.core.server import Failure, LogReading, ServerView, SpecSetting
from specdoctor.engines import (
    llamacpp_change,
    llamacpp_files,
    llamacpp_live,
    llamacpp_log,
    llamacpp_ready,
)
from specdoctor.engines.llamacpp_view import NAME


class LlamaCpp:
    """The llama.cpp adapter: llama-server from 2025 to build 11434, its Python server, the speculative examples."""

    @property
    def name(self) -> str:
        return NAME

    def servers(self, facts: Facts) -> tuple[ServerView, ...]:
        return llamacpp_live.servers_in(facts)

    def read_log(self, text: str, *, where: str, argv: tuple[str, ...] = ()) -> LogReading:
        return llamacpp_log.read_log(text, where=where)

    def view_from_files(self, texts: dict[str, str]) -> ServerView | None:
        return llamacpp_files.view_from_files(texts)

    def ready_rules(self, version: str | None) -> ReadyRules:
        return llamacpp_ready.ready_rules(version)

    def change_spec(self, view: ServerView, setting: SpecSetting, *, label: str) -> LaunchChange:
        return llamacpp_change.change_spec(view, setting, label=label)

    def change_flags(
        self, *, label: str, set_flags: dict[str, tuple[str, ...]], remove_flags: tuple[str, ...] = ()
    ) -> LaunchChange:
        return llamacpp_change.change_flags(label=label, set_flags=set_flags, remove_flags=remove_flags)

    def effective_spec(self, view: ServerView, change: LaunchChange) -> SpecSetting | None:
        return llamacpp_change.effective_spec(view, change)

    def paste_line(self, view: ServerView, change: LaunchChange) -> str:
        return llamacpp_change.paste_line(view, change)

    def explain_failure(self, log: str) -> Failure | None:
        return llamacpp_log.read_log(log, where="log").failure


engine: Engine = LlamaCpp()
