"""Does a full KV pool push requests back?"""

from __future__ import annotations

from specdoctor.checks.reading import log_source, no_data, silent
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene


class CachePressure:
    """Retractions lower throughput without touching the accept length."""

    name = "cache-pressure"
    summary = "Look for requests retracted because the KV pool was full."
    causes = ("MEM-1",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        if view.log is None:
            return no_data(self.name, "MEM-1", "no log was read")
        lines = [n for n in view.log.notices if "Retract requests" in n.text]
        if not lines:
            return silent(self.name, "MEM-1", "no retraction in the log")
        return (
            Observation(
                check=self.name,
                cause="MEM-1",
                stance="suggests",
                claim=f"{len(lines)} retractions: the KV pool was full",
                sources=(log_source(view, lines[-1].line, lines[-1].text),),
                decides="throughput with a larger --mem-fraction-static or fewer running requests",
            ),
        )


check = CachePressure()
