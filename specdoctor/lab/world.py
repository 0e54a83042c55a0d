"""The world format: one YAML file of physical facts about a practice host and the server on it.

A world says what is there (machine, files, models, costs, noise, traffic), never what a diagnosis should conclude;
only `truth` does, and nothing but scorers and tests reads it. `docs/lab.md` explains the fields for authors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from specdoctor.core.errors import UsageError
from specdoctor.core.model import Frozen, Role, Verdict

Probability = float
Conditionals = tuple[float, ...]
"""Acceptance of draft i given that all before it were accepted; the last value holds for all later positions."""


def release_of(version: str) -> tuple[int, int, int]:
    """(major, minor, patch) of a version; pre-, post- and development parts are dropped."""
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if found is None:
        raise ValueError(f"no version like 0.5.12: {version!r}")
    return (int(found[1]), int(found[2]), int(found[3]))


class WorldError(UsageError):
    """A world file cannot be read or breaks the format; the message lists every fault with its key."""


class Engine(Frozen):
    """The installed engine: what `pip show` and /server_info report."""

    name: Literal["sglang"] = "sglang"
    version: str
    python: str = "3.12.3"
    venv: str = "/opt/venv"
    packages: dict[str, str] = Field(default_factory=dict)

    @property
    def release(self) -> tuple[int, int, int]:
        """(major, minor, patch)."""
        return release_of(self.version)

    @field_validator("version")
    @classmethod
    def _is_a_version(cls, value: str) -> str:
        release_of(value)
        return value


class GpuTenant(Frozen):
    """Another process that holds memory on a GPU."""

    gpu: int
    memory_gb: float
    pid: int = 977
    command: str = "python train.py"
    user: str = "guest"
    utilisation_percent: int = 0


class Gpus(Frozen):
    """The GPUs as nvidia-smi shows them. Memory in GiB."""

    name: str = "NVIDIA H200"
    count: int = 1
    memory_gb: float = 140.4
    idle_used_gb: float = 0.6
    compute_capability: str = "9.0"
    power_limit_w: float = 700.0
    power_default_w: float = 700.0
    clock_sm_mhz: int = 1980
    clock_sm_max_mhz: int = 1980
    clock_mem_mhz: int = 3201
    temperature_c: int = 41
    throttle_reasons: str = "0x0000000000000000"
    interconnect: Literal["nvlink", "pcie", "none"] = "nvlink"
    tenants: tuple[GpuTenant, ...] = ()


class Container(Frozen):
    """The container the server runs in, when it does."""

    name: str
    image: str
    restart_policy: Literal["no", "always", "unless-stopped", "on-failure"] = "no"
    start_s: float = 2.0


class Host(Frozen):
    """The machine. `files` are further text files (absolute path -> text); `{models}` and `{home}` expand in paths."""

    name: str
    user: str = "ml"
    os: str = "Ubuntu 24.04.2 LTS"
    kernel: str = "6.8.0-60-generic"
    cpu_model: str = "INTEL(R) XEON(R) PLATINUM 8570"
    cpus: int = 112
    numa_nodes: int = 2
    memory_gb: float = 2015.0
    governor: str = "performance"
    driver: str = "580.95.05"
    cuda: str = "13.0"
    up_since_s: float = 1_900_000.0
    boot_s: float = 1.0
    container: Container | None = None
    service: Literal["none", "systemd"] = "none"
    files: dict[str, str] = Field(default_factory=dict)
    dmesg: tuple[str, ...] = ()


class Tensor(Frozen):
    """One entry of a safetensors header. `fill` says what the data hold: a hole of zeros, noise, or vocabulary maps."""

    name: str
    dtype: Literal["BF16", "F16", "F32", "I64", "I32", "U8", "BOOL", "F8_E4M3"] = "BF16"
    shape: tuple[int, ...]
    fill: Literal["zeros", "noise", "d2t", "t2d"] = "zeros"


class ForwardCost(Frozen):
    """Physical cost of one forward of a model, all ranks together, replayed from a CUDA graph. Milliseconds.

    memory = weights_ms + experts_ms * (distinct experts hit / active experts); compute = tokens * compute_ms_per_token;
    a forward takes fixed_ms + the larger of both (rounded by `knee`) + attention over the contexts of the batch.
    """

    weights_ms: float
    fixed_ms: float = 0.0
    experts_ms: float = 0.0
    experts: int = 0
    active_experts: int = 0
    expert_overlap: float = Field(default=0.0, ge=0.0, lt=1.0)
    compute_ms_per_token: float = 0.0
    attention_ms_per_ktoken: float = 0.0
    knee: float = 6.0
    eager_ms: float = 0.0
    """Host time to launch the kernels of this forward one by one, when no graph holds them."""
    extend_eager_ms: float | None = None
    """The same for a draft-extend forward; `eager_ms` without it."""


class Acceptance(Frozen):
    """How often the target agrees with this drafter, by position, at temperature 0 over the mean of all prompts."""

    as_trained: Conditionals
    otherwise: Conditionals = (0.05,)
    when_fed: dict[str, Conditionals] = Field(default_factory=dict)
    """Captured states, as `"out(1) out(29) out(57)"` -> conditionals, where these differ from `otherwise`."""
    category_odds: dict[str, float] = Field(default_factory=dict)
    prompt_sd: float = 0.12
    temperature_drop: float = Field(default=0.35, ge=0.0, le=1.0)
    branch_gain: float = Field(default=0.2, ge=0.0, lt=1.0)
    """Share of the misses that doubling the branches repairs (topk > 1)."""
    quantised: Conditionals | None = None
    """Conditionals when the drafter is loaded under the target's quantisation by inheritance; None: no difference."""

    @field_validator("as_trained", "otherwise")
    @classmethod
    def _probabilities(cls, value: Conditionals) -> Conditionals:
        if not value or any(not 0.0 <= p < 1.0 for p in value):
            raise ValueError("needs at least one probability, each from 0 up to (not including) 1")
        return value


