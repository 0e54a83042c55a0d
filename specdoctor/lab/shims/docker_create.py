"""`docker create` and `docker run`: from their options to the container's configuration, and back from a world."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specdoctor.lab.containers import create_container, find_container, find_image, new_identity
from specdoctor.lab.keeper import Record
from specdoctor.lab.shims.docker_options import Given, UsageRefused, read_options

_UNITS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_FAILED = 1
_POLICIES = ("no", "always", "unless-stopped", "on-failure")
_LIST_FIELDS = {
    "cap-add": "CapAdd",
    "cap-drop": "CapDrop",
    "security-opt": "SecurityOpt",
    "group-add": "GroupAdd",
    "add-host": "ExtraHosts",
    "dns": "Dns",
    "volumes-from": "VolumesFrom",
    "device-cgroup-rule": "DeviceCgroupRules",
}
_WORD_FIELDS = {
    "pid": "PidMode",
    "uts": "UTSMode",
    "userns": "UsernsMode",
    "cgroup-parent": "CgroupParent",
    "cpuset-cpus": "CpusetCpus",
    "cpuset-mems": "CpusetMems",
    "isolation": "Isolation",
}


class DaemonRefused(Exception):
    """The daemon does not do it; the text is its own."""


def make_container(
    state: Path, tool: str, given: Given, *, base_env: Mapping[str, str], workdir: str, identity: str | None = None
) -> Record:
    """Create the container that the options ask for. Raises UsageRefused and DaemonRefused."""
    image_word, *command = given.arguments
    policy = given.values.get("restart", "no")
    if given.has("rm") and policy != "no":
        raise UsageRefused("conflicting options: cannot specify both --restart and --rm\n", 125)
    host_config = _host_config(given, policy)
    mounts = [*_binds(given), *_mounts(given)]
    found = find_image(state, image_word)
    if found is None:
        name = image_word if ":" in image_word else f"{image_word}:latest"
        raise DaemonRefused(
            f"pull access denied for {name.rsplit(':', 1)[0]}, repository does not exist or may require "
            "'docker login': denied: requested access to the resource is denied"
        )
    _, facts = found
    own = identity or new_identity()
    container_name = given.values.get("name") or f"{_ADJECTIVES[int(own[0], 16) % 4]}_{_NAMES[int(own[1], 16) % 4]}"
    if not re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9_.-]+", container_name):
        raise DaemonRefused(f"Invalid container name ({container_name}), only [a-zA-Z0-9][a-zA-Z0-9_.-] are allowed")
    other = find_container(state, tool, container_name)
    if other is not None and other["container_name"] == container_name:
        raise DaemonRefused(
            f'Conflict. The container name "/{container_name}" is already in use by container "{other["name"]}". '
            "You have to remove (or rename) that container to be able to reuse that name."
        )
    if policy.partition(":")[0] not in _POLICIES:
        raise DaemonRefused(
            f"invalid restart policy: unknown policy '{policy}'; use one of 'no', 'always', "
            "'on-failure', or 'unless-stopped'"
        )
    typed = given.values.get("entrypoint")
    return create_container(
        state,
        tool=tool,
        identity=own,
        name=container_name,
        image=image_word,
        image_facts=facts,
        command=command,
        entrypoint=None if typed is None else [typed] if typed else [],
        env=_environment(given, base_env),
        cwd=given.values.get("workdir", workdir),
        policy=policy,
        auto_remove=given.has("rm"),
        config=_config(given, own, facts),
        host_config=host_config,
        mounts=mounts,
        base_env=base_env,
    )


def words_of(world_keeper: Mapping[str, Any], *, env: Mapping[str, str], command: list[str]) -> list[str]:
    """The words behind `docker run -d` by which somebody started the world's container."""
    words = ["--name", world_keeper["name"], "--gpus", world_keeper["gpus"], "--ipc", world_keeper["ipc"]]
    words += ["--network", world_keeper["network"], "--shm-size", f"{round(world_keeper['shm_size_gb'] * 1024)}m"]
    if world_keeper["restart_policy"] != "no":
        words += ["--restart", world_keeper["restart_policy"]]
    if world_keeper["auto_remove"]:
        words.append("--rm")
    for mount in world_keeper["mounts"]:
        words += ["-v", f"{mount['source']}:{mount['target']}" + (":ro" if mount["read_only"] else "")]
    for option, pairs in (("--env", env), ("--label", world_keeper["labels"]), ("--ulimit", world_keeper["ulimits"])):
        for name, value in pairs.items():
            words += [option, f"{name}={value}"]
    for name in world_keeper["cap_add"]:
        words += ["--cap-add", name]
    return [*words, world_keeper["image"], *command]


