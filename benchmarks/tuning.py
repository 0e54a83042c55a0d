"""Launches and regret of `tune` against the full grid, and the error of its predictions, on random worlds."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from benchmarks.rows import Row, judged, quick

_LEVEL = 0.01


def rows() -> Iterator[Row]:
    """Searches on a virtual clock at noise of 1 %; the grid of 36 settings and no speculation is 37 launches."""
    from tests.calibration.calibrating import calibrated

    seeds = range(1, 4 if quick() else 31)
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(calibrated, seeds, [_LEVEL] * len(seeds), [(_LEVEL,)] * len(seeds)))
    launches = statistics.median(w.launches for w in found)
    regrets = [w.regret for w in found]
    errors = [abs(miss.error) for w in found for miss in w.of_chains[_LEVEL]]
    note = (
        f"tune: worlds {seeds[0]} to {seeds[-1]} of lab random, concurrency 1, noise 1 % of steps and launches; "
        "regret against the noise-free best of the grid. The goals are meant for 30 worlds; make calibrate prints each."
    )
    near = sum(regret <= 0.02 for regret in regrets)
    yield Row(
        "tune: launches, median",
        f"{launches:g}",
        "37",
        f"{launches / 37:.2f}",
        "<= 4",
        judged(launches <= 4),
        (note,),
    )
    yield Row("tune: within 2 % of the grid", f"{near}", f"{len(found)}", "", "all", judged(near == len(found)))
    yield Row("tune: worst regret", f"{max(regrets):.1%}", "", "", "<= 2 %", judged(max(regrets) <= 0.02))
    median, most = statistics.median(errors), max(errors)
    yield Row("predict: error, median", f"{median:.2%}", "", "", "<= 2 %", judged(median <= 0.02))
    yield Row("predict: error, most", f"{most:.2%}", "", "", "<= 5 %", judged(most <= 0.05))
