"""The options of `docker create` that make a container like another one, from what `docker inspect` says of it.

Whatever is set there and cannot be said by an option is named, so that nothing is lost in silence.
"""

import re
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from specdoctor.remote.parts.launch_line import changed_env

Inspect = Dict[str, Any]
Copied = NamedTuple("Copied", [("options", List[str]), ("env", List[str]), ("lost", List[str])])
"""`options` before the image, `env` as lines for a file, `lost`: parts of the inspection that cannot be copied."""

VARIABLE = re.compile(r"^[A-Za-z_][A-Za-z0-9_.-]*$")
NO_PORT = ("", "0", None)

WORDS = {
    "IpcMode": "--ipc", "PidMode": "--pid", "UTSMode": "--uts", "UsernsMode": "--userns", "CgroupnsMode": "--cgroupns",
    "CgroupParent": "--cgroup-parent", "Runtime": "--runtime", "CpusetCpus": "--cpuset-cpus",
    "CpusetMems": "--cpuset-mems", "Isolation": "--isolation",
}  # fmt: skip
NUMBERS = {
    "Memory": "--memory", "MemorySwap": "--memory-swap", "MemoryReservation": "--memory-reservation",
    "CpuShares": "--cpu-shares", "CpuPeriod": "--cpu-period", "CpuQuota": "--cpu-quota", "PidsLimit": "--pids-limit",
    "OomScoreAdj": "--oom-score-adj", "BlkioWeight": "--blkio-weight", "ShmSize": "--shm-size",
}  # fmt: skip
SWITCHES = {
    "Privileged": "--privileged", "ReadonlyRootfs": "--read-only", "Init": "--init", "PublishAllPorts": "--publish-all",
    "OomKillDisable": "--oom-kill-disable",
}  # fmt: skip
LISTS = {
    "Binds": "--volume", "CapAdd": "--cap-add", "CapDrop": "--cap-drop", "SecurityOpt": "--security-opt",
    "GroupAdd": "--group-add", "ExtraHosts": "--add-host", "Dns": "--dns", "DnsOptions": "--dns-option",
    "DnsSearch": "--dns-search", "DeviceCgroupRules": "--device-cgroup-rule", "VolumesFrom": "--volumes-from",
}  # fmt: skip
PAIRS = {"Sysctls": "--sysctl", "StorageOpt": "--storage-opt", "Annotations": "--annotation"}
# Said elsewhere, without a say in how a server runs, or an echo of what the engine itself is.
PASSED_OVER = frozenset(
    """RestartPolicy AutoRemove ContainerIDFile LogConfig ConsoleSize VolumeDriver NetworkMode PortBindings Mounts
    Devices DeviceRequests Ulimits Tmpfs MemorySwappiness NanoCpus MaskedPaths ReadonlyPaths Cgroup Cgroups
    CgroupManager CgroupMode CgroupConf IDMappings IOMaximumIOps IOMaximumBandwidth CpuCount CpuPercent
    CpuRealtimePeriod CpuRealtimeRuntime""".split()
)
EMPTY: Tuple[Any, ...] = (None, "", 0, -1, False, [], {}, "default", "private")


def create_options(inspect: Inspect) -> Copied:
    """Everything but name, labels, program and image. `lost` is empty where the copy is whole."""
    host: Dict[str, Any] = inspect.get("HostConfig") or {}
    options: List[str] = []
    lost: List[str] = []
    for name, value in sorted(host.items()):
        simple = _simple(name, value)
        if simple is not None:
            options += simple
        elif name not in PASSED_OVER and value not in EMPTY:
            lost.append("HostConfig." + name)
    for copy in (_swappiness, _cpus, _devices, _gpus, _ulimits, _tmpfs, _mounts, _network, _ports, _config):
        more, missing = copy(inspect, host)
        options += more
        lost += missing
    env, unsayable = env_lines(list((inspect.get("Config") or {}).get("Env") or []), {})
    return Copied(options, env, lost + unsayable)


def env_lines(pairs: Sequence[str], change: Dict[str, Any]) -> Tuple[List[str], List[str]]:
    """NAME=VALUE lines for --env-file after a change, and the names that such a file cannot hold."""
    before = dict(pair.partition("=")[::2] for pair in pairs)
    after = changed_env(before, change) if change else before
    good = {name: value for name, value in after.items() if VARIABLE.match(name) and not re.search(r"[\n\r\0]", value)}
    lost = [name if VARIABLE.match(name) else "(a name that is none)" for name in after if name not in good]
    return ["%s=%s" % pair for pair in good.items()], ["Config.Env." + name for name in lost]


