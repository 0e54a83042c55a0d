"""The pages of nvidia-smi that are read by people: the table, the topology matrix, `-q`, `pmon`, `nvlink -s`."""

from __future__ import annotations

import time
from typing import Any

from specdoctor.lab.cpu_shares import span
from specdoctor.lab.machine import gpu_node, link, node_cpus
from specdoctor.lab.shims.gpu_view import ComputeApp, Gpu, gpu_fields

LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks
"""


def topology_page(gpus: list[Gpu]) -> str:
    """GPU to GPU links and affinities (`topo -m`)."""
    world = gpus[0].world
    lines = ["\t" + "\t".join([f"GPU{gpu.index}" for gpu in gpus] + ["CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])]
    for gpu in gpus:
        node = gpu_node(world, gpu.index)
        cells = [link(world, gpu.index, other.index) for other in gpus]
        cells += [span(*node_cpus(world, node)), str(node), "\tN/A"]
        lines.append(f"GPU{gpu.index}\t" + "\t".join(cells))
    return "\n".join(lines) + "\n" + LEGEND


def nvlink_page(gpus: list[Gpu]) -> str:
    """Speed of each NVLink (`nvlink -s`)."""
    if gpus[0].facts["interconnect"] != "nvlink":
        return ""
    lines = []
    for gpu in gpus:
        lines.append(f"GPU {gpu.index}: {gpu.facts['name']} (UUID: {gpu.uuid})")
        lines += [f"\t Link {number}: 26.562 GB/s" for number in range(18)]
    return "\n".join(lines) + "\n"


def pmon_page(gpus: list[Gpu], apps: list[ComputeApp]) -> str:
    """One round of `pmon`."""
    lines = [
        "# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command ",
        "# Idx           #    C/G      %      %      %      %      %      %    name ",
    ]
    for gpu in gpus:
        own = [app for app in apps if app.gpu == gpu.index]
        for app in own:
            share = f"{round(100 * gpu.busy):>6} {round(62 * gpu.busy):>6}" if gpu.busy else "     -      -"
            lines.append(f"{gpu.index:>5} {app.pid:>11}     C {share}      -      -      -      -    {app.name[:15]}")
        if not own:
            lines.append(
                f"{gpu.index:>5}           -     -      -      -      -      -      -      -    -              "
            )
    return "\n".join(lines) + "\n"


def full_page(gpus: list[Gpu], apps: list[ComputeApp]) -> str:
    """The parts of `-q` that say how a GPU runs."""
    world = gpus[0].world
    fields = gpu_fields()
    lines = ["", "==============NVSMI LOG==============", ""]
    lines += [
        _item(0, "Timestamp", time.strftime("%a %b %e %H:%M:%S %Y")),
        _item(0, "Driver Version", world["host"]["driver"]),
    ]
    lines += [_item(0, "CUDA Version", world["host"]["cuda"]), "", _item(0, "Attached GPUs", str(len(gpus)))]
    for gpu in gpus:

        def read(name: str, gpu: Gpu = gpu) -> str:
            field = fields[name]
            return f"{field.value(gpu)} {field.unit}".strip()

        lines.append(f"GPU {gpu.bus_id}")
        lines += [_item(1, "Product Name", read("name")), _item(1, "Persistence Mode", "Enabled")]
        lines += [_item(1, "GPU UUID", gpu.uuid), _item(1, "Performance State", "P0"), "    Clocks Event Reasons"]
        for title, name in _REASON_TITLES.items():
            lines.append(_item(2, title, read(f"clocks_event_reasons.{name}")))
        lines.append("    FB Memory Usage")
        for title, name in (("Total", "memory.total"), ("Used", "memory.used"), ("Free", "memory.free")):
            lines.append(_item(2, title, read(name)))
        lines += ["    Utilization", _item(2, "GPU", read("utilization.gpu"))]
        lines += ["    Temperature", _item(2, "GPU Current Temp", read("temperature.gpu") + " C")]
        lines += ["    GPU Power Readings", _item(2, "Average Power Draw", read("power.draw"))]
        lines += [_item(2, "Current Power Limit", read("power.limit"))]
        lines += [_item(2, "Default Power Limit", read("power.default_limit"))]
        lines += ["    Clocks", _item(2, "SM", read("clocks.sm")), _item(2, "Memory", read("clocks.mem"))]
        lines += ["    Max Clocks", _item(2, "SM", read("clocks.max.sm")), "    Processes"]
        for app in apps:
            if app.gpu == gpu.index:
                lines += [_item(2, "Process ID", str(app.pid)), _item(3, "Type", "C"), _item(3, "Name", app.name)]
                lines.append(_item(3, "Used GPU Memory", f"{app.memory_mib} MiB"))
    return "\n".join(lines) + "\n"


_REASON_TITLES = {
    "Idle": "gpu_idle",
    "Applications Clocks Setting": "applications_clocks_setting",
    "SW Power Cap": "sw_power_cap",
    "HW Slowdown": "hw_slowdown",
    "SW Thermal Slowdown": "sw_thermal_slowdown",
}


def _item(depth: int, title: str, value: Any) -> str:
    return ("    " * depth + title).ljust(50) + f": {value}"


def table_page(gpus: list[Gpu], apps: list[ComputeApp]) -> str:
    """What a bare `nvidia-smi` prints."""
    world = gpus[0].world
    driver = world["host"]["driver"]
    rule = "+-----------------------------------------+------------------------+----------------------+"
    lines = [
        time.strftime("%a %b %e %H:%M:%S %Y"),
        "+-----------------------------------------------------------------------------------------+",
        f"| NVIDIA-SMI {driver:<22} Driver Version: {driver:<14} CUDA Version: {world['host']['cuda']:<9}|",
        rule,
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |",
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |",
        "|                                         |                        |               MIG M. |",
        rule.replace("-", "="),
    ]
    for gpu in gpus:
        temperature = gpu.facts["temperature_c"] + round(14 * gpu.busy)
        power = f"{gpu.power_w:.0f}W / {gpu.facts['power_limit_w']:>4.0f}W"
        busy = round(100 * gpu.busy)
        memory = f"{gpu.used_mib}MiB / {gpu.total_mib:>6}MiB"
        lines += [
            f"| {gpu.index:>3}  {gpu.facts['name'][:27]:<27}    On  |   {gpu.bus_id} Off |                    0 |",
            f"| N/A  {temperature:>3}C    P0        {power:>16} | {memory:>22} |   {busy:>4}%      Default |",
            "|                                         |                        |             Disabled |",
            rule,
        ]
    lines += ["", "+-----------------------------------------------------------------------------------------+"]
    lines += [
        "| Processes:                                                                              |",
        "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |",
        "|        ID   ID                                                               Usage      |",
        "|=========================================================================================|",
    ]
    for app in apps:
        lines.append(f"|{app.gpu:>5}   N/A  N/A {app.pid:>16}      C   {app.name[:34]:<34} {app.memory_mib:>7}MiB |")
    if not apps:
        lines.append("|  No running processes found                                                             |")
    lines.append("+-----------------------------------------------------------------------------------------+")
    return "\n".join(lines) + "\n"
