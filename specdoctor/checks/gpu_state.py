"""Are the GPUs held back: power or clocks clamped?"""

from __future__ import annotations

from specdoctor.checks.reading import no_data, silent
from specdoctor.core.gpu_table import gpu_rows
from specdoctor.core.hypothesis import Observation, Prediction
from specdoctor.core.ports import Scene
from specdoctor.core.server import Source

POWER_MARGIN = 0.98
"""A power limit below this share of the default counts as lowered (rounding of the tool's figures)."""
CLOCK_MARGIN = 0.90
"""A clock under load below this share of the highest counts as held down (heuristic)."""
REASONS = {
    0x02: "application clocks",
    0x04: "software power cap",
    0x08: "hardware slow-down",
    0x20: "software thermal slow-down",
    0x40: "hardware thermal slow-down",
    0x80: "hardware power brake",
}
DECIDES = "clocks and throttle reasons under load; a clamp slows baseline and cycle by the same factor"


class GpuState:
    """Limits are read at any time; what holds a clock down shows only while the GPU works."""

    name = "gpu-state"
    summary = "Look for lowered power limits, and for clocks held down while a benchmark runs, with the tool's reasons."
    causes = ("ENV-3",)

    def judge(self, scene: Scene) -> tuple[Observation, ...]:
        command = scene.under_load or scene.facts.commands.get("gpus")
        rows = gpu_rows(command) if command else []
        if not rows:
            why = command.error if command and command.error else "no GPU table was read"
            return no_data(self.name, "ENV-3", why)
        if scene.under_load is not None:
            held = [(row, reasons) for row in rows if (reasons := _reasons(row)) and _slow(row)]
            if held:
                return (self._held(scene, rows, *held[0], count=len(held)),)
        low = [r for r in rows if _below(r)]
        if not low:
            clocks = f", {rows[0]['clocks.sm']} MHz under load" if scene.under_load and "clocks.sm" in rows[0] else ""
            return silent(self.name, "ENV-3", f"{len(rows)} GPUs at their default power limit{clocks}")
        quote = f"power.limit {low[0].get('power.limit')} default {low[0].get('power.default_limit')}"
        return (
            Observation(
                check=self.name,
                cause="ENV-3",
                stance="suggests",
                about="cycle",
                claim=f"{len(low)} of {len(rows)} GPUs have a lowered power limit ({quote})",
                sources=(Source(where="nvidia-smi", key="power.limit", quote=quote),),
                decided_by="load",
                decides=DECIDES,
            ),
        )

    def _held(
        self, scene: Scene, rows: list[dict[str, str]], row: dict[str, str], reasons: str, *, count: int
    ) -> Observation:
        clock, highest = _number(row.get("clocks.sm")), _number(row.get("clocks.max.sm"))
        limit = f", power limit {row.get('power.limit')} of {row.get('power.default_limit')} W" if _below(row) else ""
        said = f"{clock:.0f} of {highest:.0f} MHz under load ({reasons}{limit})"
        return Observation(
            check=self.name,
            cause="ENV-3",
            stance="supports",
            claim=f"the clocks of {count} of {len(rows)} GPUs are held down: {said}",
            binds=True,
            explains="regression" in scene.complaints,
            slows="all alike",
            about="cycle",
            sources=(Source(where="nvidia-smi while a benchmark ran", key="clocks.sm", quote=said),),
            reading=Prediction(metric="reading", op="<", subject="clock under load", text=f"{CLOCK_MARGIN:.0%} of it"),
            fix="put the power limit and the clocks back (nvidia-smi -pl, -rgc; as root), look after the cooling",
        )


def _number(text: str | None) -> float:
    """0 for what is no number."""
    try:
        return float((text or "").split()[0])
    except (IndexError, ValueError):
        return 0.0


def _below(row: dict[str, str]) -> bool:
    limit, default = _number(row.get("power.limit")), _number(row.get("power.default_limit"))
    return limit > 0 and default > 0 and limit < POWER_MARGIN * default


def _slow(row: dict[str, str]) -> bool:
    clock, highest = _number(row.get("clocks.sm")), _number(row.get("clocks.max.sm"))
    return 0 < clock < CLOCK_MARGIN * highest


def _reasons(row: dict[str, str]) -> str:
    """What the tool says holds the clock, in words; nothing for an idle GPU."""
    text = row.get("clocks_event_reasons.active") or row.get("clocks_throttle_reasons.active") or "0"
    try:
        mask = int(text, 16)
    except ValueError:
        return ""
    return ", ".join(name for bit, name in REASONS.items() if mask & bit)


check = GpuState()
