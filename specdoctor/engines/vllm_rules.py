"""What vLLM replaces, fills in or ignores on its own, and the log lines that matter, as data: one row per line.

Sources: the configuration code of released versions 0.8.5 to 0.33.0. A row with `key` is a rewrite of that argument;
the pattern's group `new` is the value in force, `old` the one asked for. `benign` rows are named to calm a reader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from specdoctor.engines.versions import VersionRange
from specdoctor.engines.vllm_args import METHOD, MODEL, SPEC, TOKENS

RewriteKind = Literal["rewritten", "defaulted", "dropped"]


@dataclass(frozen=True)
class Row:
    """One log line. `effect` is the value in force where the line does not name it."""

    kind: str
    literal: str
    pattern: re.Pattern[str]
    key: str = ""
    effect: str | None = None
    cause: str | None = None
    note: str = ""
    benign: bool = False
    drops: bool = False


def _row(
    kind: str,
    literal: str,
    pattern: str = "",
    *,
    key: str = "",
    effect: str | None = None,
    cause: str | None = None,
    note: str = "",
    benign: bool = False,
    drops: bool = False,
) -> Row:
    return Row(kind, literal, re.compile(pattern or re.escape(literal)), key, effect, cause, note, benign, drops)


_ASYNC = "async_scheduling"
_GRAPHS = "compilation_config.cudagraph_mode"

ROWS: tuple[Row, ...] = (
    # The method and the draft model.
    _row(
        "method-renamed",
        "is deprecated and replaced with mtp",
        r"method `(?P<old>\w+)` is deprecated and replaced with"
        r" (?P<new>mtp)",
        key=METHOD,
        note="every architecture's own MTP name is the method mtp",
        benign=True,
    ),
    _row(
        "draft-max-len",
        "Overriding draft model max model len",
        r"Overriding draft model max model len from (?P<old>\d+)"
        r" to (?P<new>\d+)",
        key=f"{SPEC}.max_model_len",
        cause="CFG-1",
        note="the draft's context is cut to the shorter of draft and target; nothing is drafted past its end",
    ),
    _row(
        "draft-positions",
        "Overriding draft model max_position_embeddings",
        r"max_position_embeddings from (?P<old>\d+) to"
        r" the target model's max_model_len \((?P<new>\d+)\)",
        key="draft.max_position_embeddings",
        cause="CFG-1",
        note="an EAGLE head shares the target's positions; past the ones it was trained on it guesses",
    ),
    _row(
        "tokens-defaulted",
        "for suffix decoding.",
        r"Defaulted num_speculative_tokens to (?P<new>\d+) for suffix",
        key=TOKENS,
        note="suffix decoding drafts up to 24 tokens unless told otherwise",
    ),
    _row(
        "draft-tp",
        "setting speculative_draft_tensor_parallel_size=1",
        key=f"{SPEC}.draft_tensor_parallel_size",
        effect="1",
        cause="CFG-1",
        note="this kind of draft runs on one GPU only",
    ),
    _row(
        "mtp-repeats",
        "will run multiple times of forward on same MTP layer",
        note="one MTP layer is run for every further token; later positions are accepted less often",
    ),
    # Scheduling.
    _row(
        "async-off",
        "speculative decoding and will be disabled",
        r"Async scheduling not supported with (?P<why>\S+)-based"
        r" speculative decoding and will be disabled",
        key=_ASYNC,
        effect="False",
        cause="CFG-1",
        note="this method turns asynchronous scheduling off: a baseline without speculation keeps it",
    ),
    _row(
        "async-off",
        "not compatible with disable_padded_drafter_batch",
        key=_ASYNC,
        effect="False",
        cause="CFG-1",
        note="disable_padded_drafter_batch turns asynchronous scheduling off",
    ),
    _row(
        "async-off",
        "Async scheduling is disabled because",
        key=_ASYNC,
        effect="False",
        cause="CFG-1",
        note="the V1 model runner has no asynchronous scheduling with pipeline parallelism",
    ),
    _row(
        "async-state",
        "Asynchronous scheduling is",
        r"Asynchronous scheduling is (?P<new>enabled|disabled)",
        benign=True,
    ),
    _row(
        "tokens-limit",
        "based on the speculative decoding settings",
        r"max_num_scheduled_tokens is set to (?P<new>\d+)"
        r" based on the speculative decoding settings",
        key="max_num_scheduled_tokens",
        note="the budget of one step follows from max_num_batched_tokens",
        benign=True,
    ),
    _row(
        "dynamic-off",
        "falling back to static num_speculative_tokens",
        r"falling back to static num_speculative_tokens="
        r"(?P<new>\d+)",
        key=f"{SPEC}.num_speculative_tokens_per_batch_size",
        drops=True,
        cause="CFG-1",
        note="a draft length by batch size is not possible with data parallelism",
    ),
    # Graphs.
    _row("graphs-off", "Enforce eager set", benign=True),
    _row(
        "graph-mode",
        "is not supported with",
        r"CUDAGraphMode\.(?P<old>\w+) is not supported with .{0,200}setting"
        r" cudagraph_mode=(?:CUDAGraphMode\.)?(?P<new>\w+)",
        key=_GRAPHS,
        cause="CFG-1",
        note="the attention backend cannot capture the batches of verification whole",
    ),
    _row(
        "graph-mode",
        "Overriding cudagraph_mode",
        r"Overriding cudagraph_mode from (?:CUDAGraphMode\.)?(?P<old>\w+)\S* to"
        r" (?:CUDAGraphMode\.)?(?P<new>\w+)",
        key=_GRAPHS,
        cause="CFG-1",
        note="the mode is lowered because the length of verification changes while the server runs",
    ),
    _row(
        "graph-limit",
        "Truncating max_cudagraph_capture_size",
        r"Truncating max_cudagraph_capture_size to (?P<new>\d+)",
        key="compilation_config.max_cudagraph_capture_size",
        cause="CFG-1",
        note="the largest captured size is the largest of the list at or below the one asked for",
    ),
    # The model runner.
    _row(
        "runner-v1",
        "using the V1 model runner instead",
        r"Model Runner V2 (?P<why>.{1,120}?); using the V1 model runner"
        r" instead",
        key="model_runner",
        effect="v1",
        note="features that the second model runner lacks choose the first",
    ),
    _row("runner-v2", "Using V2 Model Runner", benign=True),
    # The drafter as loaded.
    _row(
        "aux-layers",
        "auxiliary layers from",
        r"[Uu]sing (?:Eagle3 )?auxiliary layers from (?:speculative config|config|"
        r"model): \([\d, ]+\)",
        benign=True,
    ),
    _row("drafter-loading", "Loading drafter model...", benign=True),
    _row(
        "draft-shares",
        "without its own lm_head in the checkpoint",
        r"Detected EAGLE model without its own lm_head in the checkpoint",
    ),
    _row("draft-shares", "Sharing target model embedding", r"Detected (?:EAGLE|MTP) model.{0,80}Sharing", benign=True),
    _row("draft-shares", "Sharing target model lm_head", benign=True),
    _row("draft-keeps", "Keeping separate", r"Detected EAGLE model with distinct \w+ weights", benign=True),
    _row("draft-keeps", "differs from draft embedding dim", benign=True),
    _row(
        "text-only-drafting",
        "Proceeding with text-only speculative decoding",
        key="draft.multimodal",
        effect="text only",
        cause="CFG-1",
        note="the draft sees no images: acceptance on prompts with images is low",
    ),
    # Sampling.
    _row("min-p-refused", "won't work with speculative decoding", benign=True),
    _row(
        "generation-config",
        "Default sampling parameters have been overridden",
        r"Default (?:vLLM )?sampling parameters "
        r"have been overridden by the model's .{0,40}",
    ),
    # The machine.
    _row("allreduce-off", "allreduce is disabled because", r"[Cc]ustom allreduce is disabled because.{0,120}"),
    _row("cpu-openmp", "Speculative decoding on CPU without Intel OpenMP"),
    _row("kv-size", "KV cache size:", r"[GC]PU KV cache size: [\d,]+ tokens", benign=True),
    _row("kv-pressure", "is preempted", r"Sequence group \S+ is preempted.{0,80}"),
    _row(
        "moe-untuned", "Using default MoE config", r"Using default MoE config\. Performance might be sub-optimal.{0,20}"
    ),
    _row("prefix-cache-off", "Turning off prefix caching", benign=True),
)

MAX_PER_KIND = 20


def find_row(message: str) -> tuple[Row, re.Match[str]] | None:
    """The row that knows this line, and its match; None for all others."""
    for row in ROWS:
        if row.literal in message:
            match = row.pattern.search(message)
            if match is not None:
                return row, match
    return None


IGNORED_BATCH_LIMIT = VersionRange.of("0.10.2", "0.17.1")
"""`disable_by_batch_size` is checked and then used by nothing in these versions."""
MODEL_KEYS = (METHOD, MODEL, TOKENS)
