"""Is the host between the kernels: overlap scheduling off, custom all-reduce off, processes unbound, CPU slow?"""

from __future__ import annotations

import re

from specdoctor.checks.reading import in_force, log_source, silent, truth, whole
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

ALL_REDUCE = re.compile(r"custom ?allreduce\w* is disabled|disabled.*custom ?all-?reduce", re.IGNORECASE)


class HostOverhead:
    """What sits between kernels lengthens a cycle of several small forwards more than one baseline step."""

    name = "host-overhead"
    summary = "Look for overlap scheduling off, custom all-reduce off, unbound processes and a slow CPU governor."
    causes = ("GRAPH-4", "ENV-1", "ENV-4")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        found = [o for o in (self._overlap(scene), self._all_reduce(scene), self._numa(scene)) if o is not None]
        return tuple(found) or silent(
            self.name, None, "overlap on, all-reduce path not disabled, CPUs as they should be"
        )

    def _overlap(self, scene: Scene) -> Observation | None:
        if not truth(scene.view.argument("disable_overlap_schedule")):
            return None
        return Observation(
            check=self.name,
            cause="GRAPH-4",
            stance="suggests",
            about="cycle",
            claim="overlap scheduling is off: host work stands between the steps",
            sources=(in_force(scene.view, "disable_overlap_schedule"),),
            decides="cycle time with overlap scheduling on (a launch), or its constant part over two chain lengths",
        )

    def _all_reduce(self, scene: Scene) -> Observation | None:
        view = scene.view
        if (whole(view.argument("tp_size")) or 1) < 2:
            return None
        source: Source | None = None
        if truth(view.argument("disable_custom_all_reduce")):
            source = in_force(view, "disable_custom_all_reduce")
        for notice in view.log.notices if view.log else ():
            if ALL_REDUCE.search(notice.text):
                source = log_source(view, notice.line, notice.text)
        if source is None:
            return None
        return Observation(
            check=self.name,
            cause="ENV-1",
            stance="suggests",
            about="cycle",
            claim="custom all-reduce is off: each layer's reduction takes the slow path",
            sources=(source,),
            decides="all-reduce time at 8-64 KB, and the GPU topology",
        )

    def _numa(self, scene: Scene) -> Observation | None:
        facts, view = scene.facts, scene.view
        nodes = facts.host.numa_nodes
        if facts.host.cpu_governor == "powersave":
            quote = facts.host.cpu_governor
            return self._env4(
                "the CPU governor is powersave", Source(where="cpufreq", key="scaling_governor", quote=quote)
            )
        if len(nodes) < 2 or view.ref is None or (whole(view.argument("tp_size")) or 1) < 2:
            return None
        ranks = [p for p in facts.processes if "scheduler" in " ".join(p.argv[:1])]
        everywhere = [p for p in ranks if p.cpus_allowed and _covers_all(p.cpus_allowed, nodes)]
        if not ranks or len(everywhere) < len(ranks):
            return None
        quote = f"Cpus_allowed_list {ranks[0].cpus_allowed}"
        source = Source(where=f"/proc/{ranks[0].pid}/status", key="Cpus_allowed_list", quote=quote)
        return self._env4(f"none of {len(ranks)} ranks is bound to a NUMA node ({len(nodes)} nodes)", source)

    def _env4(self, claim: str, source: Source) -> Observation:
        return Observation(
            check=self.name,
            cause="ENV-4",
            stance="suggests",
            about="cycle",
            claim=claim,
            sources=(source,),
            decides="cycle and baseline step with the ranks bound to the nodes of their GPUs",
        )


def _covers_all(cpus_allowed: str, nodes: dict[str, str]) -> bool:
    allowed = _cpus(cpus_allowed)
    return all(_cpus(listed) & allowed for listed in nodes.values())


def _cpus(text: str) -> set[int]:
    out: set[int] = set()
    for part in text.split(","):
        low, _, high = part.strip().partition("-")
        if low.isdigit():
            out |= set(range(int(low), (int(high) if high.isdigit() else int(low)) + 1))
    return out


check = HostOverhead()
