"""From a command line to effective arguments, or to the way in which this version refuses it."""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from specdoctor.lab import sglang_failures as failures
from specdoctor.lab.engine_types import CapturePlan, LateFailure, Occupancy, Resolved, StartupFailure, StartupStep
from specdoctor.lab.sglang_command import ReadFile, command_arguments, parse_words
from specdoctor.lab.sglang_defaults import decode_batch_sizes, fill_defaults
from specdoctor.lab.sglang_failures import ParseCrash
from specdoctor.lab.sglang_flags import UsageExit
from specdoctor.lab.sglang_graphs import graph_phases, worker_of
from specdoctor.lab.sglang_memory import plan_memory, used_gpus
from specdoctor.lab.sglang_pairing import draft_class, pairing_failure, wired_as_trained
from specdoctor.lab.sglang_speculation import apply_speculation, draft_path_frames
from specdoctor.lab.sglang_stamp import stamp
from specdoctor.lab.wiring import WiringError, captured_states
from specdoctor.lab.world import Model, World


def resolve(
    argv: Sequence[str],
    env: Mapping[str, str],
    world: World,
    *,
    models: Mapping[str, Model] | None = None,
    occupied: Occupancy | None = None,
    read_file: ReadFile | None = None,
    now_s: float | None = None,
) -> Resolved | StartupFailure:
    """Parse and resolve a whole command line (`python -m sglang.launch_server ...` or `sglang serve ...`).

    `models` maps folder paths to what lies there (default: the world's own models under their declared paths); a
    wrapper with real folders passes `tensors.scan_models(root, world)`, so that copied and edited folders count.
    `occupied` is what other processes hold besides the world's own tenants. `read_file` returns the text of a path for
    `--config` and raises OSError (default: the world's declared host files). `now_s` stamps warnings that come before a
    traceback (default: now).
    """
    notices: list[str] = []
    as_module = True
    started = time.time() if now_s is None else now_s
    try:
        words, as_module = command_arguments(argv)
        return _resolve(
            words,
            argv=tuple(argv),
            env=env,
            world=world,
            models=models if models is not None else declared_models(world),
            occupied=occupied or Occupancy(),
            read_file=read_file or _declared_file(world),
            notices=notices,
        )
    except UsageExit as usage:
        return failures.usage_failure(world, usage.code, usage.text, as_module=as_module)
    except ParseCrash as crash:
        failed = failures.parse_failure(world, crash, as_module=as_module)
        return _with_notices(failed, notices, world, started)


def declared_models(world: World) -> dict[str, Model]:
    """The world's models under their declared paths."""
    return {world.expand(model.path): model for model in world.models}


def _declared_file(world: World) -> ReadFile:
    files = {world.expand(path): text for path, text in world.host.files.items()}

    def read(path: str) -> str:
        if path not in files:
            raise FileNotFoundError(path)
        return files[path]

    return read


def _with_notices(failed: StartupFailure, notices: list[str], world: World, now_s: float) -> StartupFailure:
    """Put the warnings that came before a traceback into it, behind the launcher's own."""
    at = now_s + world.physics.startup.import_s
    stamped = tuple(f"{stamp(at, release=world.engine.release)}{text}" for text in notices)
    lines = failed.lines
    cut = next((i for i, line in enumerate(lines) if line.startswith("Traceback")), len(lines))
    step = StartupStep(world.physics.startup.import_s, (*lines[:cut], *stamped, *lines[cut:]), "failed")
    return replace(failed, steps=(step,))


def _resolve(
    words: list[str],
    *,
    argv: tuple[str, ...],
    env: Mapping[str, str],
    world: World,
    models: Mapping[str, Model],
    occupied: Occupancy,
    read_file: ReadFile,
    notices: list[str],
) -> Resolved:
    release = world.engine.release
    args = parse_words(words, release, read_file)
    target = _find(models, args["model_path"], [("sglang/srt/configs/model_config.py", 110, "__init__", "get_config(")])
    draft_path = args["speculative_draft_model_path"]
    wants_draft = args["speculative_algorithm"] is not None and draft_path is not None
    if wants_draft and release >= (0, 5, 12):
        _find(models, draft_path, draft_path_frames(release))
    _check_context(args, target, env)
    seed = zlib.crc32(" ".join(argv).encode()) ^ world.seed
    fill_defaults(args, release=release, gpus=world.gpus, model=target, notices=notices, seed=seed)
    apply_speculation(args, release=release, target=target, env=env, notices=notices)
    draft, late = _draft_model(args, world, target, models)
    return _assemble(args, argv, env, world, target, draft, occupied, notices, late)


def _find(models: Mapping[str, Model], path: str, frames: Sequence[tuple[str, int, str, str]]) -> Model:
    found = models.get(path.rstrip("/"))
    if found is None:
        raise failures.missing_model(path, frames)
    return found


