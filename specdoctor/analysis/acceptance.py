"""Acceptance along a chain of drafts.

S_i (marginal) is the share of cycles in which drafts 1..i were all accepted; a_i (conditional) is the acceptance of
draft i given 1..i-1 accepted. The accept length, 1 + S_1 + ... + S_k, includes the bonus token.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, Self

from pydantic import model_validator

from specdoctor.analysis.figure import FigureError, accept_length, draft_steps, finite, fraction
from specdoctor.core.model import Frozen

NOISE = 0.01
KIND_TOLERANCE = 0.02


def marginal_problems(values: Sequence[float], *, noise: float = NOISE) -> tuple[str, ...]:
    """All that is wrong with a marginal list, in words; empty when it can be one.

    `noise` is how far S_i may exceed S_(i-1) before it counts.
    """
    problems = []
    for position, value in enumerate(values, start=1):
        if not math.isfinite(value):
            problems.append(f"S_{position} is {value}")
        elif not 0.0 <= value <= 1.0:
            percent = "; percent instead of a fraction?" if 1.0 < value <= 100.0 else ""
            problems.append(f"S_{position} is {value:g}, outside 0 to 1{percent}")
    for position in range(2, len(values) + 1):
        before, value = values[position - 2], values[position - 1]
        if math.isfinite(before) and math.isfinite(value) and value > before + noise:
            problems.append(f"S_{position} {value:g} exceeds S_{position - 1} {before:g}: not a marginal list")
    return tuple(problems)


class Chain(Frozen):
    """Marginal acceptance S_1..S_k of a chain; empty without speculation (k = 0, accept length 1)."""

    marginal: tuple[float, ...] = ()

    @model_validator(mode="after")
    def _possible(self) -> Self:
        problems = marginal_problems(self.marginal)
        if problems:
            raise ValueError("; ".join(problems))
        return self

    @property
    def steps(self) -> int:
        """k, the number of draft steps."""
        return len(self.marginal)

    @property
    def accept_length(self) -> float:
        """Tokens per cycle, bonus token included."""
        return 1.0 + math.fsum(self.marginal)

    @property
    def conditional(self) -> tuple[float, ...]:
        """a_1..a_k; 0 at positions whose prefix was never accepted, where no draft was ever judged."""
        pairs = pairwise((1.0, *self.marginal))
        return tuple(min(1.0, after / before) if before > 0.0 else 0.0 for before, after in pairs)

    @property
    def draft_rate(self) -> float | None:
        """Accepted share of all drafts, (AL - 1) / k; None for k = 0."""
        return (self.accept_length - 1.0) / self.steps if self.steps else None

    @property
    def accepted_distribution(self) -> tuple[float, ...]:
        """P(0)..P(k): probability that exactly m drafts of a cycle are accepted."""
        falling = [1.0]
        for value in self.marginal:
            falling.append(min(falling[-1], value))
        return tuple(now - after for now, after in zip(falling, [*falling[1:], 0.0], strict=True))

    @property
    def accepted_variance(self) -> float:
        """Variance of the number of accepted drafts per cycle."""
        shares = self.accepted_distribution
        mean = math.fsum(m * share for m, share in enumerate(shares))
        return max(0.0, math.fsum(m * m * share for m, share in enumerate(shares)) - mean * mean)

    def first(self, steps: int) -> Chain:
        """The first `steps` positions."""
        return Chain(marginal=self.marginal[: draft_steps(steps)])


def chain_from_marginal(values: Sequence[float]) -> Chain:
    """Chain from S_1..S_k. Raises FigureError naming every fault of the list at once."""
    problems = marginal_problems(values)
    if problems:
        raise FigureError("; ".join(problems), next_step="check whether the list is conditional, or in percent")
    return Chain(marginal=tuple(float(value) for value in values))


def chain_from_conditional(rates: Sequence[float]) -> Chain:
    """Chain from a_1..a_k. Raises FigureError for a rate outside 0..1."""
    marginal, product = [], 1.0
    for position, rate in enumerate(rates, start=1):
        product *= fraction(f"conditional acceptance of draft {position}", rate)
        marginal.append(product)
    return Chain(marginal=tuple(marginal))


def chain_from_accept_lengths(lengths: Sequence[float]) -> Chain:
    """Chain from AL(1)..AL(k), measured at 1..k steps on equal traffic: S_i = AL(i) - AL(i-1).

    Raises FigureError when the curve falls or is not concave, which is other traffic or a fault, no chain.
    """
    return chain_from_marginal([after - before for before, after in pairwise((1.0, *lengths))])


def chain_from_histogram(histogram: Sequence[int], *, steps: int | None = None) -> Chain | None:
    """Chain from counts of cycles with exactly 0, 1, 2, ... drafts accepted (bonus token not counted).

    Servers cut the list after its last non-zero bucket, so its length does not tell k: give `steps` to have the
    missing positions filled with 0. None when no cycle was counted.

    Raises FigureError for negative counts and for a bucket above `steps`.
    """
    if any(count < 0 for count in histogram):
        raise FigureError(f"negative count in the histogram {list(histogram)}", next_step="read the counters again")
    total = sum(histogram)
    if total == 0:
        return None
    last = max(m for m, count in enumerate(histogram) if count)
    if steps is not None and last > draft_steps(steps):
        raise FigureError(
            f"{last} drafts were accepted in one cycle, but there are only {steps} draft steps",
            next_step="read the effective num_steps",
        )
    length = last if steps is None else steps
    return Chain(marginal=tuple(sum(histogram[position:]) / total for position in range(1, length + 1)))


def equal_rate_accept_length(rate: float, steps: int) -> float:
    """Accept length of `steps` drafts that are each accepted with the same conditional rate."""
    fraction("acceptance rate", rate)
    return math.fsum(rate**position for position in range(draft_steps(steps) + 1))


def equal_rate(length: float, steps: int) -> float | None:
    """The equal conditional rate that gives this accept length, by bisection; None for k = 0.

    Raises FigureError for an accept length below 1 or above steps + 1.
    """
    accept_length(length, steps=draft_steps(steps))
    if steps == 0:
        return None
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        if equal_rate_accept_length(middle, steps) < length:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


ListKind = Literal["marginal", "conditional", "either", "neither"]


class KindReading(Frozen):
    """What an unlabelled per-position list is, and the accept length under either reading.

    `as_marginal` is None for a list that increases somewhere: it cannot be marginal.
    """

    kind: ListKind
    as_marginal: float | None
    as_conditional: float


def kind_of_list(values: Sequence[float], reported: float, *, tolerance: float = KIND_TOLERANCE) -> KindReading:
    """Tell a marginal from a conditional per-position list by the accept length reported with it.

    The reading within `tolerance` (relative) of `reported` names the kind; "either" when both are (always so for one
    position), "neither" when none is. Raises FigureError for values outside 0..1 or a reported length below 1.
    """
    accept_length(reported)
    as_conditional = chain_from_conditional(values).accept_length
    increases = any(after > before + 1e-9 for before, after in pairwise(values))
    as_marginal = None if increases else 1.0 + math.fsum(values)
    marginal = as_marginal is not None and abs(as_marginal - reported) <= tolerance * reported
    conditional = abs(as_conditional - reported) <= tolerance * reported
    kinds: dict[tuple[bool, bool], ListKind] = {
        (True, True): "either",
        (True, False): "marginal",
        (False, True): "conditional",
        (False, False): "neither",
    }
    return KindReading(kind=kinds[marginal, conditional], as_marginal=as_marginal, as_conditional=as_conditional)


class CurvePoint(Frozen):
    """Accept length measured at `steps`, with its standard error."""

    steps: int
    accept_length: float
    standard_error: float = 0.0


class CurveProblem(Frozen):
    """A way in which accept lengths over draft steps contradict equal traffic and one chain."""

    kind: Literal["outside-range", "falls", "not-concave"]
    steps: int
    text: str


def curve_problems(points: Sequence[CurvePoint]) -> tuple[CurveProblem, ...]:
    """Check AL(k) over several k: within 1..k+1, never falling, concave; only beyond two standard errors.

    A violation means other traffic, a block drafter beyond its block, or a fault: report it and do not fit.
    """
    found: list[CurveProblem] = []
    for point in points:
        finite("accept length", point.accept_length)
        slack = 2.0 * point.standard_error + 1e-9
        if not 1.0 - slack <= point.accept_length <= point.steps + 1 + slack:
            text = f"{point.accept_length:g} at {point.steps} steps is outside 1 to {point.steps + 1}"
            found.append(CurveProblem(kind="outside-range", steps=point.steps, text=text))
    curve = sorted((p for p in points if p.steps > 0), key=lambda p: p.steps)
    curve = [CurvePoint(steps=0, accept_length=1.0), *curve]
    for before, after in pairwise(curve):
        fall = before.accept_length - after.accept_length
        if fall > 2.0 * math.hypot(before.standard_error, after.standard_error) + 1e-9:
            drop = f"from {before.accept_length:g} at {before.steps} steps to {after.accept_length:g} at {after.steps}"
            found.append(CurveProblem(kind="falls", steps=after.steps, text=f"accept length falls {drop}"))
    for first, second, third in zip(curve, curve[1:], curve[2:], strict=False):
        if first.steps < second.steps < third.steps:
            found.extend(_bend(first, second, third))
    return tuple(found)


def _bend(first: CurvePoint, second: CurvePoint, third: CurvePoint) -> list[CurveProblem]:
    """Whether the middle of three points lies below the chord of its neighbours, beyond two standard errors."""
    share = (second.steps - first.steps) / (third.steps - first.steps)
    chord = (1.0 - share) * first.accept_length + share * third.accept_length
    error = math.hypot(second.standard_error, (1.0 - share) * first.standard_error, share * third.standard_error)
    if chord - second.accept_length <= 2.0 * error + 1e-9:
        return []
    where = f"{second.accept_length:g} at {second.steps} steps"
    text = f"{where} lies below the line from {first.steps} to {third.steps} steps"
    return [CurveProblem(kind="not-concave", steps=second.steps, text=text)]
