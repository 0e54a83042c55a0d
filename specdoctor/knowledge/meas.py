"""MEAS: the measurement, not the server."""

from __future__ import annotations

from specdoctor.knowledge.cause import Cause, Group

group = Group(
    prefix="MEAS",
    title="measurement",
    causes=(
        Cause(
            id="MEAS-1",
            title="benchmark of random tokens or forced lengths",
            seen="data set 'random', ignored end of text: the accept length says nothing, low or high",
            check="repeat with real prompts (ShareGPT, mt-bench, gsm8k) that may end",
            predicts="another accept length",
            fix="real prompts, no forced length",
            severity="misleads",
            reports=2,
        ),
        Cause(
            id="MEAS-2",
            title="two definitions of one word",
            seen="two tools disagree; a rate over all positions read as the first one's; drafts that were skipped "
            "count",
            check="compute it again from the counters: 1 + accepted / verify steps",
            predicts="both agree then",
            fix="name the denominator: drafted tokens, steps that drafted, or all steps",
            severity="misleads",
            reports=5,
            sources=("EAGLE#191", "EAGLE#195", "EAGLE#132", "sglang PR#34743"),
        ),
        Cause(
            id="MEAS-3",
            title="baseline and run differ in more than speculation",
            seen="a paper's ratio against an eager baseline, graphs or async scheduling on one side only, other "
            "lengths",
            check="the same launch without speculation and with every other switch as in the run",
            predicts="part of the difference is there without speculation",
            fix="change one thing at a time",
            severity="misleads",
            reports=5,
            sources=("sglang#11948", "sglang#5502", "EAGLE#209"),
        ),
        Cause(
            id="MEAS-4",
            title="fault of the client",
            seen="lost words; tokens counted by chunks (one chunk holds several); a foreign tokenizer",
            check="the server's usage.completion_tokens against the client's count; one run without streaming",
            predicts="they differ",
            fix="count from the server's usage",
            severity="misleads",
            reports=1,
        ),
        Cause(
            id="MEAS-5",
            title="window and run-to-run variance",
            seen="the first line after idle time shows a tiny speed; two speeds of equal starts",
            check="leave out the first line; three starts or more",
            predicts="the oddity is gone, or varies by start",
            fix="judge steady windows, repeat",
            severity="misleads",
            reports=3,
            sources=("sglang#2470", "SpecForge#550"),
        ),
    ),
)
