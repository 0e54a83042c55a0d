"""The engines whose rules are known, by name."""

from __future__ import annotations

from specdoctor.drafter.rules import llamacpp, sglang, trtllm, vllm
from specdoctor.drafter.rules.rule import EngineRules

ENGINES: dict[str, EngineRules] = {
    each.name: each for each in (sglang.engine, vllm.engine, llamacpp.engine, trtllm.engine)
}
