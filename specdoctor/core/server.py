"""A server under study, as an engine adapter reads it from facts: asked for, in force, and what its log says."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue, field_validator

from specdoctor.core.draft_counts import DraftCounts
from specdoctor.core.model import Frozen


class Source(Frozen):
    """Where a fact stands: a file, log, endpoint or process, with line or key and the words quoted."""

    where: str
    line: int | None = None
    key: str | None = None
    quote: str = ""


_FAMILIES = {
    "draft-eagle3": "EAGLE3",
    "draft-simple": "STANDALONE",
    "draft-mtp": "MTP",
    "draft-dflash": "DFLASH",
    "draft-dspark": "DSPARK",
    "Draft_Target": "STANDALONE",
    "DraftTarget": "STANDALONE",
    "draft_model": "STANDALONE",
}


class SpecSetting(Frozen):
    """Effective speculation of one launch. `draft_steps` 0 and `algorithm` None: no speculation.

    `draft_tokens` counts the tokens verified in one target forward, root included (a chain of k steps: k + 1).
    """

    algorithm: str | None = None
    draft_steps: int = 0
    topk: int = 0
    draft_tokens: int = 0

    @property
    def on(self) -> bool:
        return self.algorithm is not None

    @property
    def family(self) -> str | None:
        """The algorithm by the name that all engines share (EAGLE3, STANDALONE, MTP, NGRAM ...), whatever its own.

        Of several ways of drafting together the one with a model counts.
        """
        if self.algorithm is None:
            return None
        names = self.algorithm.split(",")
        name = next((n for n in names if n.startswith("draft-")), names[0])
        return _FAMILIES.get(name) or _FAMILIES.get(
            name.lower(), "NGRAM" if name.startswith(("ngram-", "prompt-")) else name.upper()
        )

    @property
    def label(self) -> str:
        if not self.on:
            return "no speculation"
        steps = "1 step" if self.draft_steps == 1 else f"{self.draft_steps} steps"
        return f"{steps}, topk {self.topk}, {self.draft_tokens} draft tokens"


class Rewrite(Frozen):
    """A value that is in force and was not asked for.

    `kind`: `rewritten` (asked and replaced), `defaulted` (not asked, filled in), `dropped` (asked and ignored).
    `logged` quotes the engine's own line about it, None if it said nothing. `fix` is the engine's way to get what was
    asked for, empty where the usual advice will do. `foretold`: by the rules of the version alone, nothing that was
    read shows the value in force; `sources` are then what it follows from, and `note` is
    the rule.
    """

    key: str
    asked: str | None
    effective: str | None
    kind: Literal["rewritten", "defaulted", "dropped"]
    cause: str | None
    rule: str
    logged: str | None = None
    sources: tuple[Source, ...] = ()
    fix: str = ""
    foretold: bool = False
    note: str = ""


class DecodeWindow(Frozen):
    """One line of decode statistics: the interval since the line before.

    `clean` is False where the interval holds prefill or idle time, or the batch had ended: its speed says nothing. An
    engine that mixes prefill into decode steps prints its share instead (`prompt_tok_s`).
    `accept_rate` is as printed; `strict_rate` excludes the bonus token whatever the version prints. `counts` are those
    of the interval, where printed: accept lengths of such windows are means over drafts, pooled by adding the counts.
    `kv_usage` is the share of the KV cache in use, 0 to 1; `preemptions` those of the interval. `acceptance_line` is
    where acceptance stands, if not on `line`.
    """

    line: int
    at: float | None
    rank: str
    running: int
    queue: int
    tokens: int | None
    accept_length: float | None
    accept_rate: float | None
    strict_rate: float | None
    graph: bool | None
    throughput_tok_s: float
    clean: bool
    counts: DraftCounts | None = None
    prompt_tok_s: float | None = None
    kv_usage: float | None = None
    preemptions: int | None = None
    acceptance_line: int | None = None

    @property
    def shows_acceptance(self) -> int:
        """The line to cite for the accept length."""
        return self.acceptance_line or self.line


class GraphCapture(Frozen):
    """One kind of CUDA graph that the log shows captured."""

    what: Literal["target", "draft decode", "draft extend", "prefill"]
    line: int
    tokens_per_request: int | None = None
    max_batch: int | None = None
    elapsed_s: float | None = None
    finished: bool = False


class Failure(Frozen):
    """Why a start failed or a server died, read from its log: the telling line and what it means in one sentence."""

    line: int
    quote: str
    meaning: str
    cause: str | None
    next_step: str = ""


class StartTimes(Frozen):
    """Seconds by phase of the last start that the log holds; None where it does not show."""

    total_s: float | None = None
    load_weight_s: float | None = None
    kv_cache_s: float | None = None
    graphs_s: float | None = None


class Notice(Frozen):
    """A line of the log that matters to a rule (override, warning), classified; `benign` ones are named to calm."""

    line: int
    kind: str
    text: str
    benign: bool = False


class WholeLog(Frozen):
    """Decode lines of a log that holds more of them than are kept: how many, and plain means over all of them.

    Of lines with living requests; accept length with the bonus token (None without speculation), throughput of all
    requests together.
    """

    lines: int
    accept_length: float | None
    throughput_tok_s: float | None


class LogReading(Frozen):
    """What one server log says. `version` is what it states; `version_range` what its wording proves, for example
    ">=0.5.11,<0.5.14".

    `server_args` are the values in force that it prints, `asked_args` those that it says were asked for. `decode` holds
    the newest lines of a very long log, `whole` then tells of all. `counts` are those of all intervals of the last
    start together, for engines that print them.
    """

    where: str
    lines: int
    version: str | None = None
    version_source: Source | None = None
    version_range: str | None = None
    version_proofs: tuple[Source, ...] = ()
    server_args: dict[str, JsonValue] | None = None
    server_args_line: int | None = None
    asked_args: dict[str, JsonValue] | None = None
    asked_args_line: int | None = None
    notices: tuple[Notice, ...] = ()
    decode: tuple[DecodeWindow, ...] = ()
    whole: WholeLog | None = None
    counts: DraftCounts | None = None
    prefills: int = 0
    graphs: tuple[GraphCapture, ...] = ()
    weight_classes: tuple[str, ...] = ()
    start: StartTimes = StartTimes()
    ready_line: int | None = None
    shutdown_line: int | None = None
    failure: Failure | None = None
    last_lines: tuple[str, ...] = ()


KeeperKind = Literal[
    "plain", "docker", "podman", "systemd", "slurm", "kubernetes", "ray", "multi-node", "disaggregation", "router",
    "supervisor", "loop", "tmux", "screen", "via", "unknown",
]  # fmt: skip


ARGS_PLACE = "{args}"
Configured = str | tuple[str, ...]
"""A command that a user has written: a line for the shell, or a list of words."""


class LifecycleCommands(Frozen):
    """How a user has a server stopped and started. `start` says where its arguments go (`{args}`, once).

    `status` ends with exit code 0 while the server runs.
    """

    start: Configured
    stop: Configured
    status: Configured | None = None

    @field_validator("start")
    @classmethod
    def _takes_arguments(cls, value: Configured) -> Configured:
        if value.count(ARGS_PLACE) != 1:
            raise ValueError(f"the start command names {ARGS_PLACE} once, where the server's arguments go")
        return value

    @field_validator("stop", "status")
    @classmethod
    def _takes_none(cls, value: Configured | None) -> Configured | None:
        words = (value,) if isinstance(value, str) else value or ()
        if value is not None and (not "".join(words) or any(ARGS_PLACE in word for word in words)):
            raise ValueError(f"it must say something, and takes no {ARGS_PLACE}")
        return value


class KeeperRef(Frozen):
    """By whom the server is stopped and started: a unit or a container by its name, nobody for a plain process.

    `commands` are those of the targets file, which count before any other way.
    """

    kind: Literal["plain", "systemd", "docker", "podman", "commands"] = "plain"
    name: str = ""
    scope: Literal["system", "user"] = "system"
    commands: LifecycleCommands | None = None

    @property
    def stop_words(self) -> tuple[str, ...]:
        """The command that stops the server; empty for a process that is stopped by a signal."""
        if self.kind == "plain":
            return ()
        if self.commands is not None:
            stop = self.commands.stop
            return ("sh", "-c", stop) if isinstance(stop, str) else stop
        if self.kind == "systemd":
            return ("systemctl", *(("--user",) if self.scope == "user" else ()), "stop", self.name)
        return (self.kind, "stop", self.name)


class Keeper(Frozen):
    """Who keeps the server alive, and so whether a restart can be undone without asking anybody.

    `through` is what carries a restart out; `remarks` say what comes with one; `known` is what a line to do it by hand
    is made of.
    """

    kind: KeeperKind
    through: KeeperRef = KeeperRef()
    remarks: tuple[str, ...] = ()
    known: dict[str, JsonValue] = Field(default_factory=dict)
    detail: str = ""
    restartable: bool = False
    reason: str = ""
    by_hand: str = ""


class LaunchTraits(Frozen):
    """What an engine knows of a server that tells who else depends on it.

    `disaggregation` names the side that it is, empty for a whole server. `programs` are parts of words by which its
    command line is known, `routers` those of the routers that may send it requests.
    """

    nodes: int = 1
    rank: int = 0
    disaggregation: str = ""
    ray: bool = False
    programs: tuple[str, ...] = ()
    routers: tuple[str, ...] = ()


class Surroundings(Frozen):
    """What a server runs in. `software` says where its Python comes from; times are seconds since the epoch.

    A container may have been started long after its host: `container_started_at` is None outside of one.
    """

    software: str = ""
    wrappers: tuple[str, ...] = ()
    nodes: int = 1
    rank: int = 0
    host_booted_at: float | None = None
    container_started_at: float | None = None


class ServerRef(Frozen):
    """What proves that a process is the server under study: pid, start time in clock ticks, port."""

    pid: int
    start_ticks: int
    port: int


_OTHER_NAMES = {"tp_size": ("tensor_parallel_size",), "dp_size": ("data_parallel_size",)}


class ServerView(Frozen):
    """One server, read and not judged. `asked` and `effective` use the engine's argument names (underscores).

    `asked_lines` are the lines of `asked_source` on which arguments stand, empty where it has no lines.
    `pins` are the kernel packages of its release, empty where they are not known. `lifetime_counts` are the server's
    own counters since it started, all clients and ranks together.
    """

    engine: str
    state: Literal["running", "starting", "down"]
    ref: ServerRef | None = None
    version: str | None = None
    version_range: str | None = None
    version_source: Source | None = None
    version_doubts: tuple[str, ...] = ()
    pins: dict[str, str] = Field(default_factory=dict)
    argv: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    started_at: float | None = None
    asked: dict[str, str] = Field(default_factory=dict)
    asked_source: Source | None = None
    asked_lines: dict[str, int] = Field(default_factory=dict)
    effective: dict[str, JsonValue] = Field(default_factory=dict)
    effective_source: Source | None = None
    asked_spec: SpecSetting | None = None
    spec: SpecSetting | None = None
    rewrites: tuple[Rewrite, ...] = ()
    log: LogReading | None = None
    keeper: Keeper = Keeper(kind="unknown", reason="not looked at")
    surroundings: Surroundings = Surroundings()
    model_path: str | None = None
    draft_path: str | None = None
    served_model: str | None = None
    target_config: dict[str, JsonValue] | None = None
    draft_config: dict[str, JsonValue] | None = None
    lifetime_accept_length: float | None = None
    lifetime_counts: DraftCounts | None = None
    log_path: str | None = None
    needs_api_key: bool = False

    def argument(self, name: str) -> JsonValue:
        """The value in force, else what was asked for, else None; under the name that this engine has for it."""
        for known in (name, *_OTHER_NAMES.get(name, ())):
            if known in self.effective or known in self.asked:
                return self.effective.get(known, self.asked.get(known))
        return None
