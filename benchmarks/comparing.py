"""The comparison of two arms: false verdicts where there is no difference, power where there is one."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import numpy as np

from benchmarks.rows import Row, judged
from specdoctor.analysis.power import Design, needed
from specdoctor.analysis.sequential import Look, SequentialPlan

PAIRS = 400
CV = 0.015


def looks(effect: float, plan: SequentialPlan) -> list[Look]:
    """How so many comparisons of log-normal blocks end."""
    source = np.random.default_rng(17)
    found: list[Look] = []
    for _ in range(PAIRS):
        first = np.exp(source.normal(0.0, CV, plan.most)) * 80.0
        second = np.exp(source.normal(0.0, CV, plan.most)) * 80.0 * (1.0 + effect)
        for blocks in range(3, plan.most + 1):
            look = plan.look(first[:blocks].tolist(), second[:blocks].tolist())
            if look is not None and look.verdict != "go on":
                found.append(look)
                break
    return found


def rows() -> Iterator[Row]:
    plan = SequentialPlan()
    none, some = looks(0.0, plan), looks(0.03, plan)
    wrong = sum(look.verdict in ("better", "worse") for look in none)
    right = sum(look.verdict == "better" for look in some)
    blocks, fixed = statistics.fmean(look.blocks for look in some), needed(Design(cv=CV), 0.03)
    note = f"comparing: {PAIRS} simulated pairs each, spread {CV:.1%} a block, at most {plan.most} blocks per arm."
    yield Row("A/B, no effect: false verdicts", f"{wrong} of {PAIRS}", "", "", "<= 28", judged(wrong <= 28), (note,))
    yield Row("A/B, 3 % effect: found", f"{right} of {PAIRS}", "", "", ">= 307", judged(right >= 307))
    yield Row(
        "A/B, 3 % effect: blocks per arm",
        f"{blocks:.2f}",
        f"{fixed} (fixed-n Welch)",
        f"{blocks / fixed:.2f}",
        "< 1.00",
        judged(blocks < fixed),
    )
