"""Does somebody say that the speed depends on the start?"""

from __future__ import annotations

from specdoctor.checks.reading import silent
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene


class StartSpeed:
    """A speed that a start settles for good cannot be read: only several starts of the same launch show it."""

    name = "start-speed"
    summary = (
        "List starts that differ in speed as a rival, where somebody says that the speed varies from start to start."
    )
    causes = ("ENV-6",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        if "varies" not in scene.complaints:
            return silent(self.name, "ENV-6", "nobody says that the speed depends on the start")
        return (
            Observation(
                check=self.name,
                cause="ENV-6",
                stance="suggests",
                claim="the speed is settled by each start, and differs from start to start",
                decided_by="restart",
                decides="the same launch started several times: one speed, or two states",
                fix="measure after each start, and start again when it is a slow one; compare what a fast and a slow "
                "start say of clocks, memory placement and graphs",
            ),
        )


check = StartSpeed()
