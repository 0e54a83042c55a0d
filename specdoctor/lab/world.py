"""The world format: one YAML file of physical facts about a practice host and the server on it.

A world says what is there (machine, files, models, costs, noise, traffic), never what a diagnosis should conclude;
only `truth` does, and nothing but scorers and tests reads it. `docs/lab.md` explains the fields for authors.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from specdoctor.core.errors import UsageError
from specdoctor.core.faults import Fault, explained, nearest, refusal
from specdoctor.core.input_file import is_there, read_input
from specdoctor.core.model import Frozen, Role, Verdict
from specdoctor.core.yaml_places import DEEPEST, bracket_depth, parse_yaml
from specdoctor.lab.world_keeper import Keeper, PlainKeeper
from specdoctor.lab.world_machine import Engine, Gpus, GpuTenant, Host, Install, release_of
from specdoctor.lab.world_models import Acceptance, Conditionals, ForwardCost, Model, Tensor, Training

__all__ = [
    "Acceptance",
    "Ask",
    "Conditionals",
    "Crash",
    "Earlier",
    "Engine",
    "EnvironmentEffect",
    "ForwardCost",
    "GpuTenant",
    "Gpus",
    "Host",
    "HostCost",
    "Install",
    "Launch",
    "Model",
    "Noise",
    "Physics",
    "Placement",
    "Server",
    "StartMode",
    "Startup",
    "Tensor",
    "Traffic",
    "Training",
    "TrueCause",
    "Truth",
    "World",
    "WorldError",
    "builtin_worlds",
    "json_schema",
    "release_of",
]


LARGEST_BYTES = 1 << 20
FORMAT = "specdoctor lab schema  prints the format; docs/lab.md explains it"


class WorldError(UsageError):
    """A world file cannot be read or breaks the format; the message lists every fault with its place and key."""


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


class Placement(Frozen):
    """Where this server runs at the speed of its costs, and how much slower its host work is anywhere else."""

    cpus: str
    """As in Cpus_allowed_list."""
    memory: str = "default"
    """As in numa_maps: `default`, `bind:0`."""
    other_cpus_factor: float = 1.0
    other_memory_factor: float = 1.0


class StartMode(Frozen):
    """A speed that a start may end up with for good, and how often (by weight)."""

    weight: float = 1.0
    host_factor: float = 1.0
    gpu_factor: float = 1.0


class Physics(Frozen):
    reference_tp: int = 1
    host: HostCost = HostCost()
    noise: Noise = Noise()
    startup: Startup = Startup()
    environment: tuple[EnvironmentEffect, ...] = ()
    placement: Placement | None = None
    unbound_factor: float = 1.0
    """Host time of a server whose ranks are bound to no NUMA node, neither by --numa-node nor by the engine itself."""
    start_modes: tuple[StartMode, ...] = ()
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


class Earlier(Frozen):
    """A server that ran here before and was stopped; its log is all that is left.

    `without` are flags of the present launch line that it did not have; the factors multiply the present times.
    """

    log: str
    started_s_ago: float
    ended_s_ago: float
    without: tuple[str, ...] = ()
    gpu_factor: float = 1.0
    host_factor: float = 1.0
    history: tuple[Traffic, ...] = ()


class Ask(Frozen):
    """What the user types: the symptom in their words, and further flags.

    `other_install` is the table of that name in their targets file; `{home}` expands in it.
    """

    symptom: str
    flags: tuple[str, ...] = ()
    other_install: dict[str, str] = Field(default_factory=dict)


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
    keeper: Keeper = PlainKeeper()
    server: Server = Server()
    history: tuple[Traffic, ...] = ()
    earlier: tuple[Earlier, ...] = ()
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
        data = _read(source)
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise _faults(source, error) from error

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


def _read(source: Path, seen: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The file's mapping, over that of the world that it is `like`. Raises WorldError."""
    try:
        content = read_input(source, limit=LARGEST_BYTES, pipes=False)
    except OSError as error:
        raise WorldError(
            f"{source}: {error.strerror}", tried=f"read {source}", next_step="give the path of a world file"
        ) from error
    try:
        data = _parsed(content)
    except (YAMLError, ValueError, RecursionError) as error:
        raise _no_world(source, content) from error
    if not isinstance(data, dict):
        raise WorldError(f"{source}: a world is a mapping", next_step=FORMAT)
    base, data = data.get("like"), {key: value for key, value in data.items() if key != "like"}
    if base is None:
        return data
    other = _locate(base if not str(base).endswith((".yaml", ".yml")) else source.parent / str(base))
    if other in (source, *seen):
        raise WorldError(f"{source}: like: the worlds {[p.stem for p in (*seen, source)]} are like each other")
    merged: dict[str, Any] = _over(_read(other, (*seen, source)), data)
    return merged


