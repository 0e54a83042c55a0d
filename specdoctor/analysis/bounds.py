"""What is certain before a restart: upper bounds on throughput, and claims that they refute without a launch."""

from __future__ import annotations

from typing import Literal

from specdoctor.analysis.acceptance import equal_rate_accept_length
from specdoctor.analysis.cycle import estimated_break_even, estimated_throughput
from specdoctor.analysis.figure import FigureError, draft_steps, finite
from specdoctor.analysis.interval import Estimate, between, exact
from specdoctor.analysis.refusal import Refusal
from specdoctor.core.model import Frozen

Payoff = Literal["never", "not excluded"]


class Bound(Frozen):
    """Upper bound on a setting: no accept length above `accept_length`, no throughput above `throughput`.

    Both are bounds whose own uncertainty comes from the figures they were made of: `high` is what remains possible.
    `break_even` (accept length at which the cycle equals the baseline) and `payoff` are None without a baseline.
    `assumptions` hold the conditions in words; a refutation is worth no more than they are. `steps` is None when the
    bound holds at any number of draft steps from the present one on.
    """

    steps: int | None
    accept_length: Estimate
    cycle: Estimate
    throughput: Estimate
    break_even: Estimate | None
    payoff: Payoff | None
    assumptions: tuple[str, ...]


class Refuted(Frozen):
    """The claim cannot hold under the assumptions: the bound's whole interval is below the threshold.

    `margin` is how far below, relative to the threshold's low end.
    """

    outcome: Literal["refuted"] = "refuted"
    bound: Estimate
    threshold: Estimate
    margin: float
    reason: str
    assumptions: tuple[str, ...]


class Open(Frozen):
    """The bound leaves the claim possible; it says nothing in favour of it. `bound` is None when there is none."""

    outcome: Literal["open"] = "open"
    bound: Estimate | None
    threshold: Estimate
    reason: str
    assumptions: tuple[str, ...]


def bound_same_steps(*, steps: int, cycle: Estimate, baseline: Estimate | None = None) -> Bound:
    """Most that the present number of draft steps can give at the present cycle: AL <= k + 1.

    `cycle` in ms, `baseline` (throughput without speculation) in tok/s, both for one request at the same load.
    """
    most = exact(draft_steps(steps) + 1.0, "tokens/cycle", estimator=f"all {steps} drafts accepted")
    assumptions = (
        f"every one of {steps} drafts is accepted in every cycle",
        "the cycle stays as it is now",
    )
    return _bound(most, cycle, baseline, steps=steps, assumptions=assumptions, inputs=(cycle, baseline))


def bound_longer_chain(
    *,
    first_acceptance: Estimate,
    cycle: Estimate,
    steps_now: int,
    steps: int | None = None,
    best_later: Estimate | None = None,
    baseline: Estimate | None = None,
) -> Bound | Refusal:
    """Most that drafting more can give over the present cycle, as if the further drafts cost nothing.

    With conditional acceptance no better than a_1: AL <= 1 / (1 - a_1), and AL <= (1 - a_1^(k+1)) / (1 - a_1) for a
    given k = `steps`. If a later position was seen to do better than the first, give that rate as `best_later`; the
    bound then takes the better of the two for all later positions.

    `first_acceptance` and `best_later` are fractions, `cycle` in ms, `baseline` in tok/s. Refused when the rate may be
    1 and `steps` is not given, because there is no limit then. Raises FigureError for `steps` below `steps_now` (the
    present cycle bounds no shorter chain) and for rates outside 0..1.
    """
    if steps is not None and draft_steps(steps) < draft_steps(steps_now):
        raise FigureError(
            f"{steps} draft steps is fewer than the present {steps_now}: a shorter chain can have a shorter cycle",
            next_step="bound it with its own cycle",
        )
    _rate(first_acceptance)
    later = first_acceptance
    if best_later is not None:
        later = _larger(first_acceptance, _rate(best_later))
    if steps is None and later.high >= 1.0:
        reason = f"acceptance may be 1 ({later}): without a number of steps the accept length has no limit"
        return Refusal(kind="no-limit", reason=reason)
    length = _longest(first_acceptance, later, steps=steps)
    no_better = "no later draft is accepted more often than the first, given those before it"
    if best_later is not None:
        no_better = f"no later draft is accepted more often than {later}, given those before it"
    assumptions = (
        f"the first draft is accepted as often as now ({first_acceptance})",
        no_better,
        f"a cycle with more drafts is not shorter than now with {steps_now} (drafting more costs nothing at best)",
    )
    inputs = (first_acceptance, best_later, cycle, baseline)
    return _bound(length, cycle, baseline, steps=steps, assumptions=assumptions, inputs=inputs)


