"""The machine itself: name, boot, kernel, processors, memory, NUMA nodes, governor."""

import getpass
import os
import platform
import re
import sys
import time
from typing import Any, Dict, Optional, Tuple

from specdoctor.remote.parts.procfs import PROC, SYS, boot_time, first_line, read_text


def _memory_kb(name: str) -> Optional[int]:
    match = re.search(r"^%s:\s+(\d+) kB" % name, read_text(PROC + "/meminfo") or "", re.MULTILINE)
    return int(match.group(1)) if match else None


def _cpu_count() -> Optional[int]:
    """Online processors, by sysfs where it can be read."""
    count = 0
    for span in (first_line(SYS + "/devices/system/cpu/online") or "").split(","):
        match = re.match(r"^(\d+)(?:-(\d+))?$", span)
        if match:
            count += int(match.group(2) or match.group(1)) - int(match.group(1)) + 1
    return count or os.cpu_count()


def _numa_nodes() -> Dict[str, str]:
    base = SYS + "/devices/system/node"
    try:
        names = sorted(name for name in os.listdir(base) if re.match(r"^node\d+$", name))
    except OSError:
        return {}
    return {name[4:]: first_line("%s/%s/cpulist" % (base, name)) or "" for name in names}


def _hypervisor() -> Optional[str]:
    kind = first_line(SYS + "/hypervisor/type")
    if kind:
        return kind
    vendor = first_line(SYS + "/class/dmi/id/sys_vendor") or ""
    product = first_line(SYS + "/class/dmi/id/product_name") or ""
    if re.search(r"^flags\s*:.*\bhypervisor\b", read_text(PROC + "/cpuinfo", 65536) or "", re.MULTILINE):
        return (vendor + " " + product).strip() or "present"
    return None


def _login() -> Tuple[str, int]:
    """Name and id of whoever logged in, also under sudo."""
    name, uid = os.environ.get("SUDO_USER", ""), os.environ.get("SUDO_UID", "")
    if os.getuid() == 0 and name and uid.isdigit():
        return name, int(uid)
    try:
        return getpass.getuser(), os.getuid()
    except (KeyError, OSError):
        return str(os.getuid()), os.getuid()


def read_host() -> Dict[str, Any]:
    load = (first_line(PROC + "/loadavg") or "").split()
    system = os.uname()
    user, uid = _login()
    return {
        "hostname": first_line(PROC + "/sys/kernel/hostname") or system.nodename,
        "now": time.time(),
        "boot_id": first_line(PROC + "/sys/kernel/random/boot_id"),
        "booted_at": boot_time(),
        "kernel": first_line(PROC + "/sys/kernel/osrelease") or system.release,
        "machine": system.machine,
        "cpu_count": _cpu_count(),
        "load_1m": float(load[0]) if load else None,
        "mem_total_kb": _memory_kb("MemTotal"),
        "mem_available_kb": _memory_kb("MemAvailable"),
        "python": platform.python_version(),
        "interpreter": sys.executable or "",
        "user": user,
        "uid": uid,
        "privileged": uid != os.geteuid(),
        "numa_nodes": _numa_nodes(),
        "cpu_governor": first_line(SYS + "/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "hypervisor": _hypervisor(),
    }
