"""The log of a start, in timed pieces, up to the ready line or to the way the start dies."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from specdoctor.lab.engine_types import Exit, Phase, Resolved, StartupStep
from specdoctor.lab.sglang_args import context_length
from specdoctor.lab.sglang_defaults import uses_mla
from specdoctor.lab.sglang_failures import launcher_warning
from specdoctor.lab.sglang_output import (
    GRAPH_PHASES,
    PrefillStats,
    capture_bar,
    capture_begin,
    capture_end,
    kv_allocated,
    prefill_line,
    says_access,
    says_info,
    server_args_line,
    shard_bar,
    weights_end,
)
from specdoctor.lab.sglang_stamp import stamp
from specdoctor.lab.world import Model, World

WARMUP_TOKENS = 10


def usual_timings(resolved: Resolved, world: World) -> dict[str, float]:
    """Mean seconds of a start by phase, for a server whose start was not watched."""
    startup = world.physics.startup
    graphs = {
        phase: startup.draft_capture_s if phase.startswith("draft") else startup.capture_s
        for phase in resolved.graphs.phases
    }
    weights = resolved.target.load_s + (resolved.draft.load_s if resolved.draft is not None else 0.0)
    scheduler = startup.distributed_s + weights + startup.memory_pool_s + sum(graphs.values())
    return graphs | {
        "load_weight": weights,
        "kv_cache_allocation": startup.memory_pool_s,
        "scheduler_e2e": scheduler,
        "tokenizer_e2e": scheduler + startup.import_s + startup.tokenizer_s + startup.http_s,
    }


class StartupLog:
    """Writes the lines of one start; keeps the clock, the free memory and the phase durations."""

    def __init__(self, resolved: Resolved, world: World, rng: random.Random, now_s: float, pid: int) -> None:
        self._resolved, self._world, self._rng = resolved, world, rng
        self._pid = pid
        self._begin_s = self._at_s = now_s
        self._free_gb = resolved.memory.free_gb
        self._held_gb = 0.0
        self._release = resolved.release
        self._ranks = [f"TP{rank}" for rank in range(resolved.tp_size)] if resolved.tp_size > 1 else [""]
        self._lines: list[str] = []
        self._spent: dict[str, float] = {}

    def steps(self) -> Iterator[StartupStep | Exit]:
        """All pieces in order."""
        failure = self._resolved.late_failure
        plan = list(self._plan())
        last = max((i for i, (phase, _) in enumerate(plan) if failure and phase == failure.after), default=None)
        for index, (_, pieces) in enumerate(plan):
            yield from pieces
            if failure is not None and index == last:
                self._pass(0.4)
                for line in failure.lines:
                    text = line.replace("{pid}", str(self._pid))
                    self._raw(f"{self._stamp()}{text[1:]}" if text.startswith("\t") else text)
                yield self._step(0.4, "failed")
                yield Exit(failure.exit_code)
                return

    def _plan(self) -> Iterator[tuple[Phase, Iterator[StartupStep]]]:
        draft = self._resolved.draft
        yield "parse", self._parse()
        yield "init", self._init()
        yield "weights", self._weights(self._resolved.target, self._resolved.target.architecture)
        graphs = self._resolved.graphs.phases
        own = [phase for phase in graphs if not phase.startswith("draft")]
        drafted = [phase for phase in graphs if phase.startswith("draft")]
        if self._release < (0, 5, 14):
            yield "memory", self._pools((False,))
            yield "graphs", self._captures(own)
            if draft is not None:
                yield "draft", self._draft_weights(draft)
                yield "memory", self._pools((True,))
                yield "graphs", self._captures(drafted)
        else:
            if draft is not None:
                yield "draft", self._draft_weights(draft)
            yield "memory", self._pools((False, True) if draft is not None else (False,))
            yield "graphs", self._captures([*own, *drafted])
        yield "http", self._http()
        yield "warmup", self._warmup()

    def _stamp(self, rank: str = "") -> str:
        return stamp(self._at_s, release=self._release, rank=rank)

    def _raw(self, line: str) -> None:
        self._lines.append(line)

    def _info(self, text: str, *, every_rank: bool = False, launcher: bool = False) -> None:
        if says_info(self._resolved.args):
            ranks = [""] if launcher else self._ranks if every_rank else self._ranks[:1]
            self._lines += [f"{self._stamp(rank)}{text}" for rank in ranks]

    def _pass(self, seconds: float) -> float:
        actual = seconds * self._rng.uniform(0.95, 1.05)
        self._at_s += actual
        return actual

    def _step(self, delay_s: float, phase: Phase) -> StartupStep:
        lines, self._lines = tuple(self._lines), []
        held: Mapping[int, float] = dict.fromkeys(self._resolved.gpus, self._held_gb)
        return StartupStep(delay_s, lines, phase, held)

    def _take(self, gigabytes: float) -> None:
        self._free_gb -= gigabytes
        self._held_gb += gigabytes

    def _parse(self) -> Iterator[StartupStep]:
        delay = self._pass(self._world.physics.startup.import_s)
        resolved = self._resolved
        as_module = not any(word == "serve" for word in resolved.argv[:3])
        self._lines += launcher_warning(self._world, as_module=as_module)
        for text in resolved.notices:
            if text.startswith("Attention backend not"):
                self._info(text, launcher=True)
            else:
                self._raw(f"{self._stamp()}{text}")
        if self._release >= (0, 5, 17):
            self._raw(f"{self._stamp()}Fail to set RLIMIT_NOFILE: current limit exceeds maximum limit")
        self._info(server_args_line(resolved.args, self._release), launcher=True)
        self._info("Using default HuggingFace chat template with detected content format: string", launcher=True)
        yield self._step(delay, "parse")
        delay = self._pass(self._world.physics.startup.tokenizer_s)
        self._info("Init torch distributed begin.", every_rank=True)
        yield self._step(delay, "parse")

    def _init(self) -> Iterator[StartupStep]:
        delay = self._pass(self._world.physics.startup.distributed_s)
        used = 1.05 if self._resolved.tp_size > 1 else 0.09
        elapsed = f"elapsed={delay:.2f} s, " if self._release >= (0, 5, 9) else ""
        self._info(f"Init torch distributed ends. {elapsed}mem usage={used:.2f} GB", every_rank=True)
        self._held_gb = 0.5
        self._load_begin()
        yield self._step(delay, "init")

    def _load_begin(self) -> None:
        self._info(f"Load weight begin. avail mem={self._free_gb:.2f} GB", every_rank=True)

    def _weights(self, model: Model, class_name: str) -> Iterator[StartupStep]:
        delay = self._pass(model.load_s)
        used = model.weight_gb / self._resolved.tp_size
        self._take(used)
        self._raw(shard_bar(model.shards, delay, release=self._release))
        self._spent["load_weight"] = self._spent.get("load_weight", 0.0) + delay
        end = weights_end(class_name, release=self._release, elapsed_s=delay, free_gb=self._free_gb, used_gb=used)
        self._info(end, every_rank=True)
        yield self._step(delay, "weights")

    def _draft_weights(self, draft: Model) -> Iterator[StartupStep]:
        self._info("Init torch distributed begin.", every_rank=True)
        elapsed = "elapsed=0.00 s, " if self._release >= (0, 5, 9) else ""
        self._info(f"Init torch distributed ends. {elapsed}mem usage=0.00 GB", every_rank=True)
        self._load_begin()
        yield self._step(0.0, "draft")
        yield from self._weights(draft, self._resolved.draft_class or draft.architecture)

    def _pools(self, drafts: tuple[bool, ...]) -> Iterator[StartupStep]:
        memory = self._resolved.memory
        delay = self._pass(self._world.physics.startup.memory_pool_s)
        self._spent["kv_cache_allocation"] = self._spent.get("kv_cache_allocation", 0.0) + delay
        for is_draft in drafts:
            size = memory.draft_kv_gb if is_draft else memory.kv_gb
            model = self._resolved.draft if is_draft else self._resolved.target
            latent = model is not None and uses_mla(model)
            self._take(size)
            line = kv_allocated(size, memory.max_total_num_tokens, release=self._release, latent=latent)
            self._info(line, every_rank=True)
            self._info(f"Memory pool end. avail mem={self._free_gb:.2f} GB", every_rank=True)
        yield self._step(delay, "memory")

    def _captures(self, phases: list[str]) -> Iterator[StartupStep]:
        if self._release < (0, 5, 13) and self._resolved.args.get("disable_piecewise_cuda_graph"):
            self._info("Disable piecewise CUDA graph because --disable-piecewise-cuda-graph is set", every_rank=True)
            yield self._step(0.0, "graphs")
        for phase in phases:
            startup = self._world.physics.startup
            self._lines_of_capture_begin(phase)
            yield self._step(0.0, "graphs")
            delay = self._pass(startup.draft_capture_s if phase.startswith("draft") else startup.capture_s)
            self._spent[phase] = delay
            used, before = self._resolved.memory.graph_gb[phase], self._free_gb
            self._take(used)
            self._raw(capture_bar(self._resolved.graphs.batch_sizes, before, self._free_gb, delay))
            self._info(
                capture_end(phase, self._resolved, elapsed_s=delay, used_gb=used, free_gb=self._free_gb),
                every_rank=self._release < (0, 5, 14) and not phase.startswith("draft"),
            )
            yield self._step(delay, "graphs")

    def _lines_of_capture_begin(self, phase: str) -> None:
        first, *rest = capture_begin(phase, self._resolved, self._free_gb)
        self._info(first, every_rank=self._release < (0, 5, 14) and not phase.startswith("draft"))
        for line in rest:
            self._info(line)

    def _http(self) -> Iterator[StartupStep]:
        resolved = self._resolved
        args, memory = resolved.args, resolved.memory
        self._info(
            f"max_total_num_tokens={memory.max_total_num_tokens}, chunked_prefill_size={args['chunked_prefill_size']}, "
            f"max_prefill_tokens={args['max_prefill_tokens']}, max_running_requests={resolved.max_running_requests}, "
            f"context_len={context_length(args, resolved.target)}, available_gpu_mem={self._free_gb:.2f} GB"
        )
        if self._release >= (0, 5, 17):
            self._info(
                "Tree cache initialized: source=default impl=RadixCache hybrid_swa=False hybrid_ssm=False "
                "hierarchical=False streaming_wrapped=False"
            )
            self._info(self._timings(), launcher=True)
        delay = self._pass(self._world.physics.startup.http_s)
        yield self._step(delay, "http")

    def timings(self) -> dict[str, float]:
        """Seconds by phase, as /server_info reports them."""
        total = self._at_s - self._begin_s
        return {
            "load_weight": self._spent.get("load_weight", 0.0),
            "kv_cache_allocation": self._spent.get("kv_cache_allocation", 0.0),
            "scheduler_e2e": max(total - self._world.physics.startup.import_s, 0.0),
            "tokenizer_e2e": total,
        } | {phase: self._spent.get(phase, 0.0) for phase in GRAPH_PHASES}

    def _timings(self) -> str:
        spent = self.timings()
        graphs = ", ".join(f"{phase}={spent[phase]:.2f}" for phase in GRAPH_PHASES)
        return (
            f"Engine startup timings (s): load_weight={spent['load_weight']:.2f}, "
            f"kv_cache_allocation={spent['kv_cache_allocation']:.2f}, scheduler_e2e={spent['scheduler_e2e']:.2f}, "
            f"cuda_graph={{{graphs}}}, tokenizer_e2e={spent['tokenizer_e2e']:.2f}"
        )

    def _access(self, text: str) -> None:
        if says_access(self._resolved.args):
            self._raw(f"{self._stamp()}INFO:     {text}")

    def _warmup(self) -> Iterator[StartupStep]:
        resolved = self._resolved
        self._access(f"Started server process [{self._pid}]")
        self._access("Waiting for application startup.")
        self._access("Application startup complete.")
        self._access(f"Uvicorn running on http://{resolved.host}:{resolved.port} (Press CTRL+C to quit)")
        yield self._step(0.0, "http")
        delay = self._pass(self._world.physics.startup.warmup_s)
        port = self._rng.randrange(32768, 60999)
        info = "/model_info" if self._release >= (0, 5, 6) else "/get_model_info"
        self._access(f'127.0.0.1:{port} - "GET {info} HTTP/1.1" 200 OK')
        stats = PrefillStats(
            sequences=1,
            new_tokens=WARMUP_TOKENS,
            cached_tokens=0,
            usage=0.0,
            running=0,
            queue=0,
            pending_tokens=0,
            graph=False,
            throughput=WARMUP_TOKENS / (delay + 1.0),
        )
        self._info(prefill_line(stats, release=self._release, iteration=1))
        self._access(f'127.0.0.1:{port + 6} - "POST /generate HTTP/1.1" 200 OK')
        self._info("The server is fired up and ready to roll!", launcher=True)
        yield self._step(delay, "ready")
