"""Do the server's processes run on the CPUs of their GPUs, and does the governor let these run?"""

from __future__ import annotations

from specdoctor.checks.reading import no_data, silent, slows_cycle, whole
from specdoctor.core.cpu_list import readable
from specdoctor.core.gpu_table import gpu_places
from specdoctor.core.hypothesis import Observation, Remedy
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

DECIDES = "cycle and baseline step with the ranks bound to the nodes of their GPUs"


class NumaBinding:
    """A rank that wanders between sockets, or a CPU that saves power, costs host time in every launch of a kernel."""

    name = "numa-binding"
    summary = "See whether each rank is bound to the NUMA node of its GPU, and look for a slow CPU governor."
    causes = ("ENV-4",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        facts, view = scene.facts, scene.view
        if facts.host.cpu_governor == "powersave":
            source = Source(where="cpufreq", key="scaling_governor", quote="powersave")
            return (self._suggests("the CPU governor is powersave", source, None),)
        nodes = facts.host.numa_nodes
        if len(nodes) < 2:
            return silent(self.name, "ENV-4", f"{len(nodes)} NUMA node, governor {facts.host.cpu_governor}")
        ranks = [p for p in facts.processes if "scheduler" in " ".join(p.argv[:1])]
        ranks = ranks or [p for p in facts.processes if view.ref is not None and p.pid == view.ref.pid]
        known = [p for p in ranks if p.cpus_allowed]
        if not known:
            return no_data(self.name, "ENV-4", "no process of the server shows its CPUs")
        everywhere = [p for p in known if _covers_all(p.cpus_allowed or "", nodes)]
        quote = f"Cpus_allowed_list {known[0].cpus_allowed}"
        source = Source(where=f"/proc/{known[0].pid}/status", key="Cpus_allowed_list", quote=quote)
        if len(everywhere) < len(ranks):
            return silent(self.name, "ENV-4", f"{len(ranks) - len(everywhere)} of {len(ranks)} ranks are bound", source)
        who = "its process is" if len(ranks) == 1 else f"none of {len(ranks)} ranks is"
        said = f"{who} {'not ' if len(ranks) == 1 else ''}bound to a NUMA node ({len(nodes)} nodes)"
        return (self._suggests(said, source, _bound(scene, len(ranks))),)

    def _suggests(self, claim: str, source: Source, remedy: Remedy | None) -> Observation:
        return slows_cycle(self.name, "ENV-4", claim, source, remedy, decides=DECIDES)


def _bound(scene: Scene, ranks: int) -> Remedy | None:
    """The engine's own binding of each rank, where the topology tells the node of each GPU."""
    command = scene.facts.commands.get("gpu_topology")
    places = gpu_places(command) if command is not None else ()
    nodes = [place.numa_node for place in places[:ranks]]
    known = [node for node in nodes if node is not None]
    if scene.view.engine != "sglang" or len(known) < ranks or "numa_node" in scene.view.asked:
        return None
    if (whole(scene.view.argument("tp_size")) or 1) != ranks:
        return None
    return Remedy(label="ranks bound to the nodes of their GPUs", set_flags={"--numa-node": tuple(known)})


def _covers_all(cpus_allowed: str, nodes: dict[str, str]) -> bool:
    allowed = readable(cpus_allowed)
    return all(readable(listed) & allowed for listed in nodes.values())


check = NumaBinding()
