"""What the keepers of the servers say: how each server is kept, and what stands in the way of a restart through it."""

import re
from typing import Any, Dict, List, Optional

from specdoctor.remote.parts.answer import Refusal
from specdoctor.remote.parts.drivers import driver_of
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


def kept_facts(stat: Stat, cgroup: str, container: Optional[str]) -> Optional[Dict[str, Any]]:
    """One server's keeper with obstacles and remarks; None where nobody keeps it."""
    keeper = keeper_named(cgroup, container)
    if keeper is None:
        return None
    found: Dict[str, Any] = dict(keeper, pid=stat.pid, obstacles=[], remarks=[])
    obstacles: List[str] = []
    try:
        driver = driver_of({"keeper": keeper})
        record = driver.record("look", {"pid": stat.pid, "start_ticks": stat.start_ticks, "port": 0})
        obstacles = driver.obstacles(record)
        found.update(remarks=driver.remarks(record))
    except Refusal as refusal:
        obstacles = [refusal.message]
    return dict(found, obstacles=obstacles)
