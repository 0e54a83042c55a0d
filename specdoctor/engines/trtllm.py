"""TensorRT-LLM: read from files and hosts. Its speculation is set in a file, so it is never restarted from here."""

from __future__ import annotations

from typing import NoReturn

from specdoctor.core.engine import Engine
from specdoctor.core.errors import EngineError
from specdoctor.core.facts import Facts
from specdoctor.core.launch import LaunchChange, ReadyRules, apply_change
from specdoctor.core.redact import redact_argv
from specdoctor.core.server import Failure, LogReading, ServerView, SpecSetting
from specdoctor.engines import trtllm_log, trtllm_view
from specdoctor.engines.shell_line import shell_line
from specdoctor.engines.trtllm_args import program_end
from specdoctor.engines.trtllm_view import NAME


def _refuse(what: str) -> NoReturn:
    raise EngineError(
        f"TensorRT-LLM is read here and not restarted: {what} stands in its options file",
        tried="a change of the launch line, which cannot reach that file",
        next_step="change speculative_config in the file that --config (or --extra_llm_api_options) names, restart it "
        "by hand, then look again",
    )


class TensorRtLlm:
    """The TensorRT-LLM adapter, releases 1.0 to the 1.4 candidates: triage and configuration only."""

    @property
    def name(self) -> str:
        return NAME

    def servers(self, facts: Facts) -> tuple[ServerView, ...]:
        return trtllm_view.servers_in(facts)

    def read_log(self, text: str, *, where: str, argv: tuple[str, ...] = ()) -> LogReading:
        return trtllm_log.read_log(text, where=where)

    def view_from_files(self, texts: dict[str, str]) -> ServerView | None:
        return trtllm_view.view_from_files(texts)

    def ready_rules(self, version: str | None) -> ReadyRules:
        return ReadyRules(
            ready=trtllm_log.READY,
            failures=(r"RuntimeError: Executor worker", r"Extra inputs are not permitted", r"address already in use"),
            phases=((r"Loading .*shards|Loading draft weights", "loading weights"), (r"CUDA graph", "graphs")),
        )

    def change_spec(self, view: ServerView, setting: SpecSetting, *, label: str) -> LaunchChange:
        """Always refused, with the way to do it by hand."""
        _refuse("speculation")

    def change_flags(
        self, *, label: str, set_flags: dict[str, tuple[str, ...]], remove_flags: tuple[str, ...] = ()
    ) -> LaunchChange:
        """Always refused, with the way to do it by hand."""
        _refuse("what decides")

    def effective_spec(self, view: ServerView, change: LaunchChange) -> SpecSetting | None:
        return view.spec if change.is_original else None

    def paste_line(self, view: ServerView, change: LaunchChange) -> str:
        argv = redact_argv(apply_change(view.argv or ("trtllm-serve", view.model_path or "MODEL"), change))
        return shell_line(argv, change, flags_from=program_end(argv) or 1, prefix="TRTLLM")

    def explain_failure(self, log: str) -> Failure | None:
        return trtllm_log.read_log(log, where="log").failure


engine: Engine = TensorRtLlm()
