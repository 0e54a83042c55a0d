"""Benchmarks: the plan, the raw record of each request, and the measurement folded from them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from specdoctor.core.estimate import Estimate
from specdoctor.core.facts import CommandFacts
from specdoctor.core.model import Frozen
from specdoctor.core.server import ServerRef, SpecSetting


class Prompt(Frozen):
    """One prompt of a set. `chat` prompts go through the model's own template on the server."""

    id: str
    category: str
    text: str


class PromptSet(Frozen):
    """A named, hashed list of prompts; two measurements are comparable only over the same set."""

    name: str
    digest: str
    prompts: tuple[Prompt, ...]


class BenchPlan(Frozen):
    """A load on one server. Closed loop: `concurrency` clients, each sending its next request when the last has ended.
    Open loop, where `rate_per_s` is given: requests come in at random (Poisson, by `seed`), whatever becomes of others.

    `keep`: keep the text of each answer; with `choices` its tokens too, each with the gap of the two likeliest there.
    `form` is how the prompt is sent: `chat` (the model's template, by the chat endpoint) or `generate`. `warmup`
    requests run first, at the same concurrency, and are kept out of the figures; more of them, up to `warmup_most` in
    all, until two rounds in a row are equally fast. `ignore_eos` makes each answer `max_new_tokens` long;
    `json_schema`, a JSON text, binds it to that form. `run` and
    `action` make the plan idempotent: given twice, it is carried out once.
    """

    run: str = "unnamed"
    action: str
    server: ServerRef
    engine: str
    model: str
    prompt_set: PromptSet
    form: Literal["chat", "generate"]
    concurrency: int
    requests: int
    warmup: int
    warmup_most: int = 0
    rate_per_s: float | None = None
    seed: int = 0
    max_new_tokens: int
    ignore_eos: bool = False
    temperature: float = 0.0
    request_timeout_s: float = 300.0
    own_command: tuple[str, ...] = ()
    keep: Literal["", "text", "choices"] = ""
    json_schema: str = ""
    log_path: str | None = None


class RequestRecord(Frozen):
    """One request as the client on the host saw it; times in seconds on the host's monotonic clock.

    `error` begins with its kind: timeout, http NNN, connection, broken stream, server error, stopped.
    `tokens_first_chunk` are the tokens that came with the first non-empty chunk, None if the server does not say;
    `most_tokens_chunk` those of the fullest later one. `gap_..._ms` are times between chunks, not between tokens.
    `text` and `choices` are kept where the plan asks for them.
    `verify_ct`, `correct_drafts`, `histogram` are the server's own counts for this request, None where it gives none.
    """

    id: str
    prompt: str
    category: str
    ok: bool
    error: str | None = None
    t_send: float = 0.0
    t_first: float | None = None
    t_last: float | None = None
    chunks: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    tokens_first_chunk: int | None = None
    finish: str | None = None
    verify_ct: int | None = None
    correct_drafts: int | None = None
    proposed_drafts: int | None = None
    histogram: tuple[int, ...] | None = None
    text_digest: str | None = None
    text: str | None = None
    choices: tuple[tuple[str, float | None], ...] = ()
    most_tokens_chunk: int | None = None
    gap_p50_ms: float | None = None
    gap_p99_ms: float | None = None
    gap_max_ms: float | None = None


class BenchRecord(Frozen):
    """Raw outcome of a bench: all requests, failed ones included, and the log lines written meanwhile.

    `started_at` and `ended_at` are the host's wall clock, `wall_s` is its monotonic one; `clock_jump_s` is how far the
    former was moved against the latter. `warmup_drift` is the relative change of the step between the last two rounds
    of the warm-up. `late_s`: how late the client sent a request at worst. `stopped` says why it ended before its plan.
    """

    action: str
    started_at: float
    ended_at: float
    wall_s: float | None = None
    clock_jump_s: float = 0.0
    warmed_up: bool
    warmup_requests: int = 0
    warmup_failed: int = 0
    warmup_drift: float | None = None
    late_s: float = 0.0
    requests: tuple[RequestRecord, ...]
    log: str = ""
    client_cpu_s: float = 0.0
    own_output: str | None = None
    own_exit_code: int | None = None
    stopped: str | None = None
    gpus: CommandFacts | None = None
    metrics_before: str | None = None
    metrics_after: str | None = None


