"""systemctl of the practice host, for the system's service manager and (--user) the login's own."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from specdoctor.lab.keeper import is_kept, is_up, new_record, read_record, start_kept, stop_kept, write_record
from specdoctor.lab.kept_output import read_lines
from specdoctor.lab.lab_state import read_world, scale_of, state_dir
from specdoctor.lab.shims.access import is_root
from specdoctor.lab.units import (
    LAB_USER,
    Manager,
    Unit,
    UnitFault,
    environment_of,
    expand,
    seconds_of,
    split_words,
    time_words,
)

STOP_S = 90.0
RESTART_S = 0.1
NOT_ACTIVE, NO_UNIT, NOT_LOADED = 3, 4, 5
VALUE_OPTIONS = (
    "--property",
    "-p",
    "--lines",
    "-n",
    "--output",
    "-o",
    "--type",
    "-t",
    "--state",
    "--signal",
    "-s",
    "--kill-whom",
    "--kill-who",
    "--job-mode",
)
SWITCHES = (
    "--user",
    "--system",
    "--no-pager",
    "--value",
    "--quiet",
    "-q",
    "--no-block",
    "--now",
    "--runtime",
    "--full",
    "-l",
    "--all",
    "-a",
    "--plain",
    "--no-legend",
    "--no-ask-password",
    "--force",
    "-f",
    "--wait",
)
LOG_LINES = 10


def main(argv: Sequence[str]) -> int:
    """`argv[0]` is systemctl; returns its exit code."""
    try:
        call = _read(list(argv[1:]))
    except UnitFault as fault:
        sys.stderr.write(f"{fault}\n")
        return 1
    if call.verb not in _VERBS:
        sys.stderr.write(f"Unknown command verb '{call.verb}'.\n")
        return 1
    denied = call.verb in _ROOTS_ALONE and _refused(call)
    if denied:
        sys.stderr.write(denied)
        return 1
    return _VERBS[call.verb](call)


class _Call:
    """One command line."""

    def __init__(self, verb: str, names: list[str], switches: set[str], values: list[tuple[str, str]]) -> None:
        self.verb = verb
        self.names = [name if "." in name else f"{name}.service" for name in names]
        self.switches = switches
        self.values = values
        self.state = state_dir()
        self.world = read_world(self.state)
        scope = "user" if "--user" in switches else "system"
        self.manager = Manager(self.state, scope, self.state / "home")

    def properties(self) -> list[str]:
        given = [value for name, value in self.values if name in ("--property", "-p")]
        return [name for value in given for name in value.split(",") if name]

    def record(self, unit: str) -> dict[str, Any] | None:
        try:
            return read_record(self.state, self.manager.record_name(unit))
        except FileNotFoundError:
            return None


def _read(words: list[str]) -> _Call:
    verb, names, switches, values = "", [], set(), []
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if word in SWITCHES:
            switches.add(word)
        elif name in VALUE_OPTIONS and equals:
            values.append((name, value))
        elif word in VALUE_OPTIONS:
            if not words:
                raise UnitFault(f"systemctl: option requires an argument -- '{word.lstrip('-')}'")
            values.append((word, words.pop(0)))
        elif word[:2] in ("-p", "-n", "-o", "-t") and not word.startswith("--") and len(word) > 2:
            values.append((word[:2], word[2:]))
        elif word.startswith("--"):
            raise UnitFault(f"systemctl: unrecognized option '{word}'")
        elif word.startswith("-") and len(word) > 1:
            raise UnitFault(f"systemctl: invalid option -- '{word[1]}'")
        elif not verb:
            verb = word
        else:
            names.append(word)
    return _Call(verb or "list-units", names, switches, values)


_ROOTS_ALONE = frozenset("start stop restart try-restart kill daemon-reload reset-failed".split())


def _refused(call: _Call) -> str:
    keeper = call.world["keeper"]
    if call.manager.scope == "user" or is_root() or keeper.get("access", "login") == "login":
        return ""
    if call.verb == "daemon-reload":
        return "Failed to reload daemon: Interactive authentication required.\n"
    unit = call.names[0] if call.names else ""
    if call.manager.loaded(unit) is None:
        return ""
    return (
        f"Failed to {call.verb} {unit}: Interactive authentication required.\n"
        f"See system logs and 'systemctl status {unit}' for details.\n"
    )


def _warn_if_stale(call: _Call, name: str) -> None:
    if call.manager.is_stale(name):
        user = " --user" if call.manager.scope == "user" else ""
        sys.stderr.write(
            f"Warning: The unit file, source configuration file or drop-ins of {name} changed on disk. "
            f"Run 'systemctl{user} daemon-reload' to reload units.\n"
        )


def _start(call: _Call) -> int:
    code = 0
    for name in call.names:
        unit = call.manager.loaded(name)
        if unit is None or (call.manager.read(name) is None and call.record(name) is None):
            sys.stderr.write(f"Failed to start {name}: Unit {name} not found.\n")
            code = NOT_LOADED
            continue
        _warn_if_stale(call, name)
        record = call.record(name)
        if record is not None and (is_up(record) or is_kept(record)):
            continue
        try:
            launch(call.state, call.world, call.manager, unit)
        except UnitFault as fault:
            sys.stderr.write(
                f"Failed to start {name}: Unit {name} has a bad unit file setting.\n"
                f"See system logs and 'systemctl status {name}' for details.\n"
            )
            _note(call.state, call.manager, name, str(fault))
            code = 1
    return code


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
    _note(state, manager, unit.name, f"Started {unit.name} - {unit.last('Description', unit.name)}.")
    start_kept(state, record["name"])


def _counted(state: Path, manager: Manager, unit: str) -> int:
    try:
        return int(read_record(state, manager.record_name(unit))["starts"])
    except FileNotFoundError:
        return 0


def _note(state: Path, manager: Manager, unit: str, text: str) -> None:
    """A line of the manager itself in the unit's journal."""
    path = state / "kept" / f"{manager.record_name(unit)}.journal"
    entry = {"log": text, "stream": "systemd", "time": time.time()}
    with path.open("ab", buffering=0) as journal:
        journal.write(json.dumps(entry).encode() + b"\n")


