"""SAMP: sampling."""

from __future__ import annotations

from specdoctor.knowledge.cause import Cause, Group

group = Group(
    prefix="SAMP",
    title="sampling",
    causes=(
        Cause(
            id="SAMP-1",
            title="greedy drafting or exact matching at a temperature above 0",
            seen="80 % accepted at temperature 0, 10 to 30 % at 1",
            check="the same prompts at several temperatures",
            predicts="acceptance falls with the temperature",
            fix="probabilistic drafting with rejection sampling, a lower temperature",
            reports=3,
        ),
        Cause(
            id="SAMP-2",
            title="client or model default overrides the sampling",
            seen="an interface is slower than curl; defaults of generation_config; parameters ignored with speculation",
            check="log the sampling parameters of a real request",
            predicts="they are not what was meant",
            fix="set them in the request",
            reports=2,
        ),
    ),
)
