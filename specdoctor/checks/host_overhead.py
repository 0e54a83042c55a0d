"""Does the engine wait for the host between the steps, because overlap scheduling is off?"""

from __future__ import annotations

from specdoctor.checks.reading import in_force, no_data, silent, truth
from specdoctor.core.hypothesis import Observation, Remedy
from specdoctor.core.ports import Scene


class HostOverhead:
    """What sits between kernels lengthens a cycle of several small forwards more than one baseline step."""

    name = "host-overhead"
    summary = "See whether overlap scheduling is off, so that host work stands between the steps."
    causes = ("GRAPH-4",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        view = scene.view
        off = view.argument("disable_overlap_schedule")
        if off is None:
            return no_data(self.name, "GRAPH-4", "whether overlap scheduling is on was not read")
        if not truth(off):
            return silent(self.name, "GRAPH-4", "overlap scheduling is not off")
        asked = "--disable-overlap-schedule" in view.argv
        return (
            Observation(
                check=self.name,
                cause="GRAPH-4",
                stance="suggests",
                about="cycle",
                claim="overlap scheduling is off: host work stands between the steps",
                sources=(in_force(view, "disable_overlap_schedule"),),
                remedy=Remedy(label="overlap scheduling on", remove_flags=("--disable-overlap-schedule",))
                if asked
                else None,
                decided_by="restart" if asked else "offline",
                decides="cycle time with overlap scheduling on (a launch), or its constant part over two chain lengths",
            ),
        )


check = HostOverhead()
