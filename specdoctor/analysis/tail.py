"""Accept length at a number of draft steps that was not run, from the positions of a run that was."""

from __future__ import annotations

from specdoctor.analysis.acceptance import Chain
from specdoctor.analysis.figure import draft_steps, fraction
from specdoctor.analysis.interval import Estimate, between
from specdoctor.analysis.refusal import Refusal
from specdoctor.core.model import Frozen

WIDEST_TAIL_INTERVAL = 0.15
SHORTER_UNDERSTATES = 0.10

_ERROR_PERCENT = (0.0, 1.0, 2.0, 3.0, 5.0, 6.0)
_PERCENT_PER_FURTHER_STEP = 1.2
_TO_95_PERCENT = 3.0


class Extension(Frozen):
    """A chain prolonged beyond what was measured.

    `chain` has the first `measured_steps` positions as measured and the rest with the constant rate `tail_rate`.
    """

    chain: Chain
    accept_length: Estimate
    tail_rate: float
    measured_steps: int


def extend_chain(
    chain: Chain, steps: int, *, tail: Estimate | None = None, n: int | None = None
) -> Extension | Refusal:
    """Prolong a measured chain to `steps` by holding the last conditional rate constant.

    The interval comes from the median error over public curves, 1/2/3/5/6 % of the accept length at +1..+5 steps (and
    1.2 % for each further step, an extrapolation of those), times 3 for 95 %; twice that from a chain of one position,
    which has no tail rate and uses a_1. Errors of the chain itself are not in it.

    `tail` is the bootstrapped rate of the last position; the extension is refused when its interval is wider than 0.15,
    because a rate from few requests misleads by up to a factor of two at long chains.
    """
    draft_steps(steps)
    if chain.steps == 0:
        return Refusal(kind="too-few", reason="a run without draft steps says nothing about longer chains")
    if steps < chain.steps:
        return Refusal(kind="one-draft-length", reason=f"{steps} steps is shorter than the {chain.steps} measured")
    if tail is not None and tail.width > WIDEST_TAIL_INTERVAL:
        reason = f"the rate of the last measured position, {tail}, is too uncertain to prolong; measure more requests"
        return Refusal(kind="tail-unsure", reason=reason)
    rate = fraction("tail rate", tail.value) if tail is not None else chain.conditional[-1]
    marginal = list(chain.marginal)
    while len(marginal) < steps:
        marginal.append(marginal[-1] * rate)
    longer = Chain(marginal=tuple(marginal))
    relative = _relative_error(steps - chain.steps) * (2.0 if chain.steps == 1 else 1.0)
    value = longer.accept_length
    length = between(
        value,
        max(1.0, value * (1.0 - relative)),
        min(steps + 1.0, value * (1.0 + relative)),
        "tokens/cycle",
        estimator=f"{chain.steps} measured positions, last rate {rate:.3f} held to {steps}",
        n=n,
    )
    return Extension(chain=longer, accept_length=length, tail_rate=rate, measured_steps=chain.steps)


def _relative_error(further: int) -> float:
    """95 % error of the accept length, as a fraction, this many steps beyond the last measured position."""
    known = len(_ERROR_PERCENT) - 1
    percent = _ERROR_PERCENT[min(further, known)] + _PERCENT_PER_FURTHER_STEP * max(0, further - known)
    return percent * _TO_95_PERCENT / 100.0


def shorter_accept_length(chain: Chain, steps: int, *, n: int | None = None) -> Estimate | Refusal:
    """Accept length at fewer steps than were run: 1 + S_1 + ... + S_steps of the longer run is a lower bound.

    A long chain restarts right after each miss, so it understates a run at `steps` by 1 to 10 % on the same texts
    (seen on live servers); the interval is one-sided. Confirm before a verdict that hangs on less.
    """
    if draft_steps(steps) > chain.steps:
        return Refusal(kind="too-few", reason=f"{steps} steps is longer than the {chain.steps} measured")
    value = chain.first(steps).accept_length
    high = value if steps in (0, chain.steps) else min(steps + 1.0, value * (1.0 + SHORTER_UNDERSTATES))
    estimator = f"first {steps} positions of a run at {chain.steps}, a lower bound"
    return between(value, value, high, "tokens/cycle", estimator=estimator, n=n)