def _simple(name: str, value: Any) -> Optional[List[str]]:
    """Options that repeat a value as it is; None for a part that is treated elsewhere, or not known."""
    if name in WORDS:
        return ["%s=%s" % (WORDS[name], value)] if value not in ("", None, "default") else []
    if name in NUMBERS:
        return ["%s=%d" % (NUMBERS[name], value)] if value not in (None, 0) else []
    if name in SWITCHES:
        return [SWITCHES[name]] if value else []
    if name in LISTS:
        return ["%s=%s" % (LISTS[name], each) for each in value or []]
    if name in PAIRS:
        return ["%s=%s=%s" % (PAIRS[name], key, each) for key, each in sorted((value or {}).items())]
    return None


def _swappiness(inspect: Inspect, host: Dict[str, Any]) -> Tuple[List[str], List[str]]:
    value = host.get("MemorySwappiness")
    return (["--memory-swappiness=%d" % value] if value not in (None, -1) else []), []


def _cpus(inspect: Inspect, host: Dict[str, Any]) -> Tuple[List[str], List[str]]:
    return (["--cpus=%.9g" % (host["NanoCpus"] / 1e9)] if host.get("NanoCpus") else []), []


def _devices(inspect: Inspect, host: Dict[str, Any]) -> Tuple[List[str], List[str]]:
    out = []
    for each in host.get("Devices") or []:
        parts = [str(each.get(key) or "") for key in ("PathOnHost", "PathInContainer", "CgroupPermissions")]
        if any(":" in part for part in parts):
            return [], ["HostConfig.Devices"]
        out.append("--device=" + ":".join(part for part in parts if part))
    return out, []


def _gpus(inspect: Inspect, host: Dict[str, Any]) -> Tuple[List[str], List[str]]:
    """GPU requests in the CSV of --gpus; a CDI device is an option of its own."""
    out: List[str] = []
    for each in host.get("DeviceRequests") or []:
        ids, count, driver = each.get("DeviceIDs") or [], each.get("Count") or 0, each.get("Driver") or ""
        if driver == "cdi" and ids:
            out += ["--device=" + str(name) for name in ids]
            continue
        capabilities = sorted({str(word) for group in each.get("Capabilities") or [] for word in group})
        if (
            "gpu" not in capabilities
            or each.get("Options")
            or any("," in str(name) or '"' in str(name) for name in ids)
        ):
            return [], ["HostConfig.DeviceRequests"]
        fields = ["driver=" + driver] if driver else []
        some = "device=" + ",".join(str(name) for name in ids)
        fields.append(some if ids else "count=%s" % ("all" if count < 0 else count))
        others = [word for word in capabilities if word != "gpu"]
        fields += ["capabilities=" + ",".join(others)] if others else []
        out.append("--gpus=" + ",".join('"%s"' % field if "," in field else field for field in fields))
    return out, []


def _ulimits(inspect: Inspect, host: Dict[str, Any]) -> Tuple[List[str], List[str]]:
    found = host.get("Ulimits") or []
    words = ["--ulimit=%s=%d:%d" % (_limit_name(str(each["Name"])), each["Soft"], each["Hard"]) for each in found]
    return words, []


def _limit_name(name: str) -> str:
    """podman shows the kernel's names."""
    return name[len("RLIMIT_") :].lower() if name.startswith("RLIMIT_") else name


def _tmpfs(inspect: Inspect, host: Dict[str, Any]) -> Tuple[List[str], List[str]]:
    found = sorted((host.get("Tmpfs") or {}).items())
    return ["--tmpfs=" + (path + ":" + options if options else path) for path, options in found], []


