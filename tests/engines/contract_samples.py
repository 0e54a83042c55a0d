"""One healthy server of each engine, as files, for the tests that all adapters share.

An engine that cannot be restarted here (files only) says so: its changes are refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from specdoctor.core.server import SpecSetting
from tests.engines.llamacpp_data import texts_of
from tests.engines.sglang_data import excerpt
from tests.engines.vllm_data import excerpt as vllm_excerpt


@dataclass(frozen=True)
class Sample:
    """`other` is a setting to change to; `flag` one with a value that no speculation needs."""

    texts: dict[str, str]
    spec: SpecSetting
    other: SpecSetting
    flag: str
    restarts: bool = True


SAMPLES: dict[str, Sample] = {
    "sglang": Sample(
        texts={"server.log": excerpt("adjusted.log.txt"), "launch.sh": excerpt("adjusted.launch.txt")},
        spec=SpecSetting(algorithm="EAGLE3", draft_steps=1, topk=1, draft_tokens=2),
        other=SpecSetting(algorithm="EAGLE3", draft_steps=4, topk=1, draft_tokens=5),
        flag="--log-level",
    ),
    "llamacpp": Sample(
        texts={name: text for name, text in texts_of("eagle3").items() if name in ("server.log", "launch.txt")},
        spec=SpecSetting(algorithm="draft-eagle3", draft_steps=3, topk=1, draft_tokens=4),
        other=SpecSetting(algorithm="draft-eagle3", draft_steps=5, topk=1, draft_tokens=6),
        flag="--cache-type-k",
    ),
    "trtllm": Sample(
        texts={
            "server.log": "[TensorRT-LLM] TensorRT-LLM version: 1.2.0\n[TRT-LLM] [I] Loading /m, 4 shards\n"
            "INFO:     Application startup complete.\n",
            "launch.sh": "trtllm-serve /m --config /c/options.yaml --port 8000\n",
            "options.yaml": "speculative_config:\n  decoding_type: Eagle3\n  max_draft_len: 3\n",
        },
        spec=SpecSetting(algorithm="Eagle3", draft_steps=3, topk=1, draft_tokens=4),
        other=SpecSetting(algorithm="Eagle3", draft_steps=5, topk=1, draft_tokens=6),
        flag="--log_level",
        restarts=False,
    ),
    "vllm": Sample(
        texts={"server.log": vllm_excerpt("eagle3.log.txt"), "launch.sh": vllm_excerpt("eagle3.launch.txt")},
        spec=SpecSetting(algorithm="EAGLE3", draft_steps=3, topk=1, draft_tokens=4),
        other=SpecSetting(algorithm="EAGLE3", draft_steps=5, topk=1, draft_tokens=6),
        flag="--uvicorn-log-level",
    ),
}
