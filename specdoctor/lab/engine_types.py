"""What crosses the seam between the engine core and whatever wraps it (a real process, or a test on a virtual clock).

Times named `now_s` are seconds since the epoch; durations are seconds. Log lines are final text without line end;
a line that stands for several terminal updates holds bare carriage returns, as the real progress bars do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from specdoctor.lab.world import Model, release_of

Phase = Literal["parse", "init", "weights", "draft", "memory", "graphs", "http", "warmup", "ready", "failed"]


@dataclass(frozen=True)
class Occupancy:
    """What other processes hold at the moment of a start: TCP ports and GPU memory in GB by GPU index.

    The tenants that the world itself declares are added by `resolve`; name here only what the host runs besides them
    (for example a server that has not gone yet).
    """

    ports: frozenset[int] = frozenset()
    gpu_memory_gb: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class StartupStep:
    """One piece of a start: wait `delay_s`, then write `lines`; the process then holds `gpu_memory_gb` (by GPU)."""

    delay_s: float
    lines: tuple[str, ...]
    phase: Phase
    gpu_memory_gb: Mapping[int, float] | None = None


@dataclass(frozen=True)
class Exit:
    """The process ends here with this code (negative: the signal that killed it)."""

    exit_code: int


class Token(NamedTuple):
    """One output token: its id, the text it adds, how far (nats) it is before the second best."""

    id: int
    text: str
    gap: float = 5.0


@dataclass(frozen=True)
class GenRequest:
    """A generation request as the HTTP front end hands it over.

    `prompt` is text or token ids. `category` names the kind of text (world's acceptance factors); without it the
    core guesses from the prompt.
    """

    id: str
    prompt: str | tuple[int, ...]
    max_new_tokens: int = 128
    temperature: float = 0.0
    ignore_eos: bool = False
    stream: bool = False
    category: str | None = None
    health_check: bool = False
    logprobs: bool = False
    structured: bool = False


@dataclass(frozen=True)
class Finished:
    """End of a request: its finish reason as /generate gives it ({"type": "length", "length": n}) and all meta_info."""

    reason: dict[str, Any]
    meta_info: dict[str, Any]

    @property
    def usage(self) -> dict[str, int]:
        """Token counts for the OpenAI-compatible answers."""
        prompt, completion = self.meta_info["prompt_tokens"], self.meta_info["completion_tokens"]
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


@dataclass(frozen=True)
class StepResult:
    """One scheduler iteration. It began at the `now_s` given to `step` and lasts `duration_s`.

    Deliver `deltas`, `finished` and `log_lines` when the duration is over. For a steady clock call the next `step`
    with the planned end of this one rather than with the time at which a sleep returned.
    """

    duration_s: float
    deltas: dict[str, tuple[Token, ...]]
    finished: dict[str, Finished]
    log_lines: tuple[str, ...]
    kind: Literal["prefill", "decode", "empty"] = "decode"


@dataclass(frozen=True)
class HttpReply:
    """Status and plain-text body of a control call, and the log lines it causes."""

    status: int
    body: str
    log_lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class CapturePlan:
    """Which CUDA graphs a start captures: phase name -> tokens per request; empty when graphs are off."""

    phases: Mapping[str, int]
    batch_sizes: tuple[int, ...]


@dataclass(frozen=True)
class MemoryPlan:
    """GPU memory of one rank in GiB: free before loading, then what the server takes, and the tokens its pool holds."""

    free_gb: float
    weight_gb: float
    draft_weight_gb: float
    kv_gb: float
    draft_kv_gb: float
    graph_gb: Mapping[str, float]
    max_total_num_tokens: int

    @property
    def used_gb(self) -> float:
        graphs = sum(self.graph_gb.values())
        return self.weight_gb + self.draft_weight_gb + self.kv_gb + self.draft_kv_gb + graphs


@dataclass(frozen=True)
class Resolved:
    """A command line that parses: effective arguments, the models it loads, and what follows from both.

    `args` holds every server argument after all overrides, under the names of the installed version.
    `notices` are the log texts of overrides and warnings, in order, without stamps.
    """

    version: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    args: dict[str, Any]
    notices: tuple[str, ...]
    target: Model
    draft: Model | None
    draft_class: str | None
    graphs: CapturePlan
    captured_states: tuple[str, ...]
    wired_as_trained: bool
    spec_worker: Literal["v1", "v2"] | None
    gpus: tuple[int, ...]
    max_running_requests: int
    memory: MemoryPlan
    late_failure: LateFailure | None = None

    @property
    def host(self) -> str:
        return str(self.args["host"])

    @property
    def port(self) -> int:
        return int(self.args["port"])

    @property
    def numa_bound(self) -> bool:
        """Whether each rank is bound to a NUMA node: by --numa-node, or by the engine's own default since 0.5.18."""
        return bool(self.args.get("numa_node")) or self.release >= (0, 5, 18)

    @property
    def verify_backend(self) -> str:
        """The attention back-end of the target's forwards: that of decode, or of prefill for verify in that mode."""
        decode = self.speculative and self.args.get("speculative_attention_mode") == "decode"
        side = "decode" if decode or not self.speculative else "prefill"
        return str(self.args.get(f"{side}_attention_backend") or self.args["attention_backend"])

    @property
    def api_key(self) -> str | None:
        return self.args.get("api_key")

    @property
    def served_model_name(self) -> str:
        return str(self.args["served_model_name"])

    @property
    def metrics_enabled(self) -> bool:
        return bool(self.args.get("enable_metrics"))

    @property
    def speculative(self) -> bool:
        return self.args.get("speculative_algorithm") is not None

    @property
    def num_steps(self) -> int:
        return int(self.args.get("speculative_num_steps") or 0)

    @property
    def topk(self) -> int:
        return int(self.args.get("speculative_eagle_topk") or 1)

    @property
    def num_draft_tokens(self) -> int:
        """Tokens verified per cycle, root included; 1 without speculation."""
        return int(self.args.get("speculative_num_draft_tokens") or 1) if self.speculative else 1

    @property
    def release(self) -> tuple[int, int, int]:
        """(major, minor, patch) of the version."""
        return release_of(self.version)

    @property
    def tp_size(self) -> int:
        return int(self.args["tp_size"])


@dataclass(frozen=True)
class LateFailure:
    """A start that parses but dies later: after which phase, with which text, and how the process ends."""

    after: Phase
    lines: tuple[str, ...]
    exit_code: int


@dataclass(frozen=True)
class StartupFailure:
    """A command line that never becomes a server: usage errors and errors while arguments are resolved.

    `steps` are the lines with their delays; the process then ends with `exit_code`.
    """

    exit_code: int
    steps: tuple[StartupStep, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(line for step in self.steps for line in step.lines)
