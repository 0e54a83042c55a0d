"""The files of a machine that a program reads under HOST_PROC, HOST_SYS and HOST_ETC."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specdoctor.lab.cpu_shares import span
from specdoctor.lab.lab_state import write_atomically
from specdoctor.lab.machine import gpu_bus, gpu_node, node_cpus, node_memory_mib

CLOCK_MHZ = 3100.0
MIB_PER_GIB = 1024
KIB_PER_MIB = 1024


def build_machine(state: Path, world: Mapping[str, Any]) -> None:
    """Write everything that does not change while the host is up."""
    texts = {**_proc_files(world), **_sys_files(world), **_etc_files(world)}
    for path, text in texts.items():
        target = state / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for name in ("tcp", "tcp6"):
        table = state / "proc/net" / name
        table.parent.mkdir(parents=True, exist_ok=True)
        table.unlink(missing_ok=True)
        table.symlink_to(f"/proc/net/{name}")
    for tenant in world["gpus"]["tenants"]:
        _still_process(state, tenant["pid"], tenant["command"].split(), cgroup="0::/user.slice\n")
    inside_s = world["host"]["container_started_s_ago"]
    if inside_s is None:
        _still_process(state, 1, ["/sbin/init"], cgroup="0::/init.scope\n")
    else:
        ticks = round((machine_age_s() - inside_s) * os.sysconf("SC_CLK_TCK"))
        _still_process(state, 1, ["/bin/bash", "/entrypoint.sh"], cgroup="0::/\n", start_ticks=ticks)
    refresh_clocks(state, world)


def refresh_clocks(state: Path, world: Mapping[str, Any]) -> None:
    """Rewrite what follows the time: uptime and load.

    Boot time is the real one, for start times of processes are counted from it in ticks, and those are real; but inside
    a container the machine has been up as long as the world says, and ages are told by the uptime.
    """
    uptime_s = float(Path("/proc/uptime").read_text(encoding="utf-8").split()[0])
    cpus = world["host"]["cpus"]
    write_atomically(state / "proc/uptime", f"{uptime_s:.2f} {uptime_s * cpus * 0.97:.2f}\n")
    write_atomically(state / "proc/loadavg", "1.21 1.18 1.09 2/2214 31337\n")


def _proc_files(world: Mapping[str, Any]) -> dict[str, str]:
    host = world["host"]
    total_kib = round(host["memory_gb"] * MIB_PER_GIB * KIB_PER_MIB)
    real = Path("/proc/stat").read_text(encoding="utf-8").splitlines()
    booted = next(line for line in real if line.startswith("btime "))
    if host["container_started_s_ago"] is not None:
        booted = f"btime {round(time.time() - host['up_since_s'])}"
    idle = "cpu{0}  120000 0 60000 9000000 0 0 0 0 0 0"
    stat = [idle.format(""), *(idle.format(cpu) for cpu in range(host["cpus"])), "ctxt 81234567", booted]
    return {
        "proc/cpuinfo": "\n".join(_cpu_block(world, cpu) for cpu in range(host["cpus"])),
        "proc/meminfo": (
            f"MemTotal:       {total_kib} kB\nMemFree:        {total_kib * 9 // 10} kB\n"
            f"MemAvailable:   {total_kib * 93 // 100} kB\nBuffers:          182340 kB\n"
            "SwapTotal:             0 kB\nSwapFree:              0 kB\n"
        ),
        "proc/stat": "\n".join([*stat, "processes 31337", "procs_running 2", "procs_blocked 0"]) + "\n",
        "proc/version": f"Linux version {host['kernel']} (buildd@lcy02) (gcc 13.3.0) #1 SMP PREEMPT_DYNAMIC\n",
        "proc/mounts": "/dev/nvme0n1p2 / ext4 rw,relatime 0 0\ntmpfs /dev/shm tmpfs rw,nosuid,nodev 0 0\n",
        "proc/cmdline": f"BOOT_IMAGE=/boot/vmlinuz-{host['kernel']} root=/dev/nvme0n1p2 ro\n",
        "proc/sys/kernel/random/boot_id": f"{uuid.uuid4()}\n",
        "proc/sys/kernel/hostname": f"{host['name']}\n",
        "proc/sys/kernel/osrelease": f"{host['kernel']}\n",
        "proc/sys/kernel/ostype": "Linux\n",
        "proc/sys/kernel/numa_balancing": "0\n",
        "proc/driver/nvidia/version": f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {host['driver']}\n",
    }


def _cpu_block(world: Mapping[str, Any], cpu: int) -> str:
    host = world["host"]
    node = next(n for n in range(host["numa_nodes"]) if cpu <= node_cpus(world, n)[1])
    return (
        f"processor\t: {cpu}\nvendor_id\t: {'AuthenticAMD' if 'AMD' in host['cpu_model'] else 'GenuineIntel'}\n"
        f"model name\t: {host['cpu_model']}\ncpu MHz\t\t: {CLOCK_MHZ:.3f}\nphysical id\t: {node}\n"
        f"flags\t\t: fpu sse2 avx2 avx512f\n"
    )


def _sys_files(world: Mapping[str, Any]) -> dict[str, str]:
    host = world["host"]
    nodes = range(host["numa_nodes"])
    files = {
        "sys/devices/system/cpu/online": f"{span(0, host['cpus'] - 1)}\n",
        "sys/devices/system/cpu/present": f"{span(0, host['cpus'] - 1)}\n",
        "sys/devices/system/node/online": f"{span(0, len(nodes) - 1)}\n",
        "sys/devices/system/node/possible": f"{span(0, len(nodes) - 1)}\n",
        "sys/class/dmi/id/sys_vendor": "Supermicro\n",
        "sys/class/dmi/id/product_name": "SYS-821GE-TNHR\n",
    }
    for cpu in range(host["cpus"]):
        files[f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"] = f"{host['governor']}\n"
    for node in nodes:
        folder = f"sys/devices/system/node/node{node}"
        kib = node_memory_mib(world) * KIB_PER_MIB
        files[f"{folder}/cpulist"] = f"{span(*node_cpus(world, node))}\n"
        files[f"{folder}/distance"] = " ".join("10" if node == other else "21" for other in nodes) + "\n"
        files[f"{folder}/meminfo"] = f"Node {node} MemTotal: {kib} kB\nNode {node} MemFree: {kib * 9 // 10} kB\n"
    for gpu in range(world["gpus"]["count"]):
        folder = f"sys/bus/pci/devices/0000:{gpu_bus(gpu)}"
        files[f"{folder}/numa_node"] = f"{gpu_node(world, gpu)}\n"
        files[f"{folder}/vendor"] = "0x10de\n"
        files[f"{folder}/class"] = "0x030200\n"
    return files


def _etc_files(world: Mapping[str, Any]) -> dict[str, str]:
    name, _, version = world["host"]["os"].partition(" ")
    text = f'PRETTY_NAME="{world["host"]["os"]}"\nNAME="{name}"\nVERSION_ID="{version[:5]}"\nID={name.lower()}\n'
    return {"etc/os-release": text, "etc/hostname": f"{world['host']['name']}\n"}


def _still_process(state: Path, pid: int, argv: list[str], *, cgroup: str, start_ticks: int = 1) -> None:
    """A process of somebody else: there to be seen, not to be signalled."""
    folder = state / "proc" / str(pid)
    folder.mkdir(parents=True, exist_ok=True)
    name = Path(argv[0]).name[:15]
    (folder / "cmdline").write_text("\0".join(argv) + "\0")
    (folder / "comm").write_text(f"{name}\n")
    (folder / "cgroup").write_text(cgroup)
    parent = 0 if pid == 1 else 1
    (folder / "stat").write_text(
        f"{pid} ({name}) S {parent} {pid} {pid} 0 -1 4194560 {'0 ' * 8}20 0 1 0 {start_ticks} {'0 ' * 32}"
    )
    (folder / "status").write_text(
        f"Name:\t{name}\nState:\tS (sleeping)\nPid:\t{pid}\nPPid:\t{parent}\nUid:\t0\t0\t0\t0\n"
    )
    (folder / "environ").write_text("")


def machine_age_s() -> float:
    """Seconds since the real boot."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