class Training(Frozen):
    """What a drafter learnt from: `states` in the order of its input, as "embed" and "out(k)"; `target` a model id."""

    states: tuple[str, ...] = ()
    target: str | None = None


class Model(Frozen):
    """A model folder: its config, files and tensors, and (for drafters) what it was trained on and how it accepts."""

    id: str
    path: str
    kind: Literal["target", "eagle3", "eagle", "mtp", "standalone"] = "target"
    config: dict[str, Any]
    tensors: tuple[Tensor, ...] = ()
    layout: Literal["llama", "deepseek-moe", "llama-eagle3", "mla-eagle3"] | None = None
    files: dict[str, str] = Field(default_factory=dict)
    weight_gb: float
    """GiB over all ranks together."""
    shards: int = 1
    kv_kb_per_token: float = 0.0
    """KiB of KV cache one token takes on each rank, at the reference tensor-parallel size."""
    load_s: float = 1.0
    cost: ForwardCost
    training: Training = Training()
    acceptance: Acceptance | None = None

    @property
    def text_config(self) -> dict[str, Any]:
        """The language model's own configuration, inside a multimodal wrapper or not."""
        inner = self.config.get("text_config")
        return inner if isinstance(inner, dict) else self.config

    @property
    def architecture(self) -> str:
        return str((self.config.get("architectures") or ["LlamaForCausalLM"])[0])


class HostCost(Frozen):
    """Host time inside a scheduler iteration, milliseconds, and how much of it the overlap scheduler hides."""

    decode_ms: float = 0.3
    speculation_ms: float = 0.5
    verify_ms: float = 0.0
    """Extra of a forward over more than one token per request: other kernels, other all-reduce path."""
    per_request_ms: float = 0.0
    overlap_hides_ms: float = 0.0
    """Time that becomes serial when overlap scheduling is off."""
    prefill_ms: float = 15.0
    prefill_ms_per_ktoken: float = 20.0


class Noise(Frozen):
    """Scatter of step times: lognormal per step, a slow drift, rare hiccups. The means stay those of the costs."""

    cv: float = 0.012
    drift_cv: float = 0.004
    drift_period_s: float = 90.0
    hiccups_per_kstep: float = 0.5
    hiccup_ms: float = 6.0


class EnvironmentEffect(Frozen):
    """What an environment variable of the server does to the times, when it has this value."""

    variable: str
    value: str
    host_factor: float = 1.0
    gpu_factor: float = 1.0
    extra_ms: float = 0.0


class Startup(Frozen):
    """Seconds the phases of a start take (the loads of weights are in the models)."""

    import_s: float = 0.5
    distributed_s: float = 0.5
    tokenizer_s: float = 0.2
    memory_pool_s: float = 0.1
    capture_s: float = 0.6
    draft_capture_s: float = 0.3
    http_s: float = 0.2
    warmup_s: float = 0.3
    graph_gb: float = 1.0
    draft_graph_gb: float = 0.2
    activation_gb: float = 4.0


class Physics(Frozen):
    reference_tp: int = 1
    host: HostCost = HostCost()
    noise: Noise = Noise()
    startup: Startup = Startup()
    environment: tuple[EnvironmentEffect, ...] = ()
    gpu_factor: float = 1.0
    host_factor: float = 1.0
    ngram_acceptance: Conditionals = (0.25, 0.45)
    ngram_lookup_ms: float = 0.4