def _check_context(args: Mapping[str, Any], target: Model, env: Mapping[str, str]) -> None:
    derived = int(target.text_config.get("max_position_embeddings", 131072))
    wanted = args["context_length"]
    if wanted is not None and wanted > derived and not env.get("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"):
        said = failures.context_error("User-specified context_length", wanted, derived)
        frames = [("sglang/srt/configs/model_config.py", 402, "_derive_context_length", "raise ValueError(msg)")]
        raise ParseCrash(said, frames)


def _draft_model(
    args: Mapping[str, Any], world: World, target: Model, models: Mapping[str, Model]
) -> tuple[Model | None, LateFailure | None]:
    algorithm, path = args["speculative_algorithm"], args["speculative_draft_model_path"]
    if algorithm in {None, "NGRAM"}:
        return None, None
    if path is None:
        return target, None
    if path == args["model_path"]:
        heads = [model for model in world.models if model.kind == "mtp" and model.training.target == target.id]
        return (heads[0] if heads else target), None
    draft = models.get(path.rstrip("/"))
    if draft is not None:
        return draft, None
    crash = failures.missing_model(path, ())
    frames = [("sglang/srt/managers/scheduler.py", 410, "__init__", "self.draft_worker = EAGLEWorker(")]
    return None, failures.scheduler_crash("weights", world, frames, crash.last_line)


def context_length(args: Mapping[str, Any], target: Model) -> int:
    """Longest context the server admits."""
    return int(args["context_length"] or target.text_config.get("max_position_embeddings", 131072))


def _assemble(
    args: dict[str, Any],
    argv: tuple[str, ...],
    env: Mapping[str, str],
    world: World,
    target: Model,
    draft: Model | None,
    occupied: Occupancy,
    notices: list[str],
    late: LateFailure | None,
) -> Resolved:
    release = world.engine.release
    worker = worker_of(args, release)
    phases = graph_phases(args, release, worker)
    gpus = used_gpus(args, env, world)
    late = late or _too_few_gpus(gpus, args, world)
    ranks = gpus or tuple(range(min(world.gpus.count, 1)))
    memory, misfit = plan_memory(
        args,
        world=world,
        target=target,
        draft=draft,
        gpus=ranks,
        occupied=occupied,
        graph_phases=tuple(phases),
    )
    states: tuple[str, ...] = ()
    if draft is not None and args["speculative_algorithm"] in {"EAGLE", "EAGLE3"}:
        try:
            states = captured_states(
                target,
                draft,
                algorithm=args["speculative_algorithm"],
                release=release,
                ids_as_inputs=_patched(world, argv),
            )
        except WiringError as error:
            late = late or failures.capture_failure(world, str(error))
    late = _earliest(late or pairing_failure(args, world, target, draft, env), misfit)
    if late is None and int(args["port"]) in occupied.ports:
        late = failures.port_in_use(str(args["host"]), int(args["port"]))
    cap = _request_cap(args, memory.max_total_num_tokens, context_length(args, target))
    return Resolved(
        version=world.engine.version,
        argv=argv,
        env=dict(env),
        args=args,
        notices=tuple(notices),
        target=target,
        draft=draft,
        draft_class=draft_class(args, target, draft),
        graphs=CapturePlan(phases, tuple(size for size in decode_batch_sizes(args) if size <= cap)),
        captured_states=states,
        wired_as_trained=wired_as_trained(args, target, draft, states),
        spec_worker=worker,
        gpus=ranks,
        max_running_requests=cap,
        memory=memory,
        late_failure=late,
    )


_ORDER = ("parse", "init", "weights", "draft", "memory", "graphs", "http")


def _earliest(first: LateFailure | None, second: LateFailure | None) -> LateFailure | None:
    known = [failure for failure in (second, first) if failure is not None]
    return min(known, key=lambda failure: _ORDER.index(failure.after), default=None)


def _too_few_gpus(gpus: tuple[int, ...] | None, args: Mapping[str, Any], world: World) -> LateFailure | None:
    if gpus is not None:
        return None
    last = (
        "torch.AcceleratorError: CUDA error: invalid device ordinal\n"
        "GPU device may be out of range, do you have enough GPUs?\n"
        "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
        "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1"
    )
    code = "torch.get_device_module(self.device).set_device(self.gpu_id)"
    frames = [("sglang/srt/model_executor/model_runner.py", 1192, "init_torch_distributed", code)]
    return failures.scheduler_crash("parse", world, frames, last)


def _patched(world: World, argv: Sequence[str]) -> bool:
    """Whether the install that this launch runs from takes layer ids as inputs."""
    ends = [each.venv.removeprefix("{home}") + "/bin/python3" for each in world.engine.installs if each.ids_as_inputs]
    return bool(argv) and argv[0].endswith(tuple(ends))


def _request_cap(args: Mapping[str, Any], tokens: int, context: int) -> int:
    estimated = max(min(int(tokens / context * 512), 4096), 2048)
    given = args["max_running_requests"]
    ranks = int(args["dp_size"]) if args.get("enable_dp_attention") else 1
    return min(int(given) // ranks, estimated) if given is not None else min(estimated, max(tokens // 2, 1))
