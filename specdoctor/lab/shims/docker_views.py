"""What docker and podman show of a container: the `inspect` document, the rows of `ps`."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from specdoctor.lab.containers import status_of

_NEVER = "0001-01-01T00:00:00Z"


def stamp(at_s: float | None) -> str:
    """A time as the daemon writes it."""
    if at_s is None:
        return _NEVER
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at_s)) + f".{round(at_s % 1 * 1e9) % 10**9:09d}Z"


def describe(record: Mapping[str, Any], *, tool: str) -> dict[str, Any]:
    """The document of `inspect`."""
    status = status_of(record)
    words = [*record["entrypoint"], *record["command"]]
    config, host_config = record["config"], record["host_config"]
    shown: dict[str, Any] = {
        "Id": record["name"],
        "Created": stamp(record["created_at"]),
        "Path": words[0] if words else "",
        "Args": words[1:],
        "State": {
            "Status": status,
            "Running": status == "running",
            "Paused": False,
            "Restarting": status == "restarting",
            "OOMKilled": False,
            "Dead": False,
            "Pid": record["pid"] if status == "running" else 0,
            "ExitCode": 0 if status == "running" else record["exit_code"] or 0,
            "Error": record.get("error", ""),
            "StartedAt": stamp(record["started_at"]),
            "FinishedAt": stamp(record["finished_at"]),
        },
        "Image": record["image_id"],
        "ResolvConfPath": f"/var/lib/docker/containers/{record['name']}/resolv.conf",
        "LogPath": f"/var/lib/docker/containers/{record['name']}/{record['name']}-json.log",
        "Name": "/" + record["container_name"],
        "RestartCount": record["restarts"],
        "Driver": "overlay2",
        "Platform": "linux",
        "MountLabel": "",
        "ProcessLabel": "",
        "AppArmorProfile": "docker-default",
        "ExecIDs": None,
        "HostConfig": host_config,
        "GraphDriver": {"Data": None, "Name": "overlay2"},
        "Mounts": record["mounts"],
        "Config": {
            **config,
            "Env": record["shown_env"],
            "Cmd": record["command"] or None,
            "Image": record["image"],
            "Entrypoint": record["entrypoint"] or None,
            "WorkingDir": record["cwd"],
        },
        "NetworkSettings": {
            "Bridge": "",
            "Ports": {},
            "IPAddress": "",
            "Networks": {host_config["NetworkMode"]: {"IPAMConfig": None, "Aliases": None, "IPAddress": ""}},
        },
    }
    if tool == "podman":
        shown["Name"] = record["container_name"]
        shown["Image"] = record["image_id"].removeprefix("sha256:")
        shown["ImageName"] = record["image"]
        shown["State"]["ConmonPid"] = record["keeper"][0] if record["keeper"] else 0
    return shown


def ago(seconds: float) -> str:
    """A duration in docker's words."""
    if seconds < 1:
        return "Less than a second"
    if seconds < 60:
        return f"{int(seconds)} second{'s' if int(seconds) != 1 else ''}"
    minutes = int(seconds / 60)
    if minutes == 1:
        return "About a minute"
    if minutes < 60:
        return f"{minutes} minutes"
    hours = int(minutes / 60 + 0.5)
    if hours == 1:
        return "About an hour"
    if hours < 48:
        return f"{hours} hours"
    if hours < 24 * 14:
        return f"{hours // 24} days"
    return f"{hours // 24 // 7} weeks"


def row(record: Mapping[str, Any], *, full: bool = False) -> dict[str, Any]:
    """The fields of `ps --format`."""
    status, now = status_of(record), time.time()
    words = " ".join([*record["entrypoint"], *record["command"]])
    told = {
        "running": f"Up {ago(now - (record['started_at'] or now))}",
        "restarting": f"Restarting ({record['exit_code'] or 0}) {ago(now - (record['finished_at'] or now))} ago",
        "created": "Created",
        "exited": f"Exited ({record['exit_code'] or 0}) {ago(now - (record['finished_at'] or now))} ago",
    }[status]
    command = words if full or len(words) <= 20 else words[:19] + "…"
    labels = record["config"].get("Labels") or {}
    created = time.strftime("%Y-%m-%d %H:%M:%S +0000 UTC", time.gmtime(record["created_at"]))
    return {
        "Command": json.dumps(command, ensure_ascii=False),
        "CreatedAt": created,
        "ID": record["name"] if full else record["name"][:12],
        "Image": record["image"],
        "Labels": ",".join(f"{name}={value}" for name, value in labels.items()),
        "LocalVolumes": "0",
        "Mounts": ",".join(mount["Source"] for mount in record["mounts"]),
        "Names": record["container_name"],
        "Networks": record["host_config"]["NetworkMode"],
        "Platform": None,
        "Ports": "",
        "RunningFor": f"{ago(now - record['created_at'])} ago",
        "Size": "0B",
        "State": status,
        "Status": told,
    }


def podman_row(record: Mapping[str, Any]) -> dict[str, Any]:
    """One entry of `podman ps --format json`."""
    shown = row(record)
    return {
        "AutoRemove": record["auto_remove"],
        "Command": [*record["entrypoint"], *record["command"]],
        "Created": int(record["created_at"]),
        "CreatedAt": shown["RunningFor"],
        "ExitCode": record["exit_code"] or 0,
        "Exited": record["finished_at"] is not None and record["pid"] is None,
        "Id": record["name"],
        "Image": record["image"],
        "ImageID": record["image_id"].removeprefix("sha256:"),
        "IsInfra": False,
        "Labels": record["config"].get("Labels") or {},
        "Mounts": [mount["Destination"] for mount in record["mounts"]],
        "Names": [record["container_name"]],
        "Pid": record["pid"] or 0,
        "Restarts": record["restarts"],
        "StartedAt": int(record["started_at"] or 0),
        "State": shown["State"],
        "Status": shown["Status"],
    }
