"""A server's own configuration file in YAML: TensorRT-LLM's options, `vllm serve --config`, SGLang's `--config`."""

from __future__ import annotations

import re
from typing import NamedTuple

from specdoctor.core.reader import Reading

_KEYS = re.compile(
    r"^[ \t]*(?:speculative_config|decoding_type|max_draft_len|kv_cache_config|cuda_graph_config|"
    r"speculative[-_]algorithm|speculative[-_]config|tensor[-_]parallel[-_]size|max[-_]num[-_]seqs|max[-_]model[-_]len|"
    r"gpu[-_]memory[-_]utilization|mem[-_]fraction[-_]static|max_batch_size|max_num_tokens|model[-_]path|enable_iter_perf_stats)\s*:",
    re.MULTILINE,
)
_FEWEST = 2
_MOST_CHARS = 100_000


class _Reader(NamedTuple):
    name: str = "engine_config"
    summary: str = "a server's options in a YAML file"
    rank: int = 23

    def read(self, text: str, *, where: str) -> Reading | None:
        if len(text) > _MOST_CHARS or text.lstrip()[:1] in ("{", "["):
            return None
        return Reading(kind="engine config") if len(set(_KEYS.findall(text))) >= _FEWEST else None


reader = _Reader()
