"""What the keepers of the servers say: how each server is kept, and what stands in the way of a restart through it."""

import re
from typing import Any, Dict, Optional

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.drivers import driver_of
from specdoctor.remote.parts.foreign_keepers import job_known, pod_known
from specdoctor.remote.parts.procfs import Stat

KEPT_UNIT = re.compile(r"/([\w@.:\\-]+\.service)(?:/|$)")


def keeper_named(cgroup: str, container: Optional[str]) -> Optional[Dict[str, str]]:
    """The keeper that a control group names: {"kind", "name", "scope"}; None for a process that nobody keeps."""
    if container:
        tool = "podman" if "libpod" in cgroup else "docker"
        return None if "kubepods" in cgroup else {"kind": tool, "name": container, "scope": "system"}
    units = [name for name in KEPT_UNIT.findall(cgroup) if not name.startswith("user@")]
    if not units:
        return None
    return {"kind": "systemd", "name": units[-1], "scope": "user" if "/user@" in cgroup else "system"}


def kept_facts(stat: Stat, cgroup: str, container: Optional[str], env: Dict[str, str]) -> Optional[Dict[str, Any]]:
    """One server's keeper with obstacles, remarks and what a person needs to know; None where nobody keeps it."""
    pod = pod_known(cgroup, container) if "kubepods" in cgroup else {}
    job = job_known(cgroup, env) if not pod else {}
    if pod or job:
        kind, name = ("kubernetes", pod["pod"]) if pod else ("slurm", job["JobId"])
        return {"pid": stat.pid, "kind": kind, "name": name, "known": pod or job}
    keeper = keeper_named(cgroup, container)
    if keeper is None:
        return None
    found: Dict[str, Any] = dict(keeper, pid=stat.pid)
    try:
        driver = driver_of({"keeper": keeper})
        record = driver.record("look", {"pid": stat.pid, "start_ticks": stat.start_ticks, "port": 0})
        found.update(obstacles=driver.obstacles(record), remarks=driver.remarks(record), known=driver.known(record))
    except Refusal as refusal:
        found.update(obstacles=[refusal.message])
    return found
