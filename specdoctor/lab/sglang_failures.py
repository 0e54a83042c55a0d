"""How SGLang dies: the texts and exit codes of starts that fail, and of servers that crash."""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.lab.engine_types import LateFailure, Phase, StartupFailure, StartupStep
from specdoctor.lab.world import World

_RUNNER = "sglang/srt/model_executor/model_runner.py"
RULE = (
    '  File "<frozen runpy>", line 198, in _run_module_as_main',
    '  File "<frozen runpy>", line 88, in _run_code',
)


class ParseCrash(Exception):
    """An exception while arguments are resolved: the frames below `prepare_server_args`, and the last line."""

    def __init__(self, last_line: str, frames: Sequence[tuple[str, int, str, str]] = (), cause: str = "") -> None:
        super().__init__(last_line)
        self.last_line = last_line
        self.frames = tuple(frames)
        self.cause = cause


def site_packages(world: World) -> str:
    """Where the engine is installed on the pretended host."""
    minor = ".".join(world.engine.python.split(".")[:2])
    return f"{world.engine.venv}/lib/python{minor}/site-packages"


def frame(site: str, file: str, line: int, function: str, code: str) -> list[str]:
    """Two lines of a traceback."""
    return [f'  File "{site}/{file}", line {line}, in {function}', f"    {code}"]


def launcher_warning(world: World, *, as_module: bool) -> tuple[str, ...]:
    """What `python -m sglang.launch_server` prints about `sglang serve` (late versions)."""
    if not as_module or world.engine.release < (0, 5, 11):
        return ()
    told = "'python -m sglang.launch_server' is still supported, but 'sglang serve' is the recommended entrypoint."
    return (
        f"{site_packages(world)}/sglang/launch_server.py:56: UserWarning: {told}",
        "  Example: sglang serve --model-path <model> [options]",
        "  warnings.warn(",
    )


def parse_failure(world: World, crash: ParseCrash, *, as_module: bool) -> StartupFailure:
    """A traceback from the launcher before anything was logged; exit code 1."""
    site = site_packages(world)
    lines = list(launcher_warning(world, as_module=as_module))
    if crash.cause:
        lines += ["Traceback (most recent call last):"]
        lines += frame(site, "transformers/utils/hub.py", 437, "cached_files", "hf_hub_download(")
        lines += frame(site, "huggingface_hub/utils/_validators.py", 85, "_inner_fn", "validate_repo_id(arg_value)")
        lines += frame(
            site, "huggingface_hub/utils/_validators.py", 133, "validate_repo_id", "raise HFValidationError("
        )
        lines += [crash.cause, "", "The above exception was the direct cause of the following exception:", ""]
    lines += ["Traceback (most recent call last):", *RULE]
    lines += frame(site, "sglang/launch_server.py", 68, "<module>", "server_args = prepare_server_args(sys.argv[1:])")
    lines += frame(
        site, "sglang/srt/server_args.py", 9380, "prepare_server_args", "return ServerArgs.from_cli_args(raw_args)"
    )
    for file, line, function, code in crash.frames:
        lines += frame(site, file, line, function, code)
    lines += crash.last_line.split("\n")
    return StartupFailure(1, (StartupStep(world.physics.startup.import_s, tuple(lines), "failed"),))


def usage_failure(world: World, code: int, text: str, *, as_module: bool) -> StartupFailure:
    """argparse ended the process: usage text and exit code 2 (or the help text and 0)."""
    lines = (*launcher_warning(world, as_module=as_module), *text.rstrip("\n").split("\n"))
    return StartupFailure(code, (StartupStep(world.physics.startup.import_s, lines, "failed"),))


def missing_model(path: str, frames: Sequence[tuple[str, int, str, str]]) -> ParseCrash:
    """A model path that is neither a folder nor a repository name."""
    said = (
        f"Repo id must be in the form 'repo_name' or 'namespace/repo_name': '{path}'. "
        "Use `repo_type` argument if needed."
    )
    if path.count("/") <= 1 and not path.startswith("/"):
        said = (
            "We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached "
            "files.\nCheck your internet connection or see how to run the library in offline mode at "
            "'https://huggingface.co/docs/transformers/installation#offline-mode'."
        )
        return ParseCrash(f"OSError: {said}", frames)
    return ParseCrash(f"OSError: {said}", frames, cause=f"huggingface_hub.errors.HFValidationError: {said}")


def context_error(whose: str, wanted: int, derived: int) -> str:
    """The refusal of a context longer than a model's positions."""
    return (
        f"ValueError: Warning: {whose} ({wanted}) is greater than the derived context_length ({derived}). "
        "This may lead to incorrect model outputs or CUDA errors. Note that the derived context_length "
        "may differ from max_position_embeddings in the model's config. To allow overriding this maximum, set the "
        "env var SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1"
    )


