"""Every version from 0.5.2 to 0.5.23, under many command lines, either refuses, dies with words, or serves."""

from __future__ import annotations

import json
import random

import pytest

from specdoctor.lab.engine_core import Exit, Resolved, resolve, startup_script
from tests.lab.engine_bench import NOW_S, PLAIN, SPECULATION, bench_world, closed_loop, started

VERSIONS = [f"0.5.{patch}" for patch in (2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)]
PIECES = [
    *(["--speculative-algorithm", name] for name in ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM", "DFLASH")),
    *(["--speculative-draft-model-path", path] for path in ("/models/eagle3", "/models/target", "/models/none")),
    *(["--speculative-num-steps", steps] for steps in ("1", "3", "7")),
    *(["--speculative-eagle-topk", topk] for topk in ("1", "4")),
    *(["--speculative-num-draft-tokens", tokens] for tokens in ("2", "4", "16")),
    *(["--attention-backend", name] for name in ("triton", "flashinfer", "fa3")),
    ["--tp", "2"],
    ["--mem-fraction-static", "0.2"],
    ["--disable-cuda-graph"],
    ["--page-size", "64"],
    ["--enable-dp-attention", "--dp-size", "2"],
    ["--disable-overlap-schedule"],
    ["--max-running-requests", "4"],
    ["--cuda-graph-max-bs", "8"],
    ["--log-level", "warning"],
    ["--context-length", "2048"],
    ["--quantization", "fp8"],
    ["--enable-metrics"],
]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_serves(version: str) -> None:
    world = bench_world(version)
    run = closed_loop(started(world, [*PLAIN, *SPECULATION]), world, clients=2, requests=6, tokens=60)
    assert len(run.finished) == 6
    assert any("Decode batch" in line and "accept len: " in line for line in run.lines)
    body = json.loads(json.dumps(run.core.server_info(NOW_S)))
    assert body["version"] == version
    assert body["speculative_num_draft_tokens"] == 4
    assert body["internal_states"][0]["avg_spec_accept_length"] > 2.0


@pytest.mark.parametrize("seed", range(4))
def test_any_command_line_has_an_outcome(seed: int) -> None:
    rng = random.Random(seed)
    served = 0
    for _ in range(60):
        world = bench_world(rng.choice(VERSIONS), gpus={"count": 2})
        words = [word for piece in rng.sample(PIECES, rng.randrange(8)) for word in piece]
        outcome = resolve([*PLAIN, *words], {}, world, now_s=NOW_S)
        if not isinstance(outcome, Resolved):
            assert outcome.exit_code in {1, 2}
            assert outcome.lines
            continue
        end = list(startup_script(outcome, world, random.Random(1), now_s=NOW_S))[-1]
        if isinstance(end, Exit):
            assert end.exit_code != 0
            continue
        assert len(closed_loop(outcome, world, clients=3, requests=5, tokens=20).finished) == 5
        served += 1
    assert served > 10
