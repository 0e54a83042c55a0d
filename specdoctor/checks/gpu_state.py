"""Are the GPUs held back: power or clocks clamped, other tenants, errors?"""

from __future__ import annotations

from specdoctor.checks.reading import no_data, silent
from specdoctor.core.gpu_table import gpu_rows
from specdoctor.core.hypothesis import Observation
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

POWER_MARGIN = 0.98
"""A power limit below this share of the default counts as lowered (rounding of the tool's figures)."""


class GpuState:
    """Reads the GPUs' limits and tenants from the tool's own table."""

    name = "gpu-state"
    summary = "Look for lowered power limits and foreign processes on the GPUs."
    causes = ("ENV-3",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        command = scene.facts.commands.get("gpus")
        rows = gpu_rows(command) if command else []
        if not rows:
            why = command.error if command and command.error else "no GPU table was read"
            return no_data(self.name, "ENV-3", why)
        low = [r for r in rows if _below(r)]
        if not low:
            return silent(self.name, "ENV-3", f"{len(rows)} GPUs at their default power limit")
        quote = f"power.limit {low[0].get('power.limit')} default {low[0].get('power.default_limit')}"
        return (
            Observation(
                check=self.name,
                cause="ENV-3",
                stance="suggests",
                about="cycle",
                claim=f"{len(low)} of {len(rows)} GPUs have a lowered power limit ({quote})",
                sources=(Source(where="nvidia-smi", key="power.limit", quote=quote),),
                decides="clocks and throttle reasons under load; a clamp slows baseline and cycle by the same factor",
            ),
        )


def _number(text: str | None) -> float | None:
    try:
        return float((text or "").split()[0])
    except (IndexError, ValueError):
        return None


def _below(row: dict[str, str]) -> bool:
    limit, default = _number(row.get("power.limit")), _number(row.get("power.default_limit"))
    return limit is not None and default is not None and default > 0 and limit < POWER_MARGIN * default


check = GpuState()
