"""What a forward of more tokens costs, told by a launch without speculation that is asked by more clients at once.

A forward that decodes one token for each of n requests does nearly the same work as one that verifies n tokens of one
request: the same weights are read and the same products are computed. Its time over that of a single token is a ratio
within one launch, so that the spread between launches is not in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from specdoctor.analysis.interval import NORMAL_95, Estimate, from_error
from specdoctor.analysis.launch_figures import WideStep
from specdoctor.core.ledger import Ledger
from specdoctor.core.measurement import in_short_answers

_FORWARDS = (1, 4, 8, 16, 32)
_MOST_AT_ONCE = 64


def wide_loads(concurrencies: Sequence[int]) -> tuple[int, ...]:
    """Numbers of clients to ask a launch without speculation with, the fewest first."""
    found = {b * forward for b in concurrencies for forward in _FORWARDS}
    return tuple(sorted(load for load in found if load <= _MOST_AT_ONCE))


def wide_steps(ledger: Ledger, launch_key: str, concurrency: int) -> tuple[WideStep, ...]:
    """Steps of a launch at multiples of `concurrency`, over the one at it; empty where nothing tells that one.

    A load that the server did not take as a whole, or that slowed down what measures it, gives none.
    """
    key = in_short_answers(launch_key)
    told = [m for m in ledger.measurements if m.source == "wide" and m.launch_key == key]
    return wider_than({m.concurrency: m.between_chunks for m in told if m.between_chunks is not None}, concurrency)


def wider_than(steps: Mapping[int, Estimate], concurrency: int) -> tuple[WideStep, ...]:
    """Steps by number of clients, as ratios to the one at `concurrency`."""
    alone = steps.get(concurrency)
    if alone is None:
        return ()
    return tuple(
        WideStep(requests=load // concurrency, slower=_ratio(step, alone))
        for load, step in sorted(steps.items())
        if load > concurrency and load % concurrency == 0
    )


def _ratio(step: Estimate, alone: Estimate) -> Estimate:
    value = step.value / alone.value
    shares = [e.width / 2.0 / NORMAL_95 / e.value for e in (step, alone)]
    error = value * (shares[0] ** 2 + shares[1] ** 2) ** 0.5
    return from_error(value, error, "ratio", estimator="median steps of one launch", n=step.n, floor=0.0)
