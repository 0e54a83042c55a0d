"""CFG: what was configured is not what was meant, or not what is in force."""

from __future__ import annotations

from specdoctor.knowledge.cause import Cause, Group

group = Group(
    prefix="CFG",
    title="configuration",
    causes=(
        Cause(
            id="CFG-1",
            title="value silently replaced or filled in by the engine",
            seen="the values in force differ from the launch line: a cap on running requests, a method taken from the "
            "model path, overlap or async scheduling off, an acceptance threshold of 0",
            check="compare the launch line with the values in force (endpoint or log)",
            predicts="they differ; for a cap: running requests stand at one number while others queue",
            fix="set the value explicitly and read it back after the start",
            versions="SGLang 0.4.9 to 0.5.3 replace the cap without a word",
            reports=9,
            sources=("SGLang server_args", "vLLM config/speculative.py"),
        ),
        Cause(
            id="CFG-2",
            title="wrong method for the drafter's checkpoint",
            seen="an accept length of exactly 1.00 without an error, or a refusal naming a class that is not supported",
            check="architecture in the drafter's config.json against the method in force",
            predicts="an EAGLE-3 class under another method, or a plain model under a head's method",
            fix="the method of the checkpoint (EAGLE3, eagle3); for plain drafters a path without eagle in it",
            engines=("sglang", "vllm", "llamacpp"),
            reports=4,
            sources=("sglang PR#21272",),
        ),
        Cause(
            id="CFG-3",
            title="steps, topk and draft tokens that do not fit together",
            seen="draft tokens replaced by steps + 1, candidates thrown away, or 'selected index k out of range'",
            check="compute the candidates, topk + (steps - 1) x topk^2, and compare with the draft tokens in force",
            predicts="more draft tokens than candidates + 1, or fewer than the drafted ones",
            fix="a chain of k steps verifies k + 1 tokens (the root counts); give all three values or none",
            engines=("sglang",),
            reports=2,
            sources=("sglang#3883", "slime#1017"),
        ),
        Cause(
            id="CFG-4",
            title="draft length or acceptance threshold off the optimum",
            seen="the accept length still rises while the time per token has passed its minimum; late positions "
            "accept next to nothing",
            check="time per token (not accept length) at 1, 2, 3, 4, 5 and 7 draft tokens",
            predicts="the minimum lies at another length than the one in use",
            fix="the length with the least time per token for this batch; llama.cpp: --spec-draft-p-min 0.75 to 0.9 "
            "for prose",
            reports=5,
            sources=("sglang#1979", "vllm PR#35301", "llama.cpp PR#10455"),
        ),
        Cause(
            id="CFG-5",
            title="graphs off, or captured too small, by a flag",
            seen="--disable-cuda-graph, --enforce-eager, or a ceiling below the batch; cuda graph: False on decode "
            "lines",
            check="look for the flag; throughput at the ceiling and just above it",
            predicts="a drop between the last captured batch and the next",
            fix="take the flag out, or a ceiling of at least the real concurrency",
            engines=("sglang", "vllm", "trtllm"),
            reports=3,
        ),
    ),
)
