"""vLLM: the engine port, over what the modules beside it know of versions, flags, rules and log lines."""

from __future__ import annotations

from specdoctor.core.engine import Engine
from specdoctor.core.facts import Facts
from specdoctor.core.launch import LaunchChange, ReadyRules
from specdoctor.core.server import Failure, LogReading, ServerView, SpecSetting
from specdoctor.engines import vllm_change, vllm_files, vllm_live, vllm_log, vllm_ready
from specdoctor.engines.vllm_view import NAME


class VLLM:
    """The vLLM adapter, versions 0.8.5 to 0.33 and logs of the older V0 engine."""

    @property
    def name(self) -> str:
        return NAME

    def servers(self, facts: Facts) -> tuple[ServerView, ...]:
        return vllm_live.servers_in(facts)

    def read_log(self, text: str, *, where: str, argv: tuple[str, ...] = ()) -> LogReading:
        return vllm_log.read_log(text, where=where, argv=argv)

    def view_from_files(self, texts: dict[str, str]) -> ServerView | None:
        return vllm_files.view_from_files(texts)

    def ready_rules(self, version: str | None) -> ReadyRules:
        del version  # the lines are those of every version read
        return vllm_ready.ready_rules()

    def change_spec(self, view: ServerView, setting: SpecSetting, *, label: str) -> LaunchChange:
        return vllm_change.change_spec(view, setting, label=label)

    def change_flags(
        self, *, label: str, set_flags: dict[str, tuple[str, ...]], remove_flags: tuple[str, ...] = ()
    ) -> LaunchChange:
        return vllm_change.change_flags(label=label, set_flags=set_flags, remove_flags=remove_flags)

    def effective_spec(self, view: ServerView, change: LaunchChange) -> SpecSetting | None:
        return vllm_change.effective_spec(view, change)

    def paste_line(self, view: ServerView, change: LaunchChange) -> str:
        return vllm_change.paste_line(view, change)

    def explain_failure(self, log: str) -> Failure | None:
        return vllm_log.read_log(log, where="log").failure


engine: Engine = VLLM()
