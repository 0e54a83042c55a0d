"""How a process of the practice host looks under HOST_PROC: its real /proc entries, but for CPUs, control group, age.

Only processes that belong to this practice host get a view, so several hosts on one computer do not see each other.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specdoctor.core.cpu_list import parse_list
from specdoctor.lab.cpu_shares import format_list, machine_cpus, world_cpus
from specdoctor.lab.kept_surroundings import space_link, surroundings_of
from specdoctor.lab.lab_state import (
    note_process,
    noted_processes,
    parent_of,
    point_proc,
    shown_age_s,
    start_ticks,
    write_atomically,
)
from specdoctor.lab.memory_policy import maps_text, remembered_policy

PASSED_THROUGH = (
    "autogroup cmdline comm environ fd fdinfo io limits loginuid maps mem mountinfo mounts net numa_maps "
    "oom_adj oom_score oom_score_adj sched schedstat smaps smaps_rollup stat statm syscall task wchan"
).split()
RESOLVED = ("cwd", "exe", "root")
PARENT_FIELD = 1
START_FIELD = 19
"""Place of the start time among the fields of stat behind the command's name."""
KEEPER_CGROUP = "0::/system.slice/containerd.service\n"
PYTHON_INSIDE = "/opt/image/bin/python3.12"
"""What a host without Python shows as the program of a process in a container."""
SPACES = ("mnt", "pid", "net", "user", "ipc", "uts", "cgroup", "time")


def show_process(state: Path, world: Mapping[str, Any], pid: int, *, title: str, aged_s: float = 0.0) -> None:
    """Record a living process as this host's and give it its place under HOST_PROC, in one step for readers.

    `aged_s` makes it older by so many seconds (not older than the computer): the world's server runs since long.
    """
    folder = state / "views" / f"{pid}.{time.monotonic_ns()}"
    try:
        _fill(folder, state, world, pid, aged_s=aged_s)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        if start_ticks(pid) is not None:
            raise
        return
    note_process(state, pid, title=title, aged_s=aged_s)
    point_proc(state, pid, folder)
    for old in (state / "views").glob(f"{pid}.*"):
        if old != folder:
            shutil.rmtree(old, ignore_errors=True)


def show_untouchable(state: Path, pid: int, *, title: str, comm: str = "", cgroup: str = KEEPER_CGROUP) -> None:
    """Show a process of root as other users see it: its words and its place, none of its descriptors."""
    folder = state / "views" / f"{pid}.{time.monotonic_ns()}"
    folder.mkdir()
    (folder / "cmdline").write_text("\0".join(title.split(" ")) + "\0")
    shown = comm or Path(title.split(" ", maxsplit=1)[0]).name[:15]
    (folder / "comm").write_text(shown + "\n")
    (folder / "cgroup").write_text(cgroup)
    (folder / "status").symlink_to(f"/proc/{pid}/status")
    stat = _shown_stat(pid, aged_s=0.0, parent=1)
    (folder / "stat").write_text(f"{pid} ({shown}{stat[stat.rindex(')') :]}")
    note_process(state, pid, title=title)
    point_proc(state, pid, folder)


def hide_process(state: Path, pid: int) -> None:
    """Take an ended process out of the view."""
    (state / "proc" / str(pid)).unlink(missing_ok=True)
    for path in (state / "run" / f"{pid}.json", state / "gpu" / f"{pid}.json"):
        path.unlink(missing_ok=True)
    for folder in (state / "views").glob(f"{pid}.*"):
        shutil.rmtree(folder, ignore_errors=True)


def drop_dead_views(state: Path) -> None:
    """Hide every process that has ended."""
    for pid, alive in list(noted_processes(state)):
        if not alive:
            hide_process(state, pid)


def refresh_views(state: Path, world: Mapping[str, Any]) -> None:
    """Hide the dead and bring the changing parts of the living up to date."""
    for pid, alive in list(noted_processes(state)):
        text = _status(world, pid) if alive else None
        view = state / "proc" / str(pid) / "status"
        if text is None:
            hide_process(state, pid)
        elif view.is_file() and view.resolve().is_relative_to(state):
            write_atomically(view.resolve(), text)
            _refresh_stat(view.resolve().with_name("stat"), pid, aged_s=shown_age_s(state, pid))


def _refresh_stat(view: Path, pid: int, *, aged_s: float) -> None:
    if not view.is_symlink():
        with contextlib.suppress(OSError):
            before = view.read_text(encoding="utf-8", errors="replace")
            place = before.rindex(")")
            fresh = _shown_stat(pid, aged_s=aged_s, parent=int(before[place + 2 :].split()[PARENT_FIELD]))
            write_atomically(view, before[:place] + fresh[fresh.rindex(")") :])


def _shown_stat(pid: int, *, aged_s: float, parent: int | None) -> str:
    """The stat line with an earlier start, and the parent that is shown."""
    text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    head, tail = text[: text.rindex(")") + 2], text[text.rindex(")") + 2 :].split()
    tail[START_FIELD] = str(max(int(tail[START_FIELD]) - round(aged_s * os.sysconf("SC_CLK_TCK")), 1))
    if parent is not None:
        tail[PARENT_FIELD] = str(parent)
    return head + " ".join(tail) + "\n"


def _fill(folder: Path, state: Path, world: Mapping[str, Any], pid: int, *, aged_s: float) -> None:
    folder.mkdir()
    real = Path("/proc") / str(pid)
    for name in PASSED_THROUGH:
        if (real / name).exists():
            (folder / name).symlink_to(real / name)
    surroundings = surroundings_of(state, pid)
    for name in RESOLVED:
        inside = name == "exe" and "container" in surroundings and not world["host"]["python"]
        (folder / name).symlink_to(PYTHON_INSIDE if inside else (real / name).readlink())
    text = _status(world, pid)
    if text is None:
        raise ProcessLookupError(pid)
    (folder / "status").write_text(text)
    (folder / "cgroup").write_text(surroundings["cgroup"])
    policy = remembered_policy(state, pid)
    if policy is not None:
        (folder / "numa_maps").unlink(missing_ok=True)
        (folder / "numa_maps").write_text(maps_text(policy))
    (folder / "ns").mkdir()
    for name in SPACES:
        if (real / "ns" / name).is_symlink():
            (folder / "ns" / name).symlink_to(space_link(surroundings, name) or (real / "ns" / name).readlink())
    parent = {surroundings.get("pid"): surroundings.get("parent")}.get(parent_of(pid))
    if aged_s or parent:
        (folder / "stat").unlink()
        (folder / "stat").write_text(_shown_stat(pid, aged_s=aged_s, parent=parent))


def _status(world: Mapping[str, Any], pid: int) -> str | None:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    nodes = f"0-{world['host']['numa_nodes'] - 1}" if world["host"]["numa_nodes"] > 1 else "0"
    out = []
    for line in lines:
        name, _, value = line.partition(":\t")
        if name == "Cpus_allowed_list":
            value = format_list(_allowed(world, value))
        elif name == "Cpus_allowed":
            continue
        elif name == "Mems_allowed_list":
            value = nodes
        elif name == "Mems_allowed":
            continue
        out.append(f"{name}:\t{value}")
    return "\n".join(out) + "\n"


def _allowed(world: Mapping[str, Any], real_list: str) -> set[int]:
    count = world["host"]["cpus"]
    return world_cpus(parse_list(real_list), world_count=count, available=machine_cpus())
