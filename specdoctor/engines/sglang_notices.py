"""Log lines that matter to a rule or calm a reader: each with a kind, and whether it is benign."""

from __future__ import annotations

import re
from dataclasses import dataclass

from specdoctor.engines.sglang_rules import RULES


@dataclass(frozen=True)
class NoticeRow:
    """A line to note. `literal` is a fast test; `kind` is a rule's id where the line announces a rule's effect."""

    kind: str
    literal: str
    pattern: re.Pattern[str]
    benign: bool = False


def _literal_of(pattern: re.Pattern[str]) -> str:
    """The longest run of plain characters in a pattern, as a fast test."""
    plain = re.sub(r"\\([.+()])", r"\1", pattern.pattern)
    runs = re.split(r"\\.\+?|\(\?:[^)]*\)|\.\*|\[[^\]]*\][+*]?", plain)
    return max(runs, key=len)


def _plain(kind: str, text: str, *, benign: bool = False) -> NoticeRow:
    return NoticeRow(kind, text, re.compile(re.escape(text)), benign)


# Two rules may share a line; the one that does not bind lends its name, since the line alone proves no more.
_OF_RULES = tuple(
    NoticeRow(rule.id, _literal_of(rule.log), rule.log, not rule.binds)
    for rule in sorted(RULES, key=lambda rule: rule.binds)
    if rule.log is not None
)
_OTHERS = (
    NoticeRow(
        "limits", "max_total_num_tokens=", re.compile(r"max_total_num_tokens=\d+, .*max_running_requests=\d+"), True
    ),
    NoticeRow("graphs-timed", "Engine startup timings", re.compile(r"Engine startup timings \(s\): "), True),
    _plain("kv-pressure", "KV cache pool is full. Retract requests."),
    _plain("kv-pressure", "Retract requests."),
    _plain("decode-memory", "Decode out of memory"),
    _plain("moe-untuned", "Using default MoE kernel config."),
    NoticeRow(
        "allreduce-off", "is disabled because", re.compile(r"[Cc]ustom ?[Aa]ll-?[Rr]educe\w* is disabled because")
    ),
    NoticeRow("allreduce-off", "unsupported world size", re.compile(r"disabled due to an unsupported world size")),
    _plain("draft-context", "is greater than the derived context_length"),
    _plain("draft-context", "Overriding the draft model's max_position_embeddings"),
    _plain("aux-layers", "capturing residual stream at entry of target layers"),
    _plain("draft-layers-differ", "differs from runtime target num_hidden_layers"),
    _plain("tensor-skipped", "skipping unexpected weight"),
    _plain("spec-v2-env", "SGLANG_ENABLE_SPEC_V2 has been removed"),
    _plain("overlap-sync", "Non-overlap (synchronous) spec v2 is used"),
    _plain("overlap-on", "Beta spec is enabled for ", benign=True),
    _plain("overlap-on", "Spec v2 is enabled ", benign=True),
    _plain("overlap-on", "Overlap spec v2 is enabled by default", benign=True),
    _plain("health-failed", "Health check failed. Server couldn't get a response"),
    _plain("prefill-graph-off", "disabling prefill CUDA graph"),
    _plain("prefill-graph-off", "Disable prefill CUDA graph because ", benign=True),
    _plain("not-flushed", "Cache not flushed because there are pending requests"),
    _plain("numa-cpu-only", "NUMA memory policy not permitted"),
    _plain("draft-path-not-needed", "DeepSeek MTP does not require setting speculative_draft_model_path", benign=True),
    _plain("recommend-serve", "is still supported, but 'sglang serve'", benign=True),
    _plain("file-limit", "Fail to set RLIMIT_NOFILE", benign=True),
    _plain("multimodal", "Multimodal feature transport auto-resolved", benign=True),
    _plain("optional-import", "Ignore import error when loading", benign=True),
    _plain("draft-moe-default", "SPECULATIVE_MOE_RUNNER_BACKEND is not initialized", benign=True),
    _plain("deprecated-endpoint", "is deprecated and will be removed in a future version", benign=True),
    _plain("profiler", "Profiling done", benign=True),
)
NOTICES: tuple[NoticeRow, ...] = _OF_RULES + _OTHERS
MAX_PER_KIND = 20


def find_notice(message: str) -> NoticeRow | None:
    """The row that knows this line, None for all others."""
    return next((row for row in NOTICES if row.literal in message and row.pattern.search(message)), None)