class OwnLoad(Frozen):
    """A benchmark of ours that goes on by itself on the host; nobody has asked how far it is for `silent_s`."""

    run: str
    action: str
    pid: int
    silent_s: float | None = None
    stage: str = ""
    done: int = 0
    total: int = 0

    @property
    def progress(self) -> str:
        """How far it is; empty where that is not known."""
        return f"{self.stage}, {self.done} of {self.total}" if self.total else self.stage

    @property
    def words(self) -> str:
        silent = f", last asked about {self.silent_s:.0f} s ago" if self.silent_s is not None else ""
        return f"benchmark {self.action} of run {self.run} (process {self.pid}{silent})"


class WatchRecord(Frozen):
    """The server watched for `seconds` without a request of this run: log growth and two metric scrapes.

    `foreign_requests` counts requests of others seen by any of the means available (None: no means); where `own_loads`
    are under way, which other runs have left or still steer, theirs are among them.
    """

    seconds: float
    foreign_requests: int | None
    means: tuple[str, ...] = ()
    own_loads: tuple[OwnLoad, ...] = ()
    log: str = ""
    metrics_before: str | None = None
    metrics_after: str | None = None


def on_prompts(launch_key: str, prompts: str = "", template: str = "") -> str:
    """The key under which a launch is measured with other prompts than the run's, or in another chat template."""
    return launch_key + (f" on {prompts}" if prompts else "") + (f" in the template of {template}" if template else "")


def in_short_answers(name: str) -> str:
    """The key or label of a launch that is asked for short answers, for its step alone."""
    return f"{name}, short answers"


class Measurement(Frozen):
    """Figures of one bench or of the requests in a log, each with interval, estimator and sample size.

    `throughput` (tok/s): decode speed of one request at concurrency 1, all requests together above it; the estimator
    says which. `source` control: the original measured again after it was put back; prompts: with other prompts than
    the run's, under a launch key of its own; earlier: read from a log of an earlier start, in no test;
    wide: short answers under a key of its own, for `between_chunks` alone (median time between chunks of a stream, ms);
    answers: a few answers that are kept to be compared, under a key of their own.
    `step` (ms): one target forward, that is one cycle under speculation. `conditional` lists the conditional acceptance
    per draft position. `failed` counts requests that are in no figure, `failures` by what became of them; `stopped`
    says why a bench ended early: it has no figures then, however many of its requests had ended.
    `fingerprint` names facts of host, GPUs, software, settings and workload: the state that the figures belong to.
    """

    id: str
    launch: str
    launch_key: str
    spec: SpecSetting
    concurrency: int
    source: Literal["bench", "traffic", "log", "control", "prompts", "earlier", "wide", "answers"]
    requests: int
    failed: int = 0
    failures: dict[str, int] = Field(default_factory=dict)
    stopped: str = ""
    throughput: Estimate | None = None
    request_throughput: Estimate | None = None
    accept_length: Estimate | None = None
    step: Estimate | None = None
    conditional: tuple[Estimate, ...] = ()
    ttft_ms: Estimate | None = None
    between_chunks: Estimate | None = None
    queue_max: int | None = None
    running_max: int | None = None
    prompt_set: str = ""
    cached_requests: int = 0
    flags: tuple[str, ...] = ()
    own_figures: dict[str, float] = Field(default_factory=dict)
    fingerprint: dict[str, str] = Field(default_factory=dict)
    evidence: str = ""