def given_of(tool: str, words: list[str]) -> Given:
    return read_options(tool, "create", words)


_ADJECTIVES = ("quirky", "sleepy", "brave", "eager")
_NAMES = ("turing", "lovelace", "hopper", "noether")


def _environment(given: Given, base_env: Mapping[str, str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for path in given.all("env-file"):
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise UsageRefused(f"open {path}: no such file or directory\n", 125) from error
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        pairs.update((line.partition("=")[0], line.partition("=")[2]) for line in lines)
    for word in given.all("env"):
        name, equals, value = word.partition("=")
        if equals:
            pairs[name] = value
        elif name in base_env:
            pairs[name] = base_env[name]
    return pairs


def _config(given: Given, identity: str, image: Mapping[str, Any]) -> dict[str, Any]:
    labels = dict(image.get("labels", {}))
    labels.update((word.partition("=")[0], word.partition("=")[2]) for word in given.all("label"))
    hosted = given.values.get("network", given.values.get("net", "")) == "host"
    config: dict[str, Any] = {
        "Hostname": given.values.get("hostname", "gpu-host" if hosted else identity[:12]),
        "Domainname": "",
        "User": given.values.get("user", ""),
        "AttachStdin": False,
        "AttachStdout": False,
        "AttachStderr": False,
        "Tty": given.has("tty"),
        "OpenStdin": given.has("interactive"),
        "StdinOnce": False,
        "Volumes": None,
        "OnBuild": None,
        "Labels": labels,
    }
    if "stop-signal" in given.values:
        config["StopSignal"] = given.values["stop-signal"]
    if "stop-timeout" in given.values:
        config["StopTimeout"] = int(given.values["stop-timeout"])
    return config


def _host_config(given: Given, policy: str) -> dict[str, Any]:
    word, _, most = policy.partition(":")
    network = given.values.get("network", given.values.get("net", "bridge"))
    config: dict[str, Any] = {
        "Binds": list(given.all("volume")) or None,
        "ContainerIDFile": "",
        "LogConfig": {"Type": given.values.get("log-driver", "json-file"), "Config": _pairs(given.all("log-opt"))},
        "NetworkMode": network,
        "PortBindings": {},
        "RestartPolicy": {"Name": word, "MaximumRetryCount": int(most or 0)},
        "AutoRemove": given.has("rm"),
        "IpcMode": given.values.get("ipc", "private"),
        "Privileged": given.has("privileged"),
        "ReadonlyRootfs": given.has("read-only"),
        "ShmSize": _size(given, "shm-size", 64 << 20),
        "Runtime": given.values.get("runtime", "runc"),
        "CgroupnsMode": given.values.get("cgroupns", "private"),
        "Memory": _size(given, "memory", 0),
        "NanoCpus": round(float(given.values.get("cpus", "0")) * 1e9),
        "OomScoreAdj": int(given.values.get("oom-score-adj", "0")),
        "PidsLimit": int(given.values["pids-limit"]) if "pids-limit" in given.values else None,
        "Init": True if given.has("init") else None,
        "Devices": [_device(word) for word in given.all("device")],
        "DeviceRequests": _gpu_requests(given.values["gpus"]) if "gpus" in given.values else None,
        "Ulimits": [_ulimit(word) for word in given.all("ulimit")] or None,
    }
    for option, name in _LIST_FIELDS.items():
        config[name] = list(given.all(option)) or None
    for option, name in _WORD_FIELDS.items():
        config[name] = given.values.get(option, "")
    if given.all("tmpfs"):
        config["Tmpfs"] = {each.partition(":")[0]: each.partition(":")[2] for each in given.all("tmpfs")}
    if given.all("sysctl"):
        config["Sysctls"] = _pairs(given.all("sysctl"))
    described = [_mount(word) for word in given.all("mount")]
    if described:
        config["Mounts"] = described
    return config


def _pairs(words: tuple[str, ...]) -> dict[str, str]:
    return {word.partition("=")[0]: word.partition("=")[2] for word in words}


def _size(given: Given, option: str, default: int) -> int:
    text = given.values.get(option)
    if text is None:
        return default
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([bkmgt]?)i?b?", text.lower())
    if match is None:
        raise UsageRefused(
            f'invalid argument "{text}" for "--{option}" flag: invalid size: \'{text}\'\n\n'
            f"Usage:  docker create [OPTIONS] IMAGE [COMMAND] [ARG...]\n\nRun 'docker create --help' "
            "for more information\n",
            125,
        )
    return round(float(match[1]) * _UNITS[match[2] or "b"])


def _device(word: str) -> dict[str, str]:
    parts = word.split(":")
    inside = parts[1] if len(parts) > 1 else parts[0]
    return {"PathOnHost": parts[0], "PathInContainer": inside, "CgroupPermissions": (parts[2:] or ["rwm"])[0]}


def _gpu_requests(text: str) -> list[dict[str, Any]]:
    request: dict[str, Any] = {"Driver": "", "Count": 0, "DeviceIDs": None, "Capabilities": [["gpu"]], "Options": {}}
    for part in next(csv.reader([text])):
        name, equals, value = part.strip('"').partition("=")
        if not equals:
            request["Count"] = -1 if name == "all" else int(name)
        elif name == "device":
            request["DeviceIDs"] = [*(request["DeviceIDs"] or []), *value.split(",")]
        elif name == "count":
            request["Count"] = -1 if value == "all" else int(value)
        elif request["DeviceIDs"] is not None and not value:
            request["DeviceIDs"].append(name)
    return [request]


def _ulimit(word: str) -> dict[str, Any]:
    name, equals, value = word.partition("=")
    soft, _, hard = value.partition(":")
    if not equals or not re.fullmatch(r"-?\d+", soft):
        raise UsageRefused(
            f'invalid argument "{word}" for "--ulimit" flag: invalid ulimit argument: {word}\n\n'
            "Usage:  docker create [OPTIONS] IMAGE [COMMAND] [ARG...]\n\nRun 'docker create --help' "
            "for more information\n",
            125,
        )
    return {"Name": name, "Hard": int(hard or soft), "Soft": int(soft)}


def _binds(given: Given) -> list[dict[str, Any]]:
    found = []
    for word in given.all("volume"):
        source, _, rest = word.partition(":")
        target, _, mode = rest.partition(":")
        kind = "bind" if source.startswith("/") else "volume"
        found.append(
            {
                "Type": kind,
                "Source": source,
                "Destination": target,
                "Mode": mode,
                "RW": "ro" not in mode.split(","),
                "Propagation": "rprivate" if kind == "bind" else "",
            }
        )
    return found


def _mount(word: str) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    for part in next(csv.reader([word])):
        name, equals, value = part.partition("=")
        if name in ("type",):
            entry["Type"] = value
        elif name in ("source", "src"):
            entry["Source"] = value
        elif name in ("target", "dst", "destination"):
            entry["Target"] = value
        elif name in ("readonly", "ro"):
            entry["ReadOnly"] = not equals or value in ("true", "1")
    return entry


def _mounts(given: Given) -> list[dict[str, Any]]:
    found = []
    for word in given.all("mount"):
        entry = _mount(word)
        source = entry.get("Source", "")
        if entry.get("Type") == "bind" and not Path(source).exists():
            raise DaemonRefused(f'invalid mount config for type "bind": bind source path does not exist: {source}')
        found.append(
            {
                "Type": entry.get("Type", "volume"),
                "Source": source,
                "Destination": entry.get("Target", ""),
                "Mode": "",
                "RW": not entry.get("ReadOnly", False),
                "Propagation": "rprivate",
            }
        )
    return found