class Launch(Frozen):
    """How the server was started. `{models}`, `{home}` and `{log}` expand in argv, env values and paths."""

    argv: tuple[str, ...]
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str = "{home}"
    log: str = "{home}/sglang.log"


class Traffic(Frozen):
    """Closed-loop clients: each sends its next request when the last one ended, after `think_s`."""

    clients: int = 1
    seconds: float = 60.0
    ended_s_ago: float = 30.0
    prompt_tokens: int = 180
    max_new_tokens: int = 256
    temperature: float = 0.0
    think_s: float = 0.05
    category: str | None = None
    distinct_prompts: int = 24
    ignore_eos: bool = True


class Crash(Frozen):
    """How a server that ran came to its end."""

    kind: Literal["cuda-oom", "illegal-memory-access", "host-oom-kill", "stopped"]
    ago_s: float = 1800.0
    gpu: int = 0
    wanted_gb: float = 2.0


class Server(Frozen):
    """State of the server when the world begins. `down` with a `crash`: it ran and died; without: its start failed."""

    state: Literal["running", "down"] = "running"
    started_s_ago: float = 5400.0
    crash: Crash | None = None


class Ask(Frozen):
    """What the user types: the symptom in their words, and further flags."""

    symptom: str
    flags: tuple[str, ...] = ()


class TrueCause(Frozen):
    id: str
    role: Role = Role.EXPLAINS


class Truth(Frozen):
    """The answer, for scorers and tests only."""

    verdict: Verdict
    causes: tuple[TrueCause, ...] = ()
    forbidden: tuple[str, ...] = ()
    says: str = ""
    figures: dict[str, float] = Field(default_factory=dict)


class World(Frozen):
    """One practice host with one server."""

    name: str
    title: str = ""
    seed: int = 1
    engine: Engine
    host: Host
    gpus: Gpus = Gpus()
    models: tuple[Model, ...]
    physics: Physics = Physics()
    launch: Launch
    server: Server = Server()
    history: tuple[Traffic, ...] = ()
    live_traffic: Traffic | None = None
    ask: Ask
    truth: Truth

    @model_validator(mode="after")
    def _ids_are_unique(self) -> Self:
        for what in ("id", "path"):
            values = [getattr(model, what) for model in self.models]
            if len(set(values)) != len(values):
                raise ValueError(f"two models share the same {what}")
        return self

    @classmethod
    def from_yaml(cls, path: str | Path) -> World:
        """Read a world file, or a built-in world by its name.

        Raises WorldError listing all faults, each with its key.
        """
        source = _locate(path)
        try:
            data = YAML(typ="safe").load(source.read_text(encoding="utf-8"))
        except (OSError, YAMLError) as error:
            raise WorldError(
                f"{source}: {error}", tried=f"read {source}", next_step="give the path of a world file"
            ) from error
        if not isinstance(data, dict):
            raise WorldError(f"{source}: a world is a mapping", next_step="see docs/lab.md for the format")
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise WorldError(
                _faults(source, error), tried=f"read {source}", next_step="see docs/lab.md for the format"
            ) from error

    def model(self, model_id: str) -> Model:
        """The model with this id. Raises WorldError when there is none."""
        for model in self.models:
            if model.id == model_id:
                return model
        raise WorldError(f"{self.name}: no model has the id {model_id!r}; known: {[m.id for m in self.models]}")

    def expand(self, text: str, *, models: str = "/models", home: str | None = None, log: str | None = None) -> str:
        """Fill in {models}, {home} and {log} of a path or an argument."""
        home_dir = home if home is not None else f"/home/{self.host.user}"
        out = text.replace("{log}", log if log is not None else self.launch.log)
        return out.replace("{models}", models).replace("{home}", home_dir)


def _locate(path: str | Path) -> Path:
    given = Path(path)
    if given.suffix in {".yaml", ".yml"} or given.exists():
        return given
    return Path(__file__).parent / "worlds" / f"{path}.yaml"


def _faults(source: Path, error: ValidationError) -> str:
    faults = error.errors()
    lines = [f"  {'.'.join(str(part) for part in fault['loc']) or '(top)'}  {fault['msg']}" for fault in faults]
    return "\n".join([f"{source}: {len(faults)} fault{'s' if len(faults) != 1 else ''}", *lines])


def builtin_worlds() -> tuple[str, ...]:
    """Names of the worlds that come with the package, sorted."""
    return tuple(sorted(path.stem for path in (Path(__file__).parent / "worlds").glob("*.yaml")))


def json_schema() -> Mapping[str, Any]:
    """JSON schema of the world format, for editors."""
    return World.model_json_schema()
