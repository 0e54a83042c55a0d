"""docker and systemctl of the practice host, as far as one kept server needs them; journalctl shows its log."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from specdoctor.lab.keeper import change_record, read_record, stop_kept
from specdoctor.lab.lab_state import read_world, state_dir
from specdoctor.lab.machine import container_id

UNIT = "sglang.service"
DOCKER_GRACE_S = 10.0
SYSTEMD_GRACE_S = 90.0


def main(argv: Sequence[str]) -> int:
    """`argv[0]` names the tool; returns its exit code."""
    state = state_dir()
    world = read_world(state)
    tool, words = argv[0], list(argv[1:])
    if tool == "docker":
        return _docker(state, world, words)
    if tool == "journalctl":
        return _journal(state, world, words)
    return _systemctl(state, world, words)


def _docker(state: Path, world: Mapping[str, Any], words: list[str]) -> int:
    command, rest = (words[0], words[1:]) if words else ("", [])
    if world["host"]["container"] is None:
        if command == "ps":
            print("CONTAINER ID   IMAGE     COMMAND   CREATED   STATUS    PORTS     NAMES")
            return 0
        sys.stderr.write(f"Error: No such object: {rest[-1] if rest else ''}\n")
        return 1
    container = _describe(state, world)
    if command == "ps":
        _docker_ps(container, rest)
        return 0
    names = [word for word in rest if word in (container["Id"], container["Id"][:12], container["Name"].lstrip("/"))]
    if not names:
        sys.stderr.write(f"Error: No such object: {rest[-1] if rest else ''}\n")
        return 1
    if command == "inspect":
        form = next((rest[i + 1] for i, word in enumerate(rest[:-1]) if word in ("--format", "-f")), None)
        print(json.dumps([container], indent=4) if form is None else _fill(form, container))
    elif command == "logs":
        sys.stdout.write(_tail(state, rest))
    elif command in ("stop", "restart", "start", "kill"):
        if command != "start":
            stop_kept(state, grace_s=0.1 if command == "kill" else DOCKER_GRACE_S)
        if command in ("start", "restart"):
            change_record(state, wanted="up")
        print(names[0])
    else:
        sys.stderr.write(f"docker: '{command}' is not offered on this host\n")
        return 1
    return 0


def _describe(state: Path, world: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of `docker inspect` that tell how a server is kept."""
    given = world["host"]["container"]
    record = read_record(state)
    running = record["pid"] is not None
    began = time.strftime("%Y-%m-%dT%H:%M:%S.000000000Z", time.gmtime(record.get("started_at", 0)))
    return {
        "Id": container_id(world),
        "Name": "/" + given["name"],
        "RestartCount": record["restarts"],
        "State": {"Status": "running" if running else "exited", "Running": running, "Pid": record["pid"] or 0}
        | {"ExitCode": record["exit_code"] or 0, "StartedAt": began},
        "Config": {
            "Image": given["image"],
            "Cmd": record["argv"],
            "Env": [f"{name}={value}" for name, value in record["env"].items() if not name.startswith("LAB_")],
        },
        "HostConfig": {
            "RestartPolicy": {"Name": given["restart_policy"], "MaximumRetryCount": 0},
            "NetworkMode": "host",
            "IpcMode": "host",
            "ShmSize": 34359738368,
        },
    }


def _docker_ps(container: Mapping[str, Any], options: list[str]) -> None:
    if not container["State"]["Running"] and not {"-a", "--all"} & set(options):
        rows = []
    else:
        rows = [container]
    form = next((options[i + 1] for i, word in enumerate(options[:-1]) if word == "--format"), None)
    if "-q" in options:
        print("\n".join(row["Id"][:12] for row in rows))
        return
    shown = [
        {
            "ID": row["Id"][:12],
            "Image": row["Config"]["Image"],
            "Command": json.dumps(" ".join(row["Config"]["Cmd"])[:20] + "…", ensure_ascii=False),
            "Status": "Up" if row["State"]["Running"] else f"Exited ({row['State']['ExitCode']})",
            "Ports": "",
            "Names": row["Name"].lstrip("/"),
        }
        for row in rows
    ]
    if form is None:
        print("CONTAINER ID   IMAGE     COMMAND   CREATED   STATUS    PORTS     NAMES")
        form = "{{.ID}}   {{.Image}}   {{.Command}}   -   {{.Status}}   {{.Ports}}   {{.Names}}"
    print("\n".join(_fill(form, row) for row in shown))


def _fill(form: str, values: Mapping[str, Any]) -> str:
    """Go's template language, as far as fields and `json` go."""

    def value(match: re.Match[str]) -> str:
        found: Any = values
        for name in match.group(2).split(".")[1:]:
            found = found.get(name) if isinstance(found, Mapping) and name else found
        if match.group(1):
            return json.dumps(found)
        return "<no value>" if found is None else str(found).lower() if isinstance(found, bool) else str(found)

    return re.sub(r"\{\{\s*(json\s+)?(\.[\w.]*)\s*\}\}", value, form)


def _tail(state: Path, options: list[str]) -> str:
    lines = Path(read_record(state)["log"]).read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    joined = " ".join(options)
    match = re.search(r"(?:--tail|--lines|-n)[= ](\d+)", joined)
    return "".join(lines[-int(match.group(1)) :] if match else lines)


def _journal(state: Path, world: Mapping[str, Any], words: list[str]) -> int:
    if world["host"]["service"] != "systemd" or UNIT not in " ".join(words):
        print("-- No entries --")
        return 0
    sys.stdout.write(_tail(state, words))
    return 0


def _systemctl(state: Path, world: Mapping[str, Any], words: list[str]) -> int:
    names = [word for word in words[1:] if not word.startswith("-")]
    if world["host"]["service"] != "systemd" or not words or names[:1] not in ([UNIT], [UNIT.removesuffix(".service")]):
        sys.stderr.write(f"Unit {names[0] if names else ''} could not be found.\n")
        return 4
    record = read_record(state)
    active = "active" if record["pid"] is not None else "inactive"
    if words[0] == "show":
        known = {
            "Id": UNIT,
            "Restart": record["policy"],
            "FragmentPath": f"/etc/systemd/system/{UNIT}",
            "ActiveState": active,
            "MainPID": str(record["pid"] or 0),
            "NRestarts": str(record["restarts"]),
            "ExecStart": " ".join(record["argv"]),
        }
        text = next((word.split("=", 1)[1] for word in words if word.startswith("--property=")), ",".join(known))
        print("\n".join(f"{name}={known[name]}" for name in text.split(",") if name in known))
    elif words[0] == "is-active":
        print(active)
        return 0 if active == "active" else 3
    elif words[0] == "status":
        print(f"● {UNIT} - SGLang\n     Loaded: loaded (/etc/systemd/system/{UNIT}; enabled)\n     Active: {active}")
        print(f"   Main PID: {record['pid'] or 0}")
    elif words[0] in ("stop", "restart", "start"):
        if words[0] != "start":
            stop_kept(state, grace_s=SYSTEMD_GRACE_S)
        if words[0] != "stop":
            change_record(state, wanted="up")
    else:
        sys.stderr.write(f"Unknown command verb '{words[0]}'.\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
