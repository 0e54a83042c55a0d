"""What one read-only look at a host returns: raw facts, nothing judged.

The probe program prints this as JSON. Argument and environment values are redacted on the host, before they travel.
Unknown keys are ignored, so that facts written by another version can still be read.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

FACTS_SCHEMA = "specdoctor.facts/1"


class Raw(BaseModel):
    """Base of facts: frozen, tolerant of keys that a newer or older probe writes."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class CommandFacts(Raw):
    """A small command that the probe ran on the host; a missing tool is a value (`error`), not a failure."""

    argv: tuple[str, ...]
    exit_code: int | None = None
    stdout: str = ""
    error: str | None = None


class HostFacts(Raw):
    """The machine itself. Times are seconds since the epoch by the host's own clock.

    `boots` are those that its log-in records (wtmp) still hold.
    `user` and `uid` are those of the log-in, also where the facts were read with `privileged` rights (sudo).
    """

    hostname: str = ""
    now: float = 0.0
    boot_id: str | None = None
    booted_at: float | None = None
    boots: tuple[float, ...] = ()
    kernel: str = ""
    machine: str = ""
    cpu_count: int | None = None
    load_1m: float | None = None
    mem_total_kb: int | None = None
    mem_available_kb: int | None = None
    python: str = ""
    runs_programs: bool = True
    interpreter: str = ""
    user: str = ""
    uid: int | None = None
    privileged: bool = False
    numa_nodes: dict[str, str] = Field(default_factory=dict)
    cpu_governor: str | None = None
    hypervisor: str | None = None


class ScriptLoop(Raw):
    """How the script that a process runs starts again what runs below it.

    `how`: in a loop without a bound, in one with a bound that waits for it, by running itself again, or only maybe (a
    list of servers in the background). `proved` are the first three. "unread": a program that was not read, and `why`.
    """

    path: str
    line: int
    proved: bool
    how: Literal["loop", "bounded", "itself", "maybe", "unread"] = "loop"
    why: str = ""


class ProcessFacts(Raw):
    """One process, as /proc shows it. `argv` and `env` are redacted; `env` holds the engine-relevant names only."""

    pid: int
    ppid: int
    start_ticks: int
    started_at: float | None = None
    uid: int | None = None
    user: str | None = None
    comm: str = ""
    state: str = ""
    argv: tuple[str, ...] = ()
    env_names: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    exe: str | None = None
    cgroup: str = ""
    container_id: str | None = None
    container_started_at: float | None = None
    cpus_allowed: str | None = None
    mems_allowed: str | None = None
    numa_policy: str | None = None
    nice: int | None = None
    umask: str | None = None
    limits: dict[str, tuple[str, str]] = Field(default_factory=dict)
    stdin: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    listen_ports: tuple[int, ...] = ()
    unreadable: tuple[str, ...] = ()
    script_loop: ScriptLoop | None = None


class PackageFacts(Raw):
    """An installed distribution in one interpreter. `record_mismatches` lists files that differ from its RECORD.

    `installed_at` is when its metadata were written: installed, or built into an image.
    """

    name: str
    version: str
    location: str | None = None
    installed_at: float | None = None
    editable_url: str | None = None
    git_commit: str | None = None
    git_dirty: bool | None = None
    record_checked: int = 0
    record_mismatches: tuple[str, ...] = ()


class FileFacts(Raw):
    """A small text file (configs). `text` is None when `error` says why."""

    path: str
    text: str | None = None
    size: int | None = None
    mtime: float | None = None
    error: str | None = None


class LogFacts(Raw):
    """A server log: its head and tail, with the number of bytes left out between them."""

    path: str
    pid: int | None = None
    size: int = 0
    mtime: float | None = None
    head: str = ""
    tail: str = ""
    gap_bytes: int = 0
    error: str | None = None

    @property
    def text(self) -> str:
        """Head and tail in order; a cut in the middle starts on a new line."""
        return self.head + ("\n" if self.gap_bytes else "") + self.tail


class HttpReply(Raw):
    """One GET on the server. `status` is None when nothing answered (`error` says why)."""

    status: int | None = None
    body: str = ""
    error: str | None = None


class KeptFacts(Raw):
    """How one server is kept, as its keeper says: `obstacles` forbid a restart, `remarks` say what comes with one.

    `known` is what a line for a person is made of: resources of a job, a pod's command and owners.
    """

    pid: int
    kind: str
    name: str = ""
    scope: str = "system"
    obstacles: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    known: dict[str, JsonValue] = Field(default_factory=dict)


class LeaseFacts(Raw):
    """A server held by a run of specdoctor. `who` is the person who steers it, `user` that person's login here."""

    run: str
    port: int
    who: str = ""
    user: str = ""
    since: float = 0.0


class Facts(Raw):
    """Everything that one probe saw, in one remote command. `via` names the container it was sent into, if any.

    `older_logs` lie beside those that servers write now: rotations, and logs of earlier starts.
    """

    schema_id: str = Field(default=FACTS_SCHEMA, alias="schema")
    taken_at: float = 0.0
    duration_s: float = 0.0
    host: HostFacts = HostFacts()
    processes: tuple[ProcessFacts, ...] = ()
    packages: dict[str, tuple[PackageFacts, ...]] = Field(default_factory=dict)
    files: dict[str, FileFacts] = Field(default_factory=dict)
    logs: tuple[LogFacts, ...] = ()
    older_logs: tuple[LogFacts, ...] = ()
    http: dict[str, dict[str, HttpReply]] = Field(default_factory=dict)
    commands: dict[str, CommandFacts] = Field(default_factory=dict)
    kept: tuple[KeptFacts, ...] = ()
    leases: tuple[LeaseFacts, ...] = ()
    problems: tuple[str, ...] = ()
    via: str | None = None

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)
