"""When figures of several launches must not be laid into one forecast."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from specdoctor.analysis.cycle import GAP_BLOCKS_FIT
from specdoctor.analysis.fit import LEAST_INTERCEPT_SHARE
from specdoctor.analysis.interval import NORMAL_95
from specdoctor.analysis.launch_figures import LaunchFigures
from specdoctor.analysis.refusal import Refusal

_GAP_OF_BATCH = 0.4
"""Throughput of a batch holds prefill and the end, when fewer run: its gap may be this wide."""
_LENGTHS_APART = 0.10
_BEYOND = 3.0
"""Standard errors by which two figures must contradict each other."""


def unfit(figures: Sequence[LaunchFigures], *, spread: float, concurrency: int = 1) -> Refusal | None:
    """Why these must not be fitted together; None when they may.

    Refused: no speculative launch with acceptance by position; a throughput that misses accept length over cycle by
    more than 10 % (40 % with several requests at once); one setting measured with two speeds or two accept lengths; a
    longer chain with a shorter cycle; a cycle under 0.8 of the decode step without speculation. Speeds and cycles
    beyond what `spread` can do.
    """
    told = [f for f in figures if f.setting.on and f.accept_length is not None and f.conditional]
    if not told:
        reason = "no launch with speculation tells how often each draft position is accepted"
        return Refusal(kind="too-few", reason=reason)
    return (
        _gap(figures, concurrency)
        or two_lengths(figures)
        or _two_states(figures, spread)
        or _slope(figures, spread)
        or _short(figures, spread)
    )


def two_lengths(figures: Sequence[LaunchFigures]) -> Refusal | None:
    """Whether one setting shows two accept lengths beyond their noise: other prompts, or another drafter."""
    told = [(f.setting, f.accept_length) for f in figures if f.setting.on and f.accept_length is not None]
    for (setting, first), (other, second) in combinations(told, 2):
        error = sum((e.width / 2.0 / NORMAL_95 / e.value) ** 2 for e in (first, second)) ** 0.5
        apart = max(first.value, second.value) / min(first.value, second.value) - 1.0
        if setting == other and apart > max(_LENGTHS_APART, _BEYOND * error):
            reason = (
                f"{setting.label} accepted {first.value:.2f} tokens a cycle in one benchmark and {second.value:.2f} in "
                "another: the drafter, what it is fed or the prompts differ; find what does (specdoctor compare), then "
                "measure again with that settled"
            )
            return Refusal(kind="states-differ", reason=reason)
    return None


def _gap(figures: Sequence[LaunchFigures], concurrency: int) -> Refusal | None:
    limit = GAP_BLOCKS_FIT if concurrency == 1 else _GAP_OF_BATCH
    for figure in figures:
        tokens = figure.accept_length.value if figure.setting.on and figure.accept_length is not None else 1.0
        gap = 1.0 - figure.throughput.value * figure.step.value / (1000.0 * concurrency * tokens)
        if abs(gap) > limit:
            reason = (
                f"{figure.setting.label}: throughput misses accept length over cycle by {abs(gap):.0%}; "
                "prefill inside the clock, or figures of two windows"
            )
            return Refusal(kind="identity-gap", reason=reason)
    return None


def _error(first: LaunchFigures, second: LaunchFigures, spread: float) -> float:
    """Relative error of the ratio of two cycles."""
    own = sum((f.step.width / 2.0 / 1.96 / f.step.value) ** 2 for f in (first, second))
    return float((own + 2.0 * spread**2) ** 0.5)


def _two_states(figures: Sequence[LaunchFigures], spread: float) -> Refusal | None:
    for first, second in combinations(figures, 2):
        apart = abs(second.step.value / first.step.value - 1.0)
        if first.setting == second.setting and apart > max(0.10, _BEYOND * _error(first, second, spread)):
            reason = (
                f"{first.setting.label} took {first.step.value:.3g} ms in one launch and {second.step.value:.3g} ms in "
                "another: two states of the system; find what differs (specdoctor compare), then measure again"
            )
            return Refusal(kind="states-differ", reason=reason)
    return None


def _slope(figures: Sequence[LaunchFigures], spread: float) -> Refusal | None:
    chains = sorted((f for f in figures if f.setting.is_chain), key=lambda f: f.setting.draft_steps)
    for short, long in combinations(chains, 2):
        if short.setting == long.setting:
            continue
        fall = 1.0 - long.step.value / short.step.value
        if fall > _BEYOND * _error(short, long, spread):
            reason = (
                f"the cycle falls from {short.step.value:.3g} ms at {short.setting.label} to "
                f"{long.step.value:.3g} ms at {long.setting.label}: other load or state, not cheaper drafting"
            )
            return Refusal(kind="negative-slope", reason=reason)
    return None


def _short(figures: Sequence[LaunchFigures], spread: float) -> Refusal | None:
    baselines = [f for f in figures if not f.setting.on]
    for baseline in baselines:
        for figure in figures:
            least = LEAST_INTERCEPT_SHARE * baseline.step.value * (1.0 - _BEYOND * _error(baseline, figure, spread))
            if figure.setting.on and figure.step.value < least:
                reason = (
                    f"{figure.setting.label}: a cycle of {figure.step.value:.3g} ms is below 0.8 of a decode step "
                    f"without speculation ({baseline.step.value:.3g} ms)"
                )
                return Refusal(kind="intercept-below-baseline", reason=reason)
    return None
