"""What the processes of one practice host share on disk: who they are, and what they hold of the GPUs.

Standard library only: the small programs in `shims` read it and must start fast. Everything lies under one folder:

    world.json             the world as its processes see it (no symptom, no answer)
    run/<pid>.json         a process of this host: start ticks, title
    gpu/<pid>.json         GPU memory that a process holds, in MiB by GPU index, and how busy it keeps the GPUs
    views/                 what stands behind proc/<pid> where that is not the real entry
    proc/, sys/            what HOST_PROC and HOST_SYS point to
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STATE_VARIABLE = "LAB_STATE"
ID_VARIABLE = "LAB_ID"
TIME_SCALE_VARIABLE = "LAB_TIME_SCALE"
BUSY_VALID_S = 1.5


@dataclass(frozen=True)
class Holding:
    """GPU memory of one living process."""

    pid: int
    title: str
    memory_mib: Mapping[int, int]
    busy: float


def state_dir() -> Path:
    """The folder of the host this process runs on. Raises KeyError outside of any."""
    return Path(os.environ[STATE_VARIABLE])


def read_world(state: Path) -> dict[str, Any]:
    """The world's facts as plain JSON values."""
    world: dict[str, Any] = json.loads((state / "world.json").read_text(encoding="utf-8"))
    return world


def scale_of(state: Path) -> float:
    """How much longer (above 1) or shorter every modelled duration of this host is."""
    return float(json.loads((state / "host.json").read_text(encoding="utf-8"))["time_scale"])


def start_ticks(pid: int) -> int | None:
    """Start time of a living process in clock ticks since boot; None when it is gone or a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()
    return None if fields[0] in "ZX" else int(fields[19])


def parent_of(pid: int) -> int | None:
    """The parent of a process as the kernel knows it; None when the process is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return int(text[text.rindex(")") + 2 :].split()[1])


def write_atomically(path: Path, text: str) -> None:
    """Readers see the old text or the new one, never a part."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def note_process(state: Path, pid: int, *, title: str, aged_s: float = 0.0) -> None:
    """Record a living process as one of this host's. `aged_s`: how much older it is in the world than in truth."""
    ticks = start_ticks(pid)
    if ticks is not None:
        record = {"pid": pid, "ticks": ticks, "title": title, "aged_s": aged_s}
        write_atomically(state / "run" / f"{pid}.json", json.dumps(record))


def point_proc(state: Path, pid: int, target: Path) -> None:
    """Let HOST_PROC/<pid> lead to `target`, at once for readers."""
    draft = state / "proc" / f".{pid}.{os.getpid()}"
    draft.unlink(missing_ok=True)
    draft.symlink_to(target)
    draft.replace(state / "proc" / str(pid))


def show_plainly(state: Path, pid: int) -> None:
    """Give a process its real /proc entry under HOST_PROC, unless it has a view already."""
    if not (state / "proc" / str(pid)).exists():
        note_process(state, pid, title="")
        point_proc(state, pid, Path("/proc") / str(pid))


def noted_processes(state: Path) -> Iterator[tuple[int, bool]]:
    """Each recorded pid, and whether it is still that process."""
    for path in sorted((state / "run").glob("*.json")):
        record = _read_json(path)
        if record is not None:
            pid = int(record["pid"])
            yield pid, start_ticks(pid) == record["ticks"]


def note_ready(state: Path, pid: int) -> None:
    """Record that this server serves now."""
    write_atomically(state / "run" / "ready", str(pid))


def ready_server(state: Path) -> int | None:
    """The server that became ready last."""
    try:
        return int((state / "run" / "ready").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def shown_age_s(state: Path, pid: int) -> float:
    """How much older than in truth a recorded process is shown."""
    record = _read_json(state / "run" / f"{pid}.json")
    return float(record["aged_s"]) if record is not None else 0.0


def hold_gpu(state: Path, pid: int, *, title: str, memory_mib: Mapping[int, int], busy: float = 0.0) -> None:
    """Record what `pid` holds. `busy` is the share of recent time in which it kept its GPUs at work."""
    record = {
        "pid": pid,
        "ticks": start_ticks(pid),
        "title": title,
        "memory_mib": {str(gpu): mib for gpu, mib in memory_mib.items()},
        "busy": busy,
        "at": time.time(),
    }
    write_atomically(state / "gpu" / f"{pid}.json", json.dumps(record))


def gpu_holdings(state: Path) -> list[Holding]:
    """What living processes hold; the dead hold nothing."""
    found = []
    for path in sorted((state / "gpu").glob("*.json")):
        record = _read_json(path)
        if record is None or record["ticks"] is None or start_ticks(record["pid"]) != record["ticks"]:
            continue
        fresh = time.time() - record["at"] < BUSY_VALID_S
        memory = {int(gpu): int(mib) for gpu, mib in record["memory_mib"].items()}
        found.append(Holding(record["pid"], record["title"], memory, record["busy"] if fresh else 0.0))
    return found


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record
