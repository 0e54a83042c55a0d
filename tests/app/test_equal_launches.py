"""A launch that is not faster than no speculation by more than two starts differ is not called the fastest."""

from __future__ import annotations

import pytest

from specdoctor.analysis.interval import from_error
from specdoctor.app.verdict import equal, reach
from specdoctor.core.events import Measured
from specdoctor.core.measurement import Measurement
from tests.app.investigating import run_of, simulated


def renamed(m: Measurement, speed: float, **other: object) -> Measurement:
    figure = from_error(speed, 0.2, "tok/s", estimator="x", n=12)
    return m.model_copy(update={"throughput": figure, **other})


@pytest.mark.parametrize(("speed", "without"), [(1.006, True), (1.03, True), (1.2, False)])
def test_the_simpler_of_two_equal_launches_is_recommended(speed: float, without: bool) -> None:
    made, _ = simulated("graphs-off-by-flag")
    off = made.ledger.baseline(1)
    found = made.ledger.measured("original", concurrency=1)
    assert off is not None
    assert off.throughput is not None
    assert found is not None
    run = run_of(made.operations)  # type: ignore[arg-type]
    run.scene = made.scene
    for event in made.store.events(made.id):
        if not isinstance(event, Measured):
            run.ledger.apply(event)
    fast = renamed(found, speed * off.throughput.value, id="M2", launch="longer", launch_key="longer")
    for m in (renamed(found, 0.6 * off.throughput.value), off, fast):
        run.ledger.measurements.append(m)
    advice = reach(run).recommendation
    assert advice is not None
    assert equal(fast, off) is without
    assert ("as fast as longer within the spread" in advice.why) is without
    assert ("longer is the fastest launch measured" in advice.why) is not without
    assert ("as fast as longer" in dict(reach(run).lines)["do now"]) is without