@lru_cache(maxsize=64)
def _parsed(content: bytes) -> Any:
    """What the YAML says, not to be changed: many worlds are like one that is read for each of them."""
    text = content.decode("utf-8-sig")
    if bracket_depth(text) > DEEPEST:
        raise ValueError("nested too deep")
    return YAML(typ="safe").load(text)


def _over(below: Any, above: Any, key: str = "") -> Any:
    """Mappings merge key by key, models by their id; everything else is replaced."""
    if key == "models" and _have_ids(below) and _have_ids(above):
        known = {model["id"]: model for model in below}
        own = {model["id"]: model for model in above}
        return [_over(known.get(name, {}), own.get(name, {})) for name in {**known, **own}]
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    return {**below, **{key: _over(below.get(key), value, key) for key, value in above.items()}}


def _have_ids(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) and "id" in each for each in value)


def _locate(path: str | Path) -> Path:
    given = Path(path)
    if given.suffix in {".yaml", ".yml"} or is_there(given):
        return given
    if str(path) not in builtin_worlds():
        raise WorldError(
            f"no world {str(path)!r}{nearest(str(path), builtin_worlds())}",
            tried="the built-in worlds, and a file of that name",
            next_step="specdoctor lab list  shows the worlds; or give the path of a world file",
        )
    return Path(__file__).parent / "worlds" / f"{path}.yaml"


def _faults(source: Path, error: ValidationError) -> WorldError:
    """Every fault with its place; one in what the world is `like` has the place of what is around it here."""
    file = parse_yaml(source, read_input(source, limit=LARGEST_BYTES, pipes=False))
    faults = []
    for item in error.errors(include_url=False):
        line, column = file.find(item["loc"])
        key = ".".join(map(str, item["loc"])) or "(whole file)"
        message = explained(item, known_keys=_known_keys(item["loc"]))
        faults.append(Fault(line=line, column=column, key=key, message=message))
    return WorldError(refusal(str(source), faults).message, tried=f"read {source}", next_step=FORMAT)


def _known_keys(loc: tuple[int | str, ...]) -> list[str]:
    """The keys that may stand where `loc` does, as far as one form is meant there."""
    model: Any = World
    for part in loc[:-1]:
        found = model.model_fields.get(part)
        model = found.annotation if found is not None else None
        if not isinstance(model, type) or not issubclass(model, Frozen):
            return []
    return [*model.model_fields, *(["like"] if model is World else [])]


def _no_world(source: Path, content: bytes) -> WorldError:
    """What is wrong with a file that cannot be parsed, and where."""
    said = f"{source}: this is no YAML"
    try:
        parse_yaml(source, content)
    except UsageError as error:
        said = error.message
    return WorldError(said, tried=f"read {source}", next_step=FORMAT)


def builtin_worlds() -> tuple[str, ...]:
    """Names of the worlds that come with the package, sorted."""
    return tuple(sorted(path.stem for path in (Path(__file__).parent / "worlds").glob("*.yaml")))


def json_schema() -> Mapping[str, Any]:
    """JSON schema of the world format, for editors. A world that is `like` another may leave out what that one says."""
    form = World.model_json_schema()
    like = {"type": "string", "title": "Like", "description": "a world by name, or the path of a file beside this one"}
    asked = [{"required": ["like"]}, {"required": form.pop("required")}]
    return {**form, "properties": {"like": like, **form["properties"]}, "anyOf": asked}
