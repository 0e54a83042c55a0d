"""Is a GPU in an error state?"""

from __future__ import annotations

import re

from specdoctor.checks.reading import no_data, silent, whole
from specdoctor.core.gpu_table import gpu_rows
from specdoctor.core.hypothesis import Observation, Prediction
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

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
        rows = gpu_rows(command) if command is not None else []
        if not rows:
            return no_data(self.name, "ENV-5", "no GPU table was read")
        ranks = whole(scene.view.argument("tp_size")) or 1
        return silent(self.name, "ENV-5", f"{len(rows)} GPUs answer without an error, {ranks} are asked for")


check = GpuErrors()