def _mounts(inspect: Inspect, host: Dict[str, Any]) -> Tuple[List[str], List[str]]:
    """What --mount made, and volumes without a name, which the copy must share with the original."""
    out: List[str] = []
    said = {bind.split(":")[1] for bind in host.get("Binds") or [] if ":" in bind}
    said |= set(host.get("Tmpfs") or {})
    for each in host.get("Mounts") or []:
        said.add(each.get("Target"))
        fields = ["type=%s" % each.get("Type"), "target=%s" % each.get("Target")]
        fields += ["source=%s" % each["Source"]] if each.get("Source") else []
        fields += ["readonly"] if each.get("ReadOnly") else []
        bind = {key: value for key, value in (each.get("BindOptions") or {}).items() if value}
        tmpfs = {key: value for key, value in (each.get("TmpfsOptions") or {}).items() if value}
        fields += ["bind-propagation=%s" % bind.pop("Propagation")] if "Propagation" in bind else []
        fields += ["tmpfs-size=%d" % tmpfs.pop("SizeBytes")] if "SizeBytes" in tmpfs else []
        fields += ["tmpfs-mode=%o" % tmpfs.pop("Mode")] if "Mode" in tmpfs else []
        if bind or tmpfs or each.get("VolumeOptions") or any("," in field or '"' in field for field in fields):
            return [], ["HostConfig.Mounts (%s)" % each.get("Target")]
        out.append("--mount=" + ",".join(fields))
    for each in inspect.get("Mounts") or []:
        if each.get("Destination") in said or host.get("VolumesFrom"):
            continue
        source = each.get("Name") if each.get("Type") == "volume" else each.get("Source")
        if each.get("Type") not in ("volume", "bind") or ":" in str(source) or ":" in str(each.get("Destination")):
            return [], ["Mounts (%s)" % each.get("Destination")]
        out.append("--volume=%s:%s%s" % (source, each["Destination"], "" if each.get("RW", True) else ":ro"))
    return out, []


def _network(inspect: Inspect, host: Dict[str, Any]) -> Tuple[List[str], List[str]]:
    mode = str(host.get("NetworkMode") or "")
    out = ["--network=" + mode] if mode not in ("", "default") else []
    known: Dict[str, Any] = (inspect.get("NetworkSettings") or {}).get("Networks") or {}
    if len(known) > 1:
        return [], ["NetworkSettings.Networks (%s)" % ", ".join(sorted(known))]
    own_names = (str(inspect.get("Id"))[:12], str(inspect.get("Name")).lstrip("/"))
    for name, each in known.items():
        if name in ("host", "bridge", "none", "default", "podman"):
            continue
        if each.get("Links") or each.get("DriverOpts"):
            return [], ["NetworkSettings.Networks." + name]
        aliases = [alias for alias in each.get("Aliases") or [] if alias not in own_names]
        out += ["--network-alias=" + alias for alias in aliases]
        fixed = each.get("IPAMConfig") or {}
        out += ["--ip=" + fixed["IPv4Address"]] if fixed.get("IPv4Address") else []
        out += ["--ip6=" + fixed["IPv6Address"]] if fixed.get("IPv6Address") else []
    return out, ["HostConfig.Links"] if host.get("Links") else []


def _ports(inspect: Inspect, host: Dict[str, Any]) -> Tuple[List[str], List[str]]:
    out = []
    for inner, places in sorted((host.get("PortBindings") or {}).items()):
        for place in places or [{}]:
            address, outer = str(place.get("HostIp") or ""), place.get("HostPort")
            address = "[%s]" % address if ":" in address else address
            before = "%s:" % address if address else ""
            between = "" if outer in NO_PORT and not address else "%s:" % (outer or "")
            out.append("--publish=%s%s%s" % (before, between, inner))
    return out, []


def _config(inspect: Inspect, host: Dict[str, Any]) -> Tuple[List[str], List[str]]:
    config: Dict[str, Any] = inspect.get("Config") or {}
    out: List[str] = []
    named = not str(host.get("NetworkMode") or "").startswith("container:") and host.get("UTSMode") != "host"
    for name, option in (("Hostname", "--hostname"), ("Domainname", "--domainname")):
        out += ["%s=%s" % (option, config[name])] if config.get(name) and named else []
    for name, option in (("User", "--user"), ("WorkingDir", "--workdir"), ("StopSignal", "--stop-signal")):
        out += ["%s=%s" % (option, config[name])] if config.get(name) else []
    out += ["--stop-timeout=%d" % config["StopTimeout"]] if config.get("StopTimeout") else []
    out += ["--tty"] if config.get("Tty") else []
    out += ["--interactive"] if config.get("OpenStdin") else []
    out += ["--no-healthcheck"] if config.get("Healthcheck") else []
    return out, []