def judge_claim(bound: Bound | Refusal, threshold: Estimate | float) -> Refuted | Open:
    """Judge the claim that a setting reaches at least `threshold` tok/s.

    Refuted only when the bound's whole interval lies below the threshold's; a bound that touches it leaves the claim
    open, and so does a missing bound. A bare number is taken as typed.
    """
    if not isinstance(threshold, Estimate):
        threshold = exact(finite("threshold", threshold), "tok/s")
    if threshold.unit != "tok/s" or threshold.low <= 0.0:
        raise FigureError(f"threshold {threshold.with_unit()} is no throughput", next_step="give tok/s above 0")
    if isinstance(bound, Refusal):
        return Open(bound=None, threshold=threshold, reason=bound.reason, assumptions=())
    most = bound.throughput
    if most.high < threshold.low:
        return Refuted(
            bound=most,
            threshold=threshold,
            margin=1.0 - most.high / threshold.low,
            reason=f"at most {most.with_unit()}, below {threshold}",
            assumptions=bound.assumptions,
        )
    return Open(
        bound=most,
        threshold=threshold,
        reason=f"at most {most.with_unit()}, which does not exclude {threshold}",
        assumptions=bound.assumptions,
    )


def _longest(first: Estimate, later: Estimate, *, steps: int | None) -> Estimate:
    """Accept length 1 + a_1 * (1 + r + r^2 + ...), r the rate of all later positions, at each end of the intervals.

    The ends of both rates are taken together (box), not as independent: they come from the same requests.
    """

    def length(a: float, r: float) -> float:
        if steps is None:
            return 1.0 + a / (1.0 - r)
        return 1.0 + a * equal_rate_accept_length(r, steps - 1) if steps > 0 else 1.0

    form = "any number of steps" if steps is None else f"{steps} steps"
    estimator = f"bound from the first-position acceptance ({first.estimator}), {form}"
    return between(
        length(first.value, later.value),
        length(first.low, later.low),
        length(first.high, later.high),
        "tokens/cycle",
        estimator=estimator,
        n=first.n,
    )


def _larger(first: Estimate, second: Estimate) -> Estimate:
    """The larger of two rates, end by end."""
    return between(
        max(first.value, second.value),
        max(first.low, second.low),
        max(first.high, second.high),
        "fraction",
        estimator=f"larger of {first.estimator} and {second.estimator}",
        n=first.n,
    )


def _rate(rate: Estimate) -> Estimate:
    if rate.unit != "fraction" or rate.low < 0.0 or rate.high > 1.0:
        raise FigureError(
            f"acceptance {rate.with_unit()} is no rate between 0 and 1",
            next_step="give it as a fraction, not in percent",
        )
    return rate


def _bound(
    length: Estimate,
    cycle: Estimate,
    baseline: Estimate | None,
    *,
    steps: int | None,
    assumptions: tuple[str, ...],
    inputs: tuple[Estimate | None, ...],
) -> Bound:
    throughput = estimated_throughput(length, cycle)
    break_even = None if baseline is None else estimated_break_even(cycle, baseline)
    payoff: Payoff | None = None
    if break_even is not None:
        payoff = "never" if break_even.low > length.high else "not excluded"
    given = [figure for figure in inputs if figure is not None]
    if any(figure.is_typed for figure in given):
        assumptions = (*assumptions, "figures as typed are taken as exact")
    flat = [figure for figure in given if figure.width == 0.0 and not figure.is_typed]
    if flat:
        assumptions = (*assumptions, f"no spread is known for: {'; '.join(figure.estimator for figure in flat)}")
    return Bound(
        steps=steps,
        accept_length=length,
        cycle=cycle,
        throughput=throughput,
        break_even=break_even,
        payoff=payoff,
        assumptions=assumptions,
    )
