"""Is a GPU in an error state?"""

from __future__ import annotations

import re

from specdoctor.analysis.given_lines import found_lines
from specdoctor.checks.reading import no_data, silent, whole
from specdoctor.checks.saying import proved
from specdoctor.core.gpu_table import gpu_rows
from specdoctor.core.hypothesis import Observation, Prediction
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

TOLD = re.compile(
    r"NVRM: Xid \([^)]*\): (?P<xid>\d+)|GPU (?:Recovery Action|Reset Status)\s*:\s*(?:Reset|Reboot|Drain)|"
    r"DRAM Uncorrectable\w*(?: \w+)?\s*:\s*[1-9]|Remapping Failure Occurred\s*:\s*Yes|GPU (?:is lost|requires reset)|"
    r"fallen off the bus|\bERR!",
    re.I,
)
PROGRAM_ERRORS = frozenset({"13", "31", "43", "45", "68", "69", "109"})
"""Xid numbers that a faulty program alone can raise (the vendor's Xid catalogue): no sign of a faulty card."""
ERROR = re.compile(r"ERR!|requires reset|Unknown Error|GPU is lost", re.IGNORECASE)


class GpuErrors:
    """A GPU that wants a reset, or has fallen off the bus, answers some queries with an error."""

    name = "gpu-errors"
    summary = "Look for GPUs that answer with errors, want a reset, or are missing."
    causes = ("ENV-5",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        command = scene.facts.commands.get("gpus")
        text = f"{command.stdout}\n{command.error or ''}" if command is not None else ""
        hit = next((line for line in text.splitlines() if ERROR.search(line)), None)
        if hit is not None:
            return (
                Observation(
                    check=self.name,
                    cause="ENV-5",
                    stance="supports",
                    claim=f"a GPU is in an error state: {hit.strip()[:160]}",
                    binds=True,
                    about="cycle",
                    sources=(Source(where="nvidia-smi", quote=hit.strip()[:160]),),
                    reading=Prediction(metric="reading", op="==", subject="state of the GPUs", text="error"),
                    fix="look at the kernel's log for Xid errors, and reset the GPU or reboot",
                ),
            )
        told = [(s, m) for s, m in found_lines(scene, TOLD) if m["xid"] not in PROGRAM_ERRORS]
        if told:
            claim = f"a GPU is in an error state: {'; '.join(m.group(0) for _, m in told[:3])}"
            return (proved(self.name, "ENV-5", claim, *(s for s, _ in told[:3]), about="cycle"),)
        rows = gpu_rows(command) if command is not None else []
        if not rows:
            return no_data(self.name, "ENV-5", "no GPU table was read")
        ranks = whole(scene.view.argument("tp_size")) or 1
        return silent(self.name, "ENV-5", f"{len(rows)} GPUs answer without an error, {ranks} are asked for")


check = GpuErrors()
