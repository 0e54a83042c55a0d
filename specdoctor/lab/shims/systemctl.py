"""systemctl of the practice host, for the system's service manager and (--user) the login's own."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence

from specdoctor.lab.keeper import is_kept, is_up
from specdoctor.lab.shims.access import is_root
from specdoctor.lab.shims.systemctl_call import Call, read_call, warn_if_stale
from specdoctor.lab.shims.systemctl_shown import SHOWN
from specdoctor.lab.unit_runs import halt, launch, note
from specdoctor.lab.units import UnitFault

NOT_LOADED = 5


def main(argv: Sequence[str]) -> int:
    """`argv[0]` is systemctl; returns its exit code."""
    try:
        call = read_call(list(argv[1:]))
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


_ROOTS_ALONE = frozenset("start stop restart try-restart kill daemon-reload reset-failed".split())


def _refused(call: Call) -> str:
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


def _start(call: Call) -> int:
    code = 0
    for name in call.names:
        unit = call.manager.loaded(name)
        if unit is None or (call.manager.read(name) is None and call.record(name) is None):
            sys.stderr.write(f"Failed to start {name}: Unit {name} not found.\n")
            code = NOT_LOADED
            continue
        warn_if_stale(call, name)
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
            note(call.state, call.manager, name, str(fault))
            code = 1
    return code


def _stop(call: Call) -> int:
    code = 0
    for name in call.names:
        unit = call.manager.loaded(name)
        if unit is None:
            sys.stderr.write(f"Failed to stop {name}: Unit {name} not loaded.\n")
            code = NOT_LOADED
            continue
        warn_if_stale(call, name)
        halt(call.state, call.manager, unit)
    return code


def _restart(call: Call) -> int:
    known = [name for name in call.names if call.manager.loaded(name) is not None]
    for name in known:
        unit = call.manager.loaded(name)
        assert unit is not None
        halt(call.state, call.manager, unit)
    return _start(call)


def _reload(call: Call) -> int:
    call.manager.reload()
    return 0


def _kill(call: Call) -> int:
    word = next((value for name, value in call.values if name in ("--signal", "-s")), "SIGTERM")
    number = int(word) if word.isdecimal() else int(signal.Signals["SIG" + word.upper().removeprefix("SIG")])
    for name in call.names:
        record = call.record(name)
        if record is None or not is_up(record):
            sys.stderr.write(f"Failed to kill unit {name}: No such unit or it does not run.\n")
            return 1
        os.kill(record["pid"], number)
    return 0


def _nothing(call: Call) -> int:
    return 0


_VERBS: dict[str, Callable[[Call], int]] = {
    **SHOWN,
    "start": _start,
    "stop": _stop,
    "restart": _restart,
    "try-restart": _restart,
    "daemon-reload": _reload,
    "kill": _kill,
    "reset-failed": _nothing,
}
