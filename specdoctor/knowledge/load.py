"""LOAD: the drafter works, the arithmetic of this load does not."""

from __future__ import annotations

from specdoctor.knowledge.cause import Cause, Group

group = Group(
    prefix="LOAD",
    title="workload and batch size",
    causes=(
        Cause(
            id="LOAD-1",
            title="batch too large: verification computes instead of waiting for memory",
            seen="accept length normal and flat over the batch while the gain falls below 1; tens to hundreds of "
            "running requests",
            check="throughput with and without speculation at 1, 4, 16 and 64 requests on the same prompts",
            predicts="the ratio is above 1 for one request and falls steadily while the accept length stays",
            fix="fewer draft tokens (1 or 2), speculation off above a batch size, or a separate pool for low latency",
            reports=8,
            sources=("sglang PR#13376 (off above a batch size)", "vLLM disable_by_batch_size"),
        ),
        Cause(
            id="LOAD-2",
            title="draft tree too wide for the batch",
            seen="topk above 1 with 16 to 64 draft tokens and several requests: the step grows more than threefold "
            "with concurrency",
            check="the same steps as a chain (topk 1, draft tokens = steps + 1) at the same concurrency",
            predicts="the step shrinks by far more than the accept length",
            fix="a chain for batches; a tree only for one request on a dense target",
            engines=("sglang",),
            reports=6,
        ),
        Cause(
            id="LOAD-3",
            title="sparse target: verified tokens wake more experts",
            seen="a mixture of experts with a small active share loses at one request although 2 to 3 tokens are "
            "accepted; the step grows with each verified token",
            check="time one target forward of 1, 2, 4 and 8 tokens for one request",
            predicts="the time grows with the number of tokens, not by a constant",
            fix="a chain of 1 or 2 tokens, the target's own prediction head rather than a tree, else no speculation "
            "at this load",
            reports=5,
            sources=("SpecForge#339",),
        ),
        Cause(
            id="LOAD-4",
            title="drafter too expensive for this target",
            seen="the loss grows with the draft length and with the drafter's size",
            check="the drafter alone, ms a token for one request; break-even accept length = "
            "(k x draft ms + verify ms) / baseline ms",
            predicts="k drafted tokens cost a good part of a target step",
            fix="a smaller drafter or a head (EAGLE, MTP), drafter tensor parallel 1, fewer tokens, the whole drafter "
            "on the GPU",
            reports=4,
        ),
        Cause(
            id="LOAD-5",
            title="small fast target: the fixed cost of a speculative step exceeds the gain",
            seen="a baseline above some 300 tok/s, an accept length near its maximum, and a loss",
            check="speculation on and off, each eager and with graphs",
            predicts="eager shows a gain, graphs a loss; the step ratio is above the greatest accept length possible",
            fix="no speculation for this model, one draft token, or a version that captures the drafter in a graph",
            reports=4,
        ),
        Cause(
            id="LOAD-6",
            title="lookup drafting on text that does not repeat",
            seen="few drafts proposed per output token; free-form writing",
            check="drafted tokens per output token and acceptance, by kind of task (editing against writing)",
            predicts="editing and quoting draft often and accept, free writing hardly drafts",
            fix="only for edits, quotes and code changes; match windows of 2 to 5, 3 to 5 draft tokens",
            engines=("sglang", "vllm", "llamacpp"),
            reports=4,
        ),
        Cause(
            id="LOAD-7",
            title="weights offloaded to the CPU",
            seen="experts or layers kept in host memory; bound by PCIe or CPU",
            check="speed of a prompt of 1 to 8 tokens with the same offload; disk reads while decoding",
            predicts="time per forward grows with the tokens, host memory or disk is busy",
            fix="no drafter, or lookup drafting with a high acceptance threshold; memory instead of a mapped file",
            engines=("llamacpp", "sglang", "vllm"),
            reports=1,
        ),
        Cause(
            id="LOAD-8",
            title="prefill between decode steps",
            seen="time per token varies between runs, gaps of seconds between tokens, prefixes reused less than "
            "expected",
            check="gaps between tokens against prefill events of the log; cached tokens of the second turn",
            predicts="each long gap stands beside a prefill",
            fix="chunked prefill with a positive size, decode first, a newer version",
            engines=("sglang", "vllm"),
            reports=2,
        ),
    ),
)