def scheduler_crash(after: Phase, world: World, frames: Sequence[tuple[str, int, str, str]], last: str) -> LateFailure:
    """A scheduler that raises during its start; the launcher then kills its own tree (exit code -9).

    Lines that get a stamp begin with a tab; the start-up writer replaces it.
    """
    site = site_packages(world)
    head = "\tScheduler hit an exception: Traceback (most recent call last):"
    body = frame(site, "sglang/srt/managers/scheduler.py", 4931, "run_scheduler_process", "scheduler = Scheduler(")
    for file, line, function, code in frames:
        body += frame(site, file, line, function, code)
    tail = ["\tReceived sigquit from a child process. It usually means the child failed."]
    if world.engine.release >= (0, 5, 14):
        tail.append("\tkill_process_tree called: parent_pid={pid}, include_parent=True, pid={pid}")
    return LateFailure(after, (head, *body, *last.split("\n"), "", *tail), -9)


def capture_failure(world: World, cause: str) -> LateFailure:
    """An error of the first forward that a graph captures, and the advice that follows it."""
    knob = "--cuda-graph-max-bs-decode" if world.engine.release >= (0, 5, 14) else "--cuda-graph-max-bs"
    said = cause.split(": ", 1)[-1]
    text = (
        f"Exception: Capture cuda graph failed: {said}\nPossible solutions:\n"
        "1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)\n"
        f"2. set {knob} to a smaller value (e.g., 16)\n"
        "3. disable torch compile by not using --enable-torch-compile\n"
        "4. disable CUDA graph by --disable-cuda-graph. (Not recommended. Huge performance loss)\n"
        "Open an issue on GitHub https://github.com/sgl-project/sglang/issues/new/choose "
    )
    frames = [("sglang/srt/model_executor/cuda_graph_runner.py", 737, "__init__", "raise Exception(")]
    return scheduler_crash("graphs", world, frames, text)


def oom_text(world: World, *, gpu: int, wanted_gb: float, free_gb: float, own_gb: float) -> str:
    """torch's words when an allocation is refused."""
    wanted = f"{wanted_gb:.2f} GiB" if wanted_gb >= 1.0 else f"{wanted_gb * 1024:.2f} MiB"
    free = f"{free_gb:.2f} GiB" if free_gb >= 1.0 else f"{max(free_gb, 0.004) * 1024:.2f} MiB"
    return (
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {wanted}. GPU {gpu} has a total capacity of "
        f"{world.gpus.memory_gb:.2f} GiB of which {free} is free. Including non-PyTorch memory, this process has "
        f"{own_gb:.2f} GiB memory in use. If reserved but unallocated memory is large try setting "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory "
        "Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    )


def out_of_memory(after: Phase, world: World, last: str) -> LateFailure:
    """torch refuses an allocation while weights load."""
    code = "self.model = self.loader.load_model("
    return scheduler_crash(after, world, [(_RUNNER, 1466, "load_model", code)], last)


def no_room_for_cache(world: World, *, fraction: float, needed: float) -> LateFailure:
    """The weights leave nothing for the KV cache under --mem-fraction-static."""
    if world.engine.release >= (0, 5, 17):
        last = (
            "ValueError: Loaded weights leave no GPU memory for the KV cache under "
            f"--mem-fraction-static={fraction}. Raise --mem-fraction-static above {needed:.3f} (minimum viable = "
            f"1 - available/pre = {needed:.3f}). If using speculative decoding, draft weights are now counted."
        )
    else:
        last = (
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. "
            f"Current value: mem_fraction_static={fraction}"
        )
    frames = [("sglang/srt/model_executor/pool_configurator.py", 56, "__post_init__", "raise RuntimeError(msg)")]
    return scheduler_crash("weights", world, frames, last)


def unbalanced_memory(world: World, *, lowest_gb: float, local_gb: float) -> LateFailure:
    """Some GPUs of a tensor-parallel group have much less free memory than this rank's."""
    name = "pre_model_load_memory" if world.engine.release >= (0, 5, 10) else "min_per_gpu_memory"
    last = (
        "RuntimeError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. "
        f"{name}={lowest_gb!r}, local_gpu_memory={local_gb!r}, local_gpu_memory * 0.9={local_gb * 0.9!r}"
    )
    frames = [(_RUNNER, 1316, "init_torch_distributed", "raise RuntimeError(msg)")]
    return scheduler_crash("parse", world, frames, last)


def port_in_use(host: str, port: int) -> LateFailure:
    """uvicorn finds the HTTP port taken, after the whole load; exit code 1."""
    refused = f"[Errno 98] error while attempting to bind on address ('{host}', {port}): address already in use"
    return LateFailure(
        "http",
        (
            "\tINFO:     Started server process [{pid}]",
            "\tINFO:     Waiting for application startup.",
            "\tINFO:     Application startup complete.",
            f"\tERROR:    {refused}",
            "\tINFO:     Waiting for application shutdown.",
            "\tINFO:     Application shutdown complete.",
        ),
        1,
    )
