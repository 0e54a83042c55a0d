"""Benchmarks: the plan, the raw record of each request, and the measurement folded from them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from specdoctor.core.estimate import Estimate
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
    """A closed-loop load: `concurrency` clients, each sending its next request when the last has ended.

    `form` is how the prompt is sent: `chat` (the model's template, by the chat endpoint) or `generate`.
    `warmup` requests run first, at the same concurrency, and are kept out of the figures. `run` and `action` make the
    plan idempotent: given twice, it is carried out once.
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
    max_new_tokens: int
    temperature: float = 0.0
    request_timeout_s: float = 300.0
    own_command: tuple[str, ...] = ()
    log_path: str | None = None


class RequestRecord(Frozen):
    """One request as the client on the host saw it; times in seconds on the host's monotonic clock.

    `tokens_first_chunk` are the tokens that came with the first non-empty chunk, None if the server does not say.
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


class BenchRecord(Frozen):
    """Raw outcome of a bench: all requests, failed ones included, and the log lines written meanwhile."""

    action: str
    started_at: float
    ended_at: float
    warmed_up: bool
    warmup_failed: int = 0
    requests: tuple[RequestRecord, ...]
    log: str = ""
    client_cpu_s: float = 0.0
    own_output: str | None = None
    own_exit_code: int | None = None
    stopped: str | None = None


class WatchRecord(Frozen):
    """The server watched for `seconds` without a request of ours: log growth and two metric scrapes.

    `foreign_requests` counts requests of others seen by any of the means available (None: no means).
    """

    seconds: float
    foreign_requests: int | None
    means: tuple[str, ...] = ()
    log: str = ""
    metrics_before: str | None = None
    metrics_after: str | None = None


class Measurement(Frozen):
    """Figures of one bench or of the users' own traffic, each with interval, estimator and sample size.

    `throughput` (tok/s): decode speed of one request at concurrency 1, all requests together above it; the estimator
    says which. `source` control: the original measured again after it was put back. `step` (ms): one target forward,
    that is one cycle under speculation. `conditional` lists the conditional acceptance per draft position.
    `fingerprint` names facts of host, GPUs, software, settings and workload: the state that the figures belong to.
    """

    id: str
    launch: str
    launch_key: str
    spec: SpecSetting
    concurrency: int
    source: Literal["bench", "traffic", "log", "control"]
    requests: int
    failed: int = 0
    throughput: Estimate | None = None
    request_throughput: Estimate | None = None
    accept_length: Estimate | None = None
    step: Estimate | None = None
    conditional: tuple[Estimate, ...] = ()
    ttft_ms: Estimate | None = None
    queue_max: int | None = None
    running_max: int | None = None
    prompt_set: str = ""
    cached_requests: int = 0
    flags: tuple[str, ...] = ()
    own_figures: dict[str, float] = Field(default_factory=dict)
    fingerprint: dict[str, str] = Field(default_factory=dict)
    evidence: str = ""
