"""Does speculation pay eagerly and lose with graphs?"""

from __future__ import annotations

import re

from specdoctor.analysis.factors import cell, plain
from specdoctor.analysis.given_lines import first_line
from specdoctor.analysis.measured_rows import Arm, ms_per_token, rarely_together
from specdoctor.checks.reading import no_data, silent
from specdoctor.checks.saying import proved, suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.material import Row, Table
from specdoctor.core.ports import Scene

MODE = re.compile(r"eager|cuda_?graphs?|graph_mode|^graphs?$|compilation")
EAGER = re.compile(r"eager|none|off|false|\bno\b|disabled", re.IGNORECASE)
LEFT = re.compile(
    r"Overriding cudagraph_mode from FULL\w* to (?:PIECEWISE|NONE)|cudagraph_mode\w* .{0,40}(?:disabled|unsupported)"
)
FAST_TARGET_MS = 3.5
"""As in verify-cost: a baseline step below this is short against a cycle's fixed work."""


class FourCells:
    """With graphs the baseline loses its launch cost; a speculative step that keeps its own gains nothing from them."""

    name = "four-cells"
    summary = "Set speculation on and off against eager and graphs; read whether the step left its full graphs."
    causes = ("GRAPH-2", "LOAD-5", "LOAD-1")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        left = first_line(scene, LEFT, "server log")
        for table in scene.material.tables:
            heading = next((h for h in table.header if MODE.search(plain(h))), None)
            gains = _gains(table, heading) if heading is not None else None
            if gains is not None:
                return self._judged(scene, *gains)
        if left is not None and "slow" in scene.complaints:
            claim = "the engine took the step out of its full graphs"
            return (suspected(self.name, "GRAPH-2", claim, left, about="cycle"),)
        if left is not None:
            return silent(self.name, "GRAPH-2", "the engine took the step out of its full graphs", left)
        return no_data(self.name, "GRAPH-2", "no rows of speculation on and off, eager and with graphs")

    def _judged(self, scene: Scene, eager: Arm, graphs: Arm) -> tuple[Observation, ...]:
        said = f"speculation gives {eager.speedup:.2f} times the speed eagerly and {graphs.speedup:.2f} with graphs"
        sources = (*eager.sources, *graphs.sources)
        if not ((eager.speedup or 0.0) >= 1.0 > (graphs.speedup or 0.0)):
            return silent(self.name, "GRAPH-2", said, *sources)
        base = ms_per_token(graphs.base) if graphs.base is not None else None
        cause = "LOAD-5" if base is not None and base < FAST_TARGET_MS else "GRAPH-2"
        claim = f"{said}: the speculative step keeps a cost that graphs take from the baseline"
        if cause == "LOAD-5" and not rarely_together(graphs):
            many = f"{graphs.row.concurrency:g} requests at once; nothing was measured for one"
            return (
                suspected(self.name, "LOAD-5", f"{claim}, at {many}", *sources, about="cycle"),
                suspected(self.name, "LOAD-1", f"the loss with graphs is that of {many}", *sources, about="cycle"),
            )
        return (proved(self.name, cause, claim, *sources, about="cycle"),)


def _gains(table: Table, heading: str) -> tuple[Arm, Arm] | None:
    """The arm without graphs and the arm with them, each beside its own baseline."""
    eager_means_on = "eager" in plain(heading)
    found: dict[bool, Arm] = {}
    for row in table.rows:
        if row.speculative and not row.elsewhere:
            bases = [b for b in table.rows if b.speculative is False and cell(b, heading) == cell(row, heading)]
            same = [b for b in bases if b.concurrency == row.concurrency]
            if same:
                found.setdefault(_eager(row, heading, eager_means_on), Arm(row=row, base=same[0]))
    if set(found) != {True, False} or any(a.speedup is None for a in found.values()):
        return None
    return found[True], found[False]


def _eager(row: Row, heading: str, eager_means_on: bool) -> bool:
    value = cell(row, heading)
    if "eager" in value.lower():
        return True
    off = bool(EAGER.search(value)) or value == "0"
    return not off if eager_means_on else off


check = FourCells()
