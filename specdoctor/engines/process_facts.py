"""What the facts of a host say of one server process, whatever its engine: children, log, packages, model configs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from pydantic import JsonValue

from specdoctor.core.facts import Facts, LogFacts, PackageFacts, ProcessFacts

_SERVER_PROCESS = re.compile(r"Started server process \[(\d+)\]")


def launchers(facts: Facts, is_launch: Callable[[Sequence[str]], bool]) -> tuple[ProcessFacts, ...]:
    """The launcher of each server of one engine, without the children that still carry its command line."""
    found = {p.pid: p for p in facts.processes if p.state != "Z" and is_launch(p.argv)}
    parents = {p.pid: p.ppid for p in facts.processes}
    out: list[ProcessFacts] = []
    for process in found.values():
        seen: set[int] = set()
        pid = process.ppid
        while pid in parents and pid not in seen and pid not in found:
            seen.add(pid)
            pid = parents[pid]
        if pid not in found:
            out.append(process)
    return tuple(sorted(out, key=lambda p: (p.started_at or 0.0, p.pid)))


def tree(facts: Facts, pid: int) -> frozenset[int]:
    """A process and all its descendants."""
    children: dict[int, list[int]] = {}
    for process in facts.processes:
        children.setdefault(process.ppid, []).append(process.pid)
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting += children.get(current, [])
    return frozenset(found)


def log_of(facts: Facts, process: ProcessFacts, pids: frozenset[int]) -> LogFacts | None:
    """The readable log of a server: by pid, by where its output goes, by the pid that it names."""
    outputs = {process.stdout, process.stderr} - {None}
    by_pid = [log for log in facts.logs if log.pid in pids]
    by_path = [log for log in facts.logs if log.path in outputs and log.pid is None]
    by_text = [
        log
        for log in facts.logs
        if log.pid is None and any(int(pid) in pids for pid in _SERVER_PROCESS.findall(log.text))
    ]
    readable = [log for log in [*by_pid, *by_path, *by_text] if log.error is None]
    return next((log for log in readable if log.head or log.tail), None)


def is_of_another_run(log: LogFacts, process: ProcessFacts, pids: frozenset[int]) -> bool:
    """Whether the log's last start is an older one, to whose file the present process has not yet written."""
    started = _SERVER_PROCESS.findall(log.text)
    return bool(started) and process.container_id is None and all(int(pid) not in pids for pid in started[-1:])


def packages_of(facts: Facts, process: ProcessFacts) -> tuple[str, dict[str, PackageFacts]]:
    """The packages of the server's own interpreter, by name."""
    names = [process.argv[0] if process.argv else "", process.exe or ""]
    venv = process.env.get("VIRTUAL_ENV")
    if venv:
        names.append(f"{venv}/bin/python")
    if len(facts.packages) == 1:
        names += list(facts.packages)
    where = next((name for name in names if name in facts.packages), None)
    if where is None:
        return "", {}
    return where, {package.name.lower().replace("_", "-"): package for package in facts.packages[where]}


def package_doubts(packages: Mapping[str, PackageFacts], names: Sequence[str]) -> Iterator[str]:
    """Why installed packages may not be what their versions say."""
    for name in names:
        package = packages.get(name)
        if package is None:
            continue
        if package.record_mismatches:
            files = ", ".join(package.record_mismatches[:3])
            yield f"{len(package.record_mismatches)} files of {name} differ from what was installed ({files})"
        if package.editable_url:
            state = f" at commit {package.git_commit[:12]}" if package.git_commit else ""
            dirty = ", with local changes" if package.git_dirty else ""
            yield f"{name} is an editable install from {package.editable_url}{state}{dirty}"


def config_of(facts: Facts, model: JsonValue, cwd: str | None) -> dict[str, JsonValue] | None:
    """The config.json of a model by its path or hub name, from the files among the facts."""
    if not isinstance(model, str) or not model:
        return None
    name = model.rstrip("/")
    wanted = [f"{name}/config.json", str(PurePosixPath(cwd or "/") / name / "config.json")]
    cached = f"models--{name.replace('/', '--')}/"
    wanted += [path for path in facts.files if cached in path and path.endswith("/config.json")]
    for path in wanted:
        entry = facts.files.get(path)
        if entry is None or entry.text is None:
            continue
        try:
            parsed = json.loads(entry.text)
        except (ValueError, RecursionError):
            continue
        if isinstance(parsed, dict):
            return parsed
    return None
