"""Did the engine switch speculation off for good because too little was accepted?"""

from __future__ import annotations

import re

from specdoctor.analysis.given_lines import found_lines
from specdoctor.checks.reading import no_data, no_files, silent
from specdoctor.checks.saying import proved, suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.material import Iteration
from specdoctor.core.ports import Scene

GATE = re.compile(r"acceptance_rate_threshold[\"']?\s*[:=]\s*(?P<share>\d*\.?\d+)")
FEWEST = 5


class RateGate:
    """TensorRT-LLM stops drafting for the rest of the process once the rolling rate falls below the gate."""

    name = "rate-gate"
    summary = "Look for a gate on the acceptance rate, and for passes that carry no draft after some that did."
    causes = ("CFG-1",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        if no_files(scene):
            return no_data(self.name, "CFG-1", "no files were given to be judged")
        gate = next(iter(found_lines(scene, GATE)), None)
        if gate is None:
            return silent(self.name, "CFG-1", "no gate on the acceptance rate is set")
        place, match = gate
        said = f"speculation ends for the whole process once the rolling acceptance falls below {match['share']}"
        ended = _ended([p for found in scene.material.iterations for p in found.passes])
        if ended is None:
            return (suspected(self.name, "CFG-1", said, place),)
        last, first, bare = ended
        claim = f"{said}; after some passes with drafts the last {bare} carry none"
        fix = "remove the gate or lower it, and restart: only a restart lets it draft again"
        return (proved(self.name, "CFG-1", claim, place, last.source, first.source, fix=fix),)


def _ended(passes: list[Iteration]) -> tuple[Iteration, Iteration, int] | None:
    """The last pass with a draft, the first behind it, and how many follow without any."""
    drafted = [n for n, p in enumerate(passes) if p.drafted_tokens]
    if not drafted:
        return None
    behind = [p for p in passes[drafted[-1] + 1 :] if p.running != 0]
    return (passes[drafted[-1]], behind[0], len(behind)) if len(behind) >= FEWEST else None


check = RateGate()
