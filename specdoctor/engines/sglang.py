"""SGLang: the engine port, over what the modules beside it know of versions, flags, rules and log lines."""

from __future__ import annotations

from specdoctor.core.engine import Engine
from specdoctor.core.facts import Facts
from specdoctor.core.launch import LaunchChange, ReadyRules
from specdoctor.core.server import Failure, LogReading, ServerView, SpecSetting
from specdoctor.engines import sglang_change, sglang_failure, sglang_files, sglang_live, sglang_log, sglang_ready
from specdoctor.engines.sglang_view import NAME


class SGLang:
    """The SGLang adapter, versions 0.4.3 to 0.5.23; newer ones are read by the rules of the newest known."""

    @property
    def name(self) -> str:
        return NAME

    def servers(self, facts: Facts) -> tuple[ServerView, ...]:
        return sglang_live.servers_in(facts)

    def read_log(self, text: str, *, where: str, argv: tuple[str, ...] = ()) -> LogReading:
        return sglang_log.read_log(text, where=where, argv=argv)

    def view_from_files(self, texts: dict[str, str]) -> ServerView | None:
        return sglang_files.view_from_files(texts)

    def ready_rules(self, version: str | None) -> ReadyRules:
        return sglang_ready.ready_rules(version)

    def change_spec(self, view: ServerView, setting: SpecSetting, *, label: str) -> LaunchChange:
        return sglang_change.change_spec(view, setting, label=label)

    def change_flags(
        self, *, label: str, set_flags: dict[str, tuple[str, ...]], remove_flags: tuple[str, ...] = ()
    ) -> LaunchChange:
        return sglang_change.change_flags(label=label, set_flags=set_flags, remove_flags=remove_flags)

    def effective_spec(self, view: ServerView, change: LaunchChange) -> SpecSetting | None:
        return sglang_change.effective_spec(view, change)

    def paste_line(self, view: ServerView, change: LaunchChange) -> str:
        return sglang_change.paste_line(view, change)

    def explain_failure(self, log: str) -> Failure | None:
        return sglang_failure.explain_failure(log)


engine: Engine = SGLang()
