"""Does a draft forward run outside CUDA graphs in every cycle?"""

from __future__ import annotations

from specdoctor.checks.cuda_graphs import graphs_disabled
from specdoctor.checks.reading import no_data, silent
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

DECIDES = "cycle time with another draft attention back-end (a launch), or a profile of one cycle"


class DraftGraphs:
    """Only the missing capture line tells that draft decode or draft extend runs eagerly."""

    name = "draft-graphs"
    summary = "See from the capture lines which draft forwards have a CUDA graph."
    causes = ("GRAPH-2",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        if view.spec is None or not view.spec.on or view.spec.family == "NGRAM" or graphs_disabled(view):
            return silent(self.name, "GRAPH-2", "no drafter with graphs to look for")
        if view.engine != "sglang":
            return no_data(self.name, "GRAPH-2", "this engine's log does not tell the drafter's graphs apart")
        if view.log is not None and view.log.failure is not None:
            return no_data(self.name, "GRAPH-2", "the start failed: what was not captured yet says nothing")
        if view.log is None or not any(g.what == "target" for g in view.log.graphs):
            return no_data(self.name, "GRAPH-2", "the log read does not hold the start-up with its capture lines")
        have = {g.what for g in view.log.graphs if g.finished}
        expected = {"draft extend"} | ({"draft decode"} if view.spec.draft_steps > 1 else set())
        missing = sorted(expected - have)
        seen = Source(where=view.log.where, line=view.log.graphs[0].line, quote=f"captured: {', '.join(sorted(have))}")
        if not missing:
            return silent(self.name, "GRAPH-2", f"captured: {', '.join(sorted(have))}", seen)
        return (
            Observation(
                check=self.name,
                cause="GRAPH-2",
                stance="suggests",
                about="cycle",
                claim=f"no CUDA graph was captured for {' and '.join(missing)}: it runs eagerly in each cycle",
                sources=(seen,),
                decides=DECIDES,
                decided_by="restart",
            ),
        )


check = DraftGraphs()
