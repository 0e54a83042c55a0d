"""MEM: memory."""

from __future__ import annotations

from specdoctor.knowledge.cause import Cause, Group

group = Group(
    prefix="MEM",
    title="memory",
    causes=(
        Cause(
            id="MEM-1",
            title="out of memory at capture, or a wrong static fraction",
            seen="out of memory while graphs of the drafter are captured",
            check="free memory before and after the drafter is loaded",
            predicts="less is left than capture takes",
            fix="a lower fraction, a smaller graph ceiling, a smaller tree",
            engines=("sglang", "vllm"),
            severity="does not start",
            reports=3,
        ),
        Cause(
            id="MEM-3",
            title="a drafter context for each slot",
            seen="memory jumps after an update",
            check="memory with one slot",
            predicts="it falls by the drafter's context times the slots",
            fix="-np 1, or a newer build with one context",
            engines=("llamacpp",),
            severity="does not start",
            reports=1,
        ),
    ),
)
