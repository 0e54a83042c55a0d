"""The GPUs of a simulated host, as the practice host's own tool prints them."""

from __future__ import annotations

from specdoctor.core.facts import CommandFacts
from specdoctor.lab.shims.gpu_pages import topology_page
from specdoctor.lab.shims.gpu_view import Gpu, gpu_fields
from specdoctor.lab.world import World

GPU_COLUMNS = (
    "index name uuid driver_version clocks.sm clocks.max.sm power.draw power.limit power.default_limit temperature.gpu "
    "utilization.gpu clocks_event_reasons.active persistence_mode"
).split()


def gpu_table(world: World, *, running: bool, busy: float = 0.0) -> CommandFacts:
    """The table of GPUs as the practice host's own tool prints it."""
    fields = gpu_fields()
    head = ", ".join(name + (f" [{fields[name].unit}]" if fields[name].unit else "") for name in GPU_COLUMNS)
    rows = [
        ", ".join(fields[name].value(gpu) for name in GPU_COLUMNS) for gpu in _gpus(world, running=running, busy=busy)
    ]
    return CommandFacts(argv=("nvidia-smi",), exit_code=0, stdout="\n".join([head, *rows]) + "\n")


def _gpus(world: World, *, running: bool, busy: float) -> list[Gpu]:
    shown = world.model_dump(mode="json", include={"name", "gpus", "host"})
    return [Gpu(i, shown, 1000, busy, running) for i in range(world.gpus.count)]


def gpu_topology(world: World, *, running: bool) -> CommandFacts:
    """How the GPUs hang together, by the same tool."""
    page = topology_page(_gpus(world, running=running, busy=0.0))
    return CommandFacts(argv=("nvidia-smi", "topo", "-m"), exit_code=0, stdout=page)
