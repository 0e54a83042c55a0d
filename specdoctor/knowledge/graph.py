"""GRAPH: graphs, kernels, attention back-end, host work."""

from __future__ import annotations

from specdoctor.knowledge.cause import Cause, Group

group = Group(
    prefix="GRAPH",
    title="graphs, kernels and host",
    causes=(
        Cause(
            id="GRAPH-1",
            title="verify batch outside the captured sizes",
            seen="a cliff between two batch sizes; 'Truncating max_cudagraph_capture_size'",
            check="requests x (1 + draft tokens) against the largest captured size; measure at the last captured batch "
            "and at the next",
            predicts="throughput falls from one to the next",
            fix="capture that many (vLLM counts tokens, not requests; SGLang --cuda-graph-max-bs counts requests)",
            engines=("sglang", "vllm", "trtllm"),
            reports=2,
        ),
        Cause(
            id="GRAPH-2",
            title="the drafter or the whole step leaves its graph",
            seen="'Overriding cudagraph_mode ... to PIECEWISE', an eager drafter, a loss with graphs only",
            check="the baseline in the same graph mode; gaps between kernels in a profile",
            predicts="the baseline loses as much in that mode",
            fix="a version that captures the drafter, another runner, another KV type",
            engines=("vllm", "sglang"),
            reports=4,
        ),
        Cause(
            id="GRAPH-3",
            title="attention or matrix kernel wrong or slow for several tokens at once",
            seen="accept length or speed changes with the back-end; verifying n tokens costs almost n single steps",
            check="time a target forward of 1, 2, 3 and 4 tokens; another back-end for drafter and target in turn",
            predicts="time grows with the tokens on this back-end and not on another",
            fix="a combination that is supported, a newer version",
            reports=3,
        ),
        Cause(
            id="GRAPH-4",
            title="host work in every step",
            seen="gaps on the GPU, fixed milliseconds a step whatever the draft length, overlap or async scheduling "
            "off",
            check="step at 1 and at 3 draft tokens: the intercept is the constant part; a profile of the scheduler",
            predicts="a large intercept; the step shrinks with overlap on",
            fix="overlap or async scheduling on, a newer version, fewer features that work in Python",
            reports=6,
        ),
    ),
)
