"""Do the GPUs reduce over a slow path: custom all-reduce off, no NVLink, or a path that returns wrong data?"""

from __future__ import annotations

import re

from specdoctor.checks.reading import in_force, log_source, no_data, silent, slows_cycle, truth, whole
from specdoctor.core.gpu_table import gpu_places
from specdoctor.core.hypothesis import Observation, Remedy
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

CUSTOM_OFF = re.compile(r"custom ?allreduce\w* is disabled|disabled.*custom ?all-?reduce", re.IGNORECASE)
SLOW_LINKS = ("SYS", "NODE", "PHB", "PXB", "PIX")
VARIABLES = ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "CUDA_LAUNCH_BLOCKING")
DECIDES = "all-reduce time at 8-64 KB, and the GPU topology"


class AllReducePath:
    """Each layer of each forward reduces a small message: its path counts once a step, and more often in a cycle."""

    name = "all-reduce-path"
    summary = "Look for custom all-reduce off, GPUs without NVLink, peer access switched off, and its wrong data."
    causes = ("ENV-1", "ENV-2")

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        ranks = whole(scene.view.argument("tp_size"))
        if (ranks or 1) < 2:
            said = "one GPU: nothing is reduced between GPUs"
            return silent(self.name, "ENV-1", said if ranks else "no argument that was read asks for several GPUs")
        found = [o for o in (self._custom(scene), self._variables(scene), self._links(scene)) if o is not None]
        wrong = self._wrong_data(scene)
        if found or wrong is not None:
            return tuple(found[:1]) + ((wrong,) if wrong is not None else ())
        command = scene.facts.commands.get("gpu_topology")
        if command is None or not gpu_places(command):
            return no_data(self.name, "ENV-1", "the topology of the GPUs was not read")
        return silent(self.name, "ENV-1", "custom all-reduce is not off, and the GPUs are linked by NVLink")

    def _custom(self, scene: Scene) -> Observation | None:
        view = scene.view
        if truth(view.argument("disable_custom_all_reduce")):
            source = in_force(view, "disable_custom_all_reduce")
            asked = "--disable-custom-all-reduce" in view.argv
            remedy = Remedy(label="custom all-reduce on", remove_flags=("--disable-custom-all-reduce",))
            return self._slow(
                "custom all-reduce is off: each layer's reduction takes the slow path",
                source,
                remedy if asked else None,
            )
        for notice in view.log.notices if view.log else ():
            if CUSTOM_OFF.search(notice.text):
                source = log_source(view, notice.line, notice.text)
                return self._slow("custom all-reduce is off: each layer's reduction takes the slow path", source, None)
        return None

    def _variables(self, scene: Scene) -> Observation | None:
        for name in VARIABLES:
            value = scene.view.env.get(name)
            if value not in (None, "", "0"):
                source = Source(where="environment of the server", key=name, quote=f"{name}={value}")
                remedy = Remedy(label=f"without {name}", remove_env=(name,))
                return self._slow(f"{name}={value} is left in the server's environment", source, remedy)
        return None

    def _links(self, scene: Scene) -> Observation | None:
        command = scene.facts.commands.get("gpu_topology")
        ranks = whole(scene.view.argument("tp_size")) or 1
        places = gpu_places(command)[:ranks] if command is not None else ()
        slow = sorted({link for p in places for link in p.links[:ranks] if link in SLOW_LINKS})
        if not slow:
            return None
        source = Source(where="nvidia-smi topo -m", quote=f"links between {len(places)} GPUs: {', '.join(slow)}")
        return self._slow(f"{len(places)} GPUs reduce over {', '.join(slow)}, without NVLink", source, None)

    def _slow(self, claim: str, source: Source, remedy: Remedy | None) -> Observation:
        return slows_cycle(self.name, "ENV-1", claim, source, remedy, decides=DECIDES)

    def _wrong_data(self, scene: Scene) -> Observation | None:
        """After a change of driver or BIOS, peer access may return wrong data: text repeats, nothing is accepted."""
        length = scene.view.lifetime_accept_length
        if "wrong-output" not in scene.complaints or length is None or length > 1.1:
            return None
        if truth(scene.view.argument("disable_custom_all_reduce")):
            return None
        return Observation(
            check=self.name,
            cause="ENV-2",
            stance="suggests",
            claim=f"wrong text and an accept length of {length:.2f} on several GPUs: peer access may return wrong data",
            sources=(Source(where="server info", key="avg_spec_accept_length", quote=f"{length:.3f}"),),
            decided_by="restart",
            decides="text and accept length with --disable-custom-all-reduce, and a copy between two GPUs compared",
        )


check = AllReducePath()
