"""Accept length and conditional acceptance pooled over requests, with a bootstrap over prompts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import Field, model_validator

from specdoctor.analysis.acceptance import Chain, chain_from_histogram
from specdoctor.analysis.figure import accept_length, draft_steps, not_negative, positive
from specdoctor.analysis.interval import Estimate, Unit, between, from_error
from specdoctor.analysis.stats import RESAMPLES, RatioOfSums, bootstrap_ratio
from specdoctor.core.model import Frozen

Count = Annotated[int, Field(ge=0)]


class RequestCounts(Frozen):
    """Counts of one request: target forwards (verify steps) and drafts accepted in them.

    `prompt` names the prompt; requests with the same name are one unit of the bootstrap, and an empty name makes the
    request a unit of its own. `histogram` (cycles with 0, 1, 2, ... accepted drafts) must agree with the two counts.
    """

    forwards: Count
    accepted_drafts: Count
    histogram: tuple[Count, ...] = ()
    prompt: str = ""

    @model_validator(mode="after")
    def _histogram_agrees(self) -> Self:
        if self.histogram:
            cycles = sum(self.histogram)
            accepted = sum(m * count for m, count in enumerate(self.histogram))
            if (cycles, accepted) != (self.forwards, self.accepted_drafts):
                raise ValueError(
                    f"histogram counts {cycles} forwards and {accepted} accepted drafts, "
                    f"the request {self.forwards} and {self.accepted_drafts}"
                )
        return self


def request_from_histogram(histogram: Sequence[int], *, prompt: str = "") -> RequestCounts:
    """Counts of a request from its histogram alone."""
    accepted = sum(m * count for m, count in enumerate(histogram))
    return RequestCounts(forwards=sum(histogram), accepted_drafts=accepted, histogram=tuple(histogram), prompt=prompt)


def pooled_accept_length(
    requests: Sequence[RequestCounts], *, steps: int | None = None, resamples: int = RESAMPLES, seed: int = 0
) -> Estimate | None:
    """Accept length 1 + sum(accepted) / sum(forwards) with a bootstrap over prompts; None without forwards.

    From one prompt no spread can be known: the interval is then all that is possible, 1 to steps + 1 (without `steps`,
    None is returned). Pooled accept lengths compare only over the same set of requests. Raises FigureError when the
    result exceeds steps + 1.
    """
    pairs = _by_prompt(requests, [(float(r.accepted_drafts), float(r.forwards)) for r in requests])
    found = bootstrap_ratio(pairs, resamples=resamples, seed=seed)
    ceiling = math.inf if steps is None else float(draft_steps(steps))
    if found is not None:
        accept_length(1.0 + found.value, steps=steps)
    return _with_interval(found, what="sum(tokens)/sum(forwards)", ceiling=ceiling, unit="tokens/cycle", offset=1.0)


def pooled_conditional(
    requests: Sequence[RequestCounts], position: int, *, resamples: int = RESAMPLES, seed: int = 0
) -> Estimate | None:
    """a_position over requests with histograms: cycles that accepted >= position drafts over those >= position - 1.

    Position 1 is the first-position acceptance. None when no cycle got that far; from one prompt the interval is 0..1.
    """
    counted = [request for request in requests if request.histogram]
    pairs = [(float(sum(r.histogram[position:])), float(sum(r.histogram[position - 1 :]))) for r in counted]
    found = bootstrap_ratio(_by_prompt(counted, pairs), resamples=resamples, seed=seed)
    return _with_interval(found, what=f"pooled acceptance of draft {position}", ceiling=1.0, unit="fraction")


def pooled_chain(requests: Sequence[RequestCounts], *, steps: int) -> Chain | None:
    """Marginal acceptance over all requests with histograms, filled up to `steps`; None when nothing was counted.

    Raises FigureError when a request accepted more drafts in a cycle than there are steps.
    """
    length = max((len(request.histogram) for request in requests), default=0)
    total = [sum(r.histogram[m] for r in requests if m < len(r.histogram)) for m in range(length)]
    return chain_from_histogram(total, steps=steps)


def planned_standard_error(*, prompts: int, prompt_sd: float, cycle_variance: float, cycles_per_prompt: int) -> float:
    """Standard error of a pooled accept length to expect from a plan: between prompts and within them."""
    between_prompts = not_negative("SD over prompts", prompt_sd) ** 2 / positive("prompts", prompts)
    within = not_negative("variance per cycle", cycle_variance) / (prompts * positive("cycles", cycles_per_prompt))
    return math.sqrt(between_prompts + within)


def _by_prompt(requests: Sequence[RequestCounts], pairs: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Sum the pairs of requests that share a prompt."""
    sums: dict[str | int, tuple[float, float]] = {}
    for index, (request, (top, bottom)) in enumerate(zip(requests, pairs, strict=True)):
        key = request.prompt or index
        before = sums.get(key, (0.0, 0.0))
        sums[key] = (before[0] + top, before[1] + bottom)
    return list(sums.values())


def _with_interval(
    found: RatioOfSums | None, *, what: str, ceiling: float, unit: Unit, offset: float = 0.0
) -> Estimate | None:
    if found is None:
        return None
    low, high, value = offset, ceiling + offset, found.value + offset
    if found.standard_error is None:
        if math.isinf(high):
            return None
        estimator = f"{what}; one prompt, so the interval is all that is possible"
        return between(value, low, high, unit, estimator=estimator, n=1)
    estimator = f"{what}, bootstrap over {found.n} prompts ({found.resamples} resamples)"
    return from_error(
        value,
        found.standard_error,
        unit,
        estimator=estimator,
        n=found.n,
        df=found.n - 1.0,
        floor=low,
        ceiling=high,
    )
