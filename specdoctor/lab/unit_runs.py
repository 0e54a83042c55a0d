"""Starting and stopping a loaded unit of a practice host."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specdoctor.lab.keeper import new_record, read_record, start_kept, stop_kept, write_record
from specdoctor.lab.lab_state import scale_of
from specdoctor.lab.units import LAB_USER, Manager, Unit, environment_of, expand, seconds_of

STOP_S = 90.0
RESTART_S = 0.1


def launch(state: Path, world: Mapping[str, Any], manager: Manager, unit: Unit) -> None:
    """Start a loaded unit that does not run. Raises UnitFault when its settings do not allow it."""
    base = json.loads((state / "plumbing.json").read_text(encoding="utf-8"))
    env = environment_of(unit, base={**os.environ, **base}, user=world["host"]["user"], home=manager.home)
    argv = expand(unit.exec_start, env)
    restart = unit.last("Restart", "no")
    output = unit.last("StandardOutput", "journal")
    kind, _, path = output.partition(":")
    log = state / "kept" / f"{manager.record_name(unit.name)}.journal"
    scale = scale_of(state)
    user = f"user.slice/user-{LAB_USER}.slice/user@{LAB_USER}.service/app.slice/{unit.name}"
    place = f"system.slice/{unit.name}" if manager.scope == "system" else user
    before = _counted(state, manager, unit.name)
    record = new_record(
        manager.record_name(unit.name),
        argv=argv,
        env=env,
        cwd=unit.last("WorkingDirectory", "/").lstrip("-").replace("%h", str(manager.home)),
        policy="always" if restart == "always" else "on-failure" if restart.startswith("on-") else "no",
        delay_s=seconds_of(unit.last("RestartSec"), RESTART_S) * scale,
        output=f"file:{path}" if kind in ("append", "file", "truncate") else f"socket:{log}",
        surroundings={"cgroup": f"0::/{place}\n", "spaces": [], "parent": 1},
        unit=unit.name,
        starts=before + 1,
    )
    write_record(state, record)
    note(state, manager, unit.name, f"Started {unit.name} - {unit.last('Description', unit.name)}.")
    start_kept(state, record["name"])


def _counted(state: Path, manager: Manager, unit: str) -> int:
    try:
        return int(read_record(state, manager.record_name(unit))["starts"])
    except FileNotFoundError:
        return 0


def note(state: Path, manager: Manager, unit: str, text: str) -> None:
    """A line of the manager itself in the unit's journal."""
    path = state / "kept" / f"{manager.record_name(unit)}.journal"
    entry = {"log": text, "stream": "systemd", "time": time.time()}
    with path.open("ab", buffering=0) as journal:
        journal.write(json.dumps(entry).encode() + b"\n")


def halt(state: Path, manager: Manager, unit: Unit) -> None:
    """Stop a unit as its settings say: by default all of its processes are signalled."""
    word = unit.last("KillSignal", "SIGTERM")
    number = int(signal.Signals[word]) if word in signal.Signals.__members__ else signal.SIGTERM
    grace = seconds_of(unit.last("TimeoutStopSec", unit.last("TimeoutSec")), STOP_S)
    everyone = unit.last("KillMode", "control-group") == "control-group"
    stop_kept(state, manager.record_name(unit.name), grace_s=grace, number=number, everyone=everyone)
    note(state, manager, unit.name, f"Stopped {unit.name} - {unit.last('Description', unit.name)}.")
