"""Do runs that were started alike fall into two groups of speeds?"""

from __future__ import annotations

import itertools
from collections import defaultdict
from statistics import median

from specdoctor.analysis.factors import cell, plain, switches
from specdoctor.analysis.measured_rows import ms_per_token
from specdoctor.checks.reading import no_data, silent
from specdoctor.checks.saying import proved
from specdoctor.core.hypothesis import Observation
from specdoctor.core.material import Row, Table
from specdoctor.core.ports import Scene

FEWEST = 4
WIDE = 0.1
"""Two states are called so where the widest gap between sorted speeds is above this share of the median, and above
`TIMES` the median gap (docs/tuning.md)."""
TIMES = 5
NAMES = ("config", "name", "label", "run", "start", "launch", "spawn", "process", "try", "attempt")


class EqualStarts:
    """A speed that is fixed when the process starts shows as two groups of runs with nothing between."""

    name = "equal-starts"
    summary = "Look for two groups of speeds among runs of a table that were started alike."
    causes = ("ENV-6",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        for table in scene.material.tables:
            for rows in _alike(table):
                speeds = sorted(((1000 / (ms_per_token(r) or 1.0), r) for r in rows), key=lambda pair: pair[0])
                gaps = [b[0] - a[0] for a, b in itertools.pairwise(speeds)]
                widest = max(gaps)
                if widest > WIDE * median(s for s, _ in speeds) and widest > TIMES * median(gaps):
                    cut = gaps.index(widest)
                    slow, fast = speeds[cut], speeds[cut + 1]
                    claim = (
                        f"{len(rows)} runs started alike fall into two groups: up to {slow[0]:.1f} and from "
                        f"{fast[0]:.1f} "
                        "tok/s a request, nothing between"
                    )
                    return (proved(self.name, "ENV-6", claim, slow[1].source, fast[1].source),)
                return silent(self.name, "ENV-6", f"{len(rows)} runs started alike lie in one group")
        return no_data(self.name, "ENV-6", f"no table holds {FEWEST} runs that were started alike")


def _alike(table: Table) -> list[list[Row]]:
    """Groups of rows that no switch of the table tells apart."""
    told = [h for h in switches(table) if plain(h) not in NAMES]
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in table.rows:
        if not row.elsewhere and ms_per_token(row) is not None:
            groups[tuple(cell(row, h) for h in told)].append(row)
    return [rows for rows in groups.values() if len(rows) >= FEWEST]


check = EqualStarts()
