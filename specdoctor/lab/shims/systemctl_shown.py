"""What systemctl of the practice host tells of a unit: show, status, cat, is-active and their like."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from specdoctor.lab.keeper import is_kept, is_up
from specdoctor.lab.kept_output import read_lines
from specdoctor.lab.shims.systemctl_call import Call, warn_if_stale
from specdoctor.lab.unit_runs import RESTART_S, STOP_S
from specdoctor.lab.units import LAB_USER, Unit, seconds_of, split_words, time_words

LOG_LINES = 10
NOT_ACTIVE, NO_UNIT = 3, 4


def _state_of(call: Call, name: str) -> tuple[str, str, str]:
    """Active state, sub-state, result."""
    record = call.record(name)
    if record is None:
        return "inactive", "dead", "success"
    if is_up(record):
        return "active", "running", "success"
    if is_kept(record):
        return "activating", "auto-restart", "exit-code"
    code = record["exit_code"] or 0
    if record["wanted"] == "up" or code in (0, 128 + signal.SIGTERM) or record.get("stopped"):
        return "inactive", "dead", "success"
    return "failed", "failed", "signal" if code > 128 else "exit-code"


def _is_active(call: Call) -> int:
    states = [_state_of(call, name)[0] for name in call.names]
    if not {"--quiet", "-q"} & call.switches:
        print("\n".join(states))
    if "active" in states:
        return 0
    return NOT_ACTIVE if any(call.manager.loaded(name) for name in call.names) else NO_UNIT


def _is_enabled(call: Call) -> int:
    missing = [name for name in call.names if call.manager.loaded(name) is None]
    if missing:
        sys.stderr.write(f"Failed to get unit file state for {missing[0]}: No such file or directory\n")
        return 1
    print("\n".join("enabled" for _ in call.names))
    return 0


def _is_failed(call: Call) -> int:
    states = [_state_of(call, name)[0] for name in call.names]
    print("\n".join(states))
    return 0 if "failed" in states else 1


def _cat(call: Call) -> int:
    code = 0
    for name in call.names:
        unit = call.manager.read(name)
        if unit is None:
            sys.stderr.write(f"No files found for {name}.\n")
            code = 1
            continue
        warn_if_stale(call, name)
        shown = [unit.path, *unit.drop_ins]
        texts = [f"# {path}\n{text}" for path, text in zip(shown, unit.files.values(), strict=True)]
        sys.stdout.write("\n".join(texts))
    return code


def _stamp(at_s: float | None) -> str:
    return time.strftime("%a %Y-%m-%d %H:%M:%S UTC", time.gmtime(at_s)) if at_s else ""


def _show(call: Call) -> int:
    wanted = call.properties()
    blocks = []
    for name in call.names or [""]:
        known = shown_properties(call, name)
        names = wanted or list(known)
        pairs = [(each, known[each]) for each in names if each in known]
        blocks.append("\n".join(value if "--value" in call.switches else f"{each}={value}" for each, value in pairs))
    print("\n\n".join(blocks))
    return 0


def shown_properties(call: Call, name: str) -> dict[str, str]:
    """What `systemctl show` knows of a unit; one that does not exist has properties too."""
    unit = call.manager.loaded(name)
    active, sub, result = _state_of(call, name)
    if unit is None:
        return {
            "Id": name,
            "Names": name,
            "LoadState": "not-found",
            "ActiveState": "inactive",
            "SubState": "dead",
            "MainPID": "0",
            "NRestarts": "0",
            "Restart": "no",
            "FragmentPath": "",
            "DropInPaths": "",
        }
    record = call.record(name)
    pid = record["pid"] if record is not None and is_up(record) else 0
    known = {
        "Type": unit.last("Type", "simple"),
        "Restart": unit.last("Restart", "no"),
        "RestartUSec": time_words(seconds_of(unit.last("RestartSec"), RESTART_S)),
        "TimeoutStartUSec": time_words(seconds_of(unit.last("TimeoutStartSec"), STOP_S)),
        "TimeoutStopUSec": time_words(seconds_of(unit.last("TimeoutStopSec"), STOP_S)),
        "MainPID": str(pid),
        "ExecMainPID": str(pid),
        "ExecMainStartTimestamp": _stamp(record["started_at"]) if record else "",
        "ExecMainStatus": str((record["exit_code"] or 0) if record else 0),
        "NRestarts": str(record["restarts"] if record else 0),
        "Result": result,
        "ControlGroup": f"/{_place(call, name)}" if pid else "",
        "ExecStart": _exec_start(unit, record, pid),
        "Environment": " ".join(unit.settings.get("Environment", [])),
        "EnvironmentFiles": " ".join(
            f"{each.lstrip('-')} (ignore_errors={'yes' if each[0] == '-' else 'no'})"
            for each in unit.settings.get("EnvironmentFile", [])
        ),
        "WorkingDirectory": unit.last("WorkingDirectory"),
        "User": unit.last("User"),
        "Group": unit.last("Group"),
        "UMask": unit.last("UMask", "0022"),
        "Nice": unit.last("Nice", "0"),
        "CPUAffinity": unit.last("CPUAffinity"),
        "NUMAPolicy": unit.last("NUMAPolicy", "n/a"),
        "NUMAMask": unit.last("NUMAMask"),
        "LimitNOFILE": unit.last("LimitNOFILE", "524288"),
        "LimitMEMLOCK": unit.last("LimitMEMLOCK", "8388608"),
        "StandardInput": "null",
        "StandardOutput": unit.last("StandardOutput", "journal"),
        "StandardError": unit.last("StandardError", "inherit"),
        "KillMode": unit.last("KillMode", "control-group"),
        "KillSignal": "15",
        "Slice": "system.slice" if call.manager.scope == "system" else "app.slice",
    }
    general = {
        "Id": name,
        "Names": name,
        "Description": unit.last("Description", name),
        "LoadState": "loaded",
        "ActiveState": active,
        "SubState": sub,
        "FragmentPath": unit.path,
        "DropInPaths": " ".join(unit.drop_ins),
        "UnitFileState": "transient" if "/transient/" in unit.path else "enabled",
        "Transient": "yes" if "/transient/" in unit.path else "no",
        "NeedDaemonReload": "yes" if call.manager.is_stale(name) else "no",
        "After": unit.last("After"),
        "Requires": unit.last("Requires"),
        "PartOf": unit.last("PartOf"),
        "BindsTo": unit.last("BindsTo"),
        "TriggeredBy": "",
        "CanStart": "yes",
        "CanStop": "yes",
        "RefuseManualStart": unit.last("RefuseManualStart", "no"),
        "RefuseManualStop": unit.last("RefuseManualStop", "no"),
        "InvocationID": record["env"].get("INVOCATION_ID", "") if record else "",
        "ActiveEnterTimestamp": _stamp(record["started_at"]) if record else "",
    }
    return {**known, **general}


def _place(call: Call, name: str) -> str:
    if call.manager.scope == "system":
        return f"system.slice/{name}"
    return f"user.slice/user-{LAB_USER}.slice/user@{LAB_USER}.service/app.slice/{name}"


def _exec_start(unit: Unit, record: Mapping[str, Any] | None, pid: int) -> str:
    lines = unit.settings.get("ExecStart", [])
    words = split_words(lines[-1].lstrip("-@:+!")) if lines else []
    began = f"[{_stamp(record['started_at'])}]" if record and record["started_at"] else "[n/a]"
    return (
        f"{{ path={words[0] if words else ''} ; argv[]={' '.join(words)} ; ignore_errors=no ; start_time={began} ; "
        f"stop_time=[n/a] ; pid={pid} ; code=(null) ; status=0/0 }}"
    )


def _status(call: Call) -> int:
    code = 0
    for name in call.names:
        unit = call.manager.loaded(name)
        if unit is None:
            sys.stderr.write(f"Unit {name} could not be found.\n")
            return NO_UNIT
        warn_if_stale(call, name)
        active, sub, result = _state_of(call, name)
        record = call.record(name)
        dot = {"active": "●", "failed": "×"}.get(active, "○")
        since = f" since {_stamp(record['started_at'])}" if record and record["started_at"] else ""
        why = f" (Result: {result})" if active == "failed" else f" ({sub})"
        lines = [f"{dot} {name} - {unit.last('Description', name)}"]
        lines.append(f"     Loaded: loaded ({unit.path}; enabled; preset: enabled)")
        if unit.drop_ins:
            folder = str(Path(unit.drop_ins[0]).parent)
            lines.append(f"    Drop-In: {folder}\n             └─" + ", ".join(Path(p).name for p in unit.drop_ins))
        lines.append(f"     Active: {active}{why}{since}")
        if record is not None and is_up(record):
            lines.append(f"   Main PID: {record['pid']} ({Path(record['argv'][0]).name})")
            lines.append(
                f"     CGroup: /{_place(call, name)}\n             └─{record['pid']} {' '.join(record['argv'])}"
            )
        print("\n".join(lines))
        path = call.state / "kept" / f"{call.manager.record_name(name)}.journal"
        tail = [line.text for line in read_lines(path, tail=LOG_LINES)]
        if tail:
            print("\n" + "\n".join(tail))
        code = 0 if active == "active" else NOT_ACTIVE
    return code


def _list(call: Call) -> int:
    rows = [(name, "loaded", *_state_of(call, name)[:2]) for name in call.manager.names()]
    for name, load, active, sub in rows:
        unit = call.manager.loaded(name)
        print(f"  {name} {load} {active} {sub} {unit.last('Description', name) if unit else ''}")
    return 0


SHOWN: dict[str, Callable[[Call], int]] = {
    "show": _show,
    "status": _status,
    "cat": _cat,
    "is-active": _is_active,
    "is-enabled": _is_enabled,
    "is-failed": _is_failed,
    "list-units": _list,
}