def _stop(call: _Call) -> int:
    code = 0
    for name in call.names:
        unit = call.manager.loaded(name)
        if unit is None:
            sys.stderr.write(f"Failed to stop {name}: Unit {name} not loaded.\n")
            code = NOT_LOADED
            continue
        _warn_if_stale(call, name)
        halt(call.state, call.manager, unit)
    return code


def halt(state: Path, manager: Manager, unit: Unit) -> None:
    """Stop a unit as its settings say: by default all of its processes are signalled."""
    word = unit.last("KillSignal", "SIGTERM")
    number = int(signal.Signals[word]) if word in signal.Signals.__members__ else signal.SIGTERM
    grace = seconds_of(unit.last("TimeoutStopSec", unit.last("TimeoutSec")), STOP_S)
    everyone = unit.last("KillMode", "control-group") == "control-group"
    stop_kept(state, manager.record_name(unit.name), grace_s=grace, number=number, everyone=everyone)
    _note(state, manager, unit.name, f"Stopped {unit.name} - {unit.last('Description', unit.name)}.")


def _restart(call: _Call) -> int:
    known = [name for name in call.names if call.manager.loaded(name) is not None]
    for name in known:
        unit = call.manager.loaded(name)
        assert unit is not None
        halt(call.state, call.manager, unit)
    return _start(call)


def _reload(call: _Call) -> int:
    call.manager.reload()
    return 0


def _state_of(call: _Call, name: str) -> tuple[str, str, str]:
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


def _is_active(call: _Call) -> int:
    states = [_state_of(call, name)[0] for name in call.names]
    if not {"--quiet", "-q"} & call.switches:
        print("\n".join(states))
    if "active" in states:
        return 0
    return NOT_ACTIVE if any(call.manager.loaded(name) for name in call.names) else NO_UNIT


def _is_enabled(call: _Call) -> int:
    missing = [name for name in call.names if call.manager.loaded(name) is None]
    if missing:
        sys.stderr.write(f"Failed to get unit file state for {missing[0]}: No such file or directory\n")
        return 1
    print("\n".join("enabled" for _ in call.names))
    return 0


def _is_failed(call: _Call) -> int:
    states = [_state_of(call, name)[0] for name in call.names]
    print("\n".join(states))
    return 0 if "failed" in states else 1


def _cat(call: _Call) -> int:
    code = 0
    for name in call.names:
        unit = call.manager.read(name)
        if unit is None:
            sys.stderr.write(f"No files found for {name}.\n")
            code = 1
            continue
        _warn_if_stale(call, name)
        shown = [unit.path, *unit.drop_ins]
        texts = [f"# {path}\n{text}" for path, text in zip(shown, unit.files.values(), strict=True)]
        sys.stdout.write("\n".join(texts))
    return code


def _stamp(at_s: float | None) -> str:
    return time.strftime("%a %Y-%m-%d %H:%M:%S UTC", time.gmtime(at_s)) if at_s else ""


def _show(call: _Call) -> int:
    wanted = call.properties()
    blocks = []
    for name in call.names or [""]:
        known = shown_properties(call, name)
        names = wanted or list(known)
        pairs = [(each, known[each]) for each in names if each in known]
        blocks.append("\n".join(value if "--value" in call.switches else f"{each}={value}" for each, value in pairs))
    print("\n\n".join(blocks))
    return 0


def shown_properties(call: _Call, name: str) -> dict[str, str]:
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


def _place(call: _Call, name: str) -> str:
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


def _status(call: _Call) -> int:
    code = 0
    for name in call.names:
        unit = call.manager.loaded(name)
        if unit is None:
            sys.stderr.write(f"Unit {name} could not be found.\n")
            return NO_UNIT
        _warn_if_stale(call, name)
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


def _list(call: _Call) -> int:
    rows = [(name, "loaded", *_state_of(call, name)[:2]) for name in call.manager.names()]
    for name, load, active, sub in rows:
        unit = call.manager.loaded(name)
        print(f"  {name} {load} {active} {sub} {unit.last('Description', name) if unit else ''}")
    return 0


def _kill(call: _Call) -> int:
    word = next((value for name, value in call.values if name in ("--signal", "-s")), "SIGTERM")
    number = int(word) if word.isdecimal() else int(signal.Signals["SIG" + word.upper().removeprefix("SIG")])
    for name in call.names:
        record = call.record(name)
        if record is None or not is_up(record):
            sys.stderr.write(f"Failed to kill unit {name}: No such unit or it does not run.\n")
            return 1
        os.kill(record["pid"], number)
    return 0


def _nothing(call: _Call) -> int:
    return 0


_VERBS: dict[str, Callable[[_Call], int]] = {
    "show": _show,
    "status": _status,
    "cat": _cat,
    "start": _start,
    "stop": _stop,
    "restart": _restart,
    "try-restart": _restart,
    "daemon-reload": _reload,
    "is-active": _is_active,
    "is-enabled": _is_enabled,
    "is-failed": _is_failed,
    "list-units": _list,
    "kill": _kill,
    "reset-failed": _nothing,
}
