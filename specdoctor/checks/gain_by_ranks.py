"""Is the gain of speculation there on one GPU and gone on several?"""

from __future__ import annotations

import re

from specdoctor.analysis.factors import cell, plain
from specdoctor.analysis.given_lines import first_line
from specdoctor.analysis.measured_rows import LAUNCH_NOISE, Arm, ms_per_token
from specdoctor.checks.reading import no_data, silent
from specdoctor.checks.saying import proved
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene

RANKS = re.compile(r"^(?:tp|tp_size|tensor_parallel(?:_size)?|gpus|num_gpus|n_gpus|cards)$")
CUSTOM_OFF = re.compile(r"custom ?all-?_?reduce\w* is disabled|disabled.{0,40}custom ?all-?reduce", re.IGNORECASE)
LOST = 2 * LAUNCH_NOISE


class GainByRanks:
    """Reductions between GPUs are paid in every forward: a cycle of several forwards pays them several times."""

    name = "gain-by-ranks"
    summary = "Compare the gain of speculation at one and at several tensor-parallel ranks."
    causes = ("ENV-1",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        for table in scene.material.tables:
            heading = next((h for h in table.header if RANKS.match(plain(h))), None)
            if heading is None:
                continue
            arms: dict[int, Arm] = {}
            for row in table.rows:
                same = [
                    b
                    for b in table.rows
                    if b.speculative is False
                    and cell(b, heading) == cell(row, heading)
                    and b.concurrency == row.concurrency
                ]
                if row.speculative and same and ms_per_token(row) and cell(row, heading).isdigit():
                    arms.setdefault(int(cell(row, heading)), Arm(row=row, base=same[0]))
            if len(arms) > 1:
                return self._judged(scene, arms)
        return no_data(self.name, "ENV-1", "no rows of several numbers of GPUs beside their baselines")

    def _judged(self, scene: Scene, arms: dict[int, Arm]) -> tuple[Observation, ...]:
        few, many = arms[min(arms)], arms[max(arms)]
        said = (
            f"speculation gives {few.speedup:.2f} times the speed on {min(arms)} and {many.speedup:.2f} "
            f"on {max(arms)} GPUs"
        )
        sources = (*few.sources, *many.sources)
        if (few.speedup or 0.0) <= 1 + LOST or (many.speedup or 0.0) > 1 + LOST / 2:
            return silent(self.name, "ENV-1", said, *sources)
        off = first_line(scene, CUSTOM_OFF)
        claim = f"{said}: each forward pays the reductions between them" + ("; custom all-reduce is off" if off else "")
        return (proved(self.name, "ENV-1", claim, *sources, *((off,) if off is not None else ()), about="cycle"),)


check = GainByRanks()
