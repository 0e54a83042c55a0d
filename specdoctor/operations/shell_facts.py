"""Facts from the fall-back probe of a host without Python (tab-separated lines)."""

from __future__ import annotations

from dataclasses import dataclass, field

from specdoctor.core.facts import Facts, HostFacts, LogFacts, ProcessFacts

MARK = "specdoctor.shell/1"


@dataclass
class _Process:
    pid: int
    values: dict[str, str] = field(default_factory=dict)
    args: list[str] = field(default_factory=list)
    env_names: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)

    def take(self, key: str, value: str) -> None:
        match key:
            case "arg":
                self.args.append(value)
            case "envname":
                self.env_names.append(value)
            case "env":
                name, _, text = value.partition("=")
                self.env[name] = text
            case _:
                self.values[key] = value

    def facts(self, btime: float | None, ticks_per_s: float) -> ProcessFacts | None:
        head, bracket, tail = self.values.get("stat", "").rpartition(")")
        fields = tail.split()
        if not bracket or len(fields) < 20:
            return None
        ticks = int(fields[19])
        return ProcessFacts(
            pid=self.pid,
            ppid=int(fields[1]),
            start_ticks=ticks,
            started_at=None if btime is None else btime + ticks / ticks_per_s,
            uid=_whole(self.values.get("uid")),
            comm=head.partition("(")[2],
            state=fields[0],
            argv=tuple(self.args),
            env_names=tuple(sorted(self.env_names)),
            env=self.env,
            cwd=self.values.get("link-cwd") or None,
            exe=self.values.get("link-exe") or None,
            cgroup=self.values.get("cgroup", ""),
            cpus_allowed=self.values.get("cpus") or None,
            nice=int(fields[16]),
            stdin=self.values.get("link-fd/0") or None,
            stdout=self.values.get("link-fd/1") or None,
            stderr=self.values.get("link-fd/2") or None,
        )


@dataclass
class _Log:
    path: str
    size: int
    pid: int | None
    parts: dict[str, list[str]] = field(default_factory=lambda: {"head": [], "tail": []})

    def facts(self) -> LogFacts:
        head, tail = ("".join(line + "\n" for line in self.parts[part]) for part in ("head", "tail"))
        gap = max(0, self.size - len(head.encode()) - len(tail.encode())) if tail else 0
        return LogFacts(path=self.path, pid=self.pid, size=self.size, head=head, tail=tail, gap_bytes=gap)


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


def _seconds(text: str | None) -> float | None:
    return float(text) if text and text.replace(".", "", 1).isdigit() else None


def read_shell_facts(text: str) -> Facts:
    """The document of `remote/probe.sh` as Facts; what a shell cannot find out is absent and named in `problems`."""
    host: dict[str, str] = {}
    processes: list[_Process] = []
    logs: list[_Log] = []
    for line in text.partition(MARK)[2].split("\n"):
        key, _, value = line.partition("\t")
        match key:
            case "process":
                processes.append(_Process(int(value)))
            case "log":
                path, size, pid = [*value.split("\t"), "", ""][:3]
                logs.append(_Log(path, _whole(size) or 0, _whole(pid)))
            case "head" | "tail" if logs:
                logs[-1].parts[key].append(value)
            case "":
                continue
            case _ if processes and not logs and key != "end":
                processes[-1].take(key, value)
            case _:
                host[key] = value
    problems = ["the host has no Python 3.6 or later: only processes and logs were read, without ports, files and GPUs"]
    if host.get("end") != "ok":
        problems.append("the answer of the shell probe was cut off")
    btime = _seconds(host.get("btime"))
    ticks = _seconds(host.get("ticks")) or 100.0
    found = [process.facts(btime, ticks) for process in processes]
    return Facts(
        taken_at=_seconds(host.get("now")) or 0.0,
        host=_host_facts(host, btime),
        processes=tuple(facts for facts in found if facts is not None),
        logs=tuple(log.facts() for log in logs),
        problems=tuple(problems),
    )


def _host_facts(host: dict[str, str], btime: float | None) -> HostFacts:
    load = host.get("loadavg", "").split()
    return HostFacts(
        hostname=host.get("hostname", ""),
        now=_seconds(host.get("now")) or 0.0,
        boot_id=host.get("boot_id") or None,
        booted_at=btime,
        kernel=host.get("kernel", ""),
        machine=host.get("machine", ""),
        load_1m=_seconds(load[0]) if load else None,
        mem_total_kb=_whole(host.get("mem_total_kb")),
        mem_available_kb=_whole(host.get("mem_available_kb")),
        runs_programs=False,
    )
