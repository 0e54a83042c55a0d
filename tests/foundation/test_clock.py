"""The clock of a run: nobody who sets this machine's clock moves a wait or the order of events."""

from __future__ import annotations

from specdoctor.assembly.clock import WallClock


def test_a_wall_clock_that_is_set_moves_nothing() -> None:
    wall, steady = [1_000_000.0], [50.0]
    clock = WallClock(wall=lambda: wall[0], steady=lambda: steady[0])
    assert clock.now() == 1_000_000.0
    wall[0] -= 7200.0
    steady[0] += 3.0
    assert clock.now() == 1_000_003.0
