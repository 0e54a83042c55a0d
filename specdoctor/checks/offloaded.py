"""Are weights of the target kept in host memory while several tokens are verified at once?"""

from __future__ import annotations

import re

from specdoctor.analysis.given_lines import found_lines
from specdoctor.analysis.logged_rows import all_paired
from specdoctor.analysis.measured_rows import at_least_load
from specdoctor.checks.reading import silent
from specdoctor.checks.saying import proved, suspected
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene

FLAG = re.compile(
    r"(?:-ot|--override-tensor)[= ]\S*(?:exps|ffn)\S*=CPU|(?:-ncmoe|--n-cpu-moe)[= ][1-9]|(?:-cmoe|--cpu-moe)\b|"
    r"--cpu-offload-gb[= ][1-9]|--offload-group-size[= ][1-9]"
)
PART = re.compile(r"offloaded (?P<on>\d+)/(?P<all>\d+) layers to GPU")


class Offloaded:
    """Each verified token may need other experts from host memory: what is read over PCIe or by the CPU grows
    with them.
    """

    name = "offloaded"
    summary = "See whether layers or experts of the target are kept on the CPU while speculation is in force."
    causes = ("LOAD-7",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        spec = scene.view.spec or scene.view.asked_spec
        if spec is None or not spec.on:
            return silent(self.name, "LOAD-7", "no speculation is in force")
        place = next((s for s, _ in found_lines(scene, FLAG, "launch line", "server log")), None)
        part = next(((s, m) for s, m in found_lines(scene, PART) if int(m["on"]) < int(m["all"])), None)
        if place is None and part is not None:
            place = part[0]
        if place is None:
            return silent(self.name, "LOAD-7", "nothing shows weights on the CPU")
        losing = next((arm for arm in at_least_load(all_paired(scene)) if (arm.speedup or 1.0) < 1.0), None)
        claim = "weights of the target are kept on the CPU: verifying several tokens reads more of them"
        if losing is None:
            return (suspected(self.name, "LOAD-7", claim, place, about="cycle"),)
        said = f"{claim}; {losing.speedup:.2f} times the baseline's speed"
        return (proved(self.name, "LOAD-7", said, place, *losing.sources, about="cycle"),)


check = Offloaded()
