"""How long a scheduler iteration takes: a small physical model, one forward at a time.

A forward streams weights (plus the experts that its tokens hit) or computes, whichever is slower, and reads the KV
cache of its batch. CUDA graphs hide the host's launches and pad the batch to a captured size. Speculation adds draft
forwards, a draft-extend forward, a wider target forward, and host work of its own.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from specdoctor.lab.engine_types import Resolved
from specdoctor.lab.world import ForwardCost, HostCost, Noise, World


def distinct_experts(cost: ForwardCost, tokens: float) -> float:
    """Experts that `tokens` tokens hit together: E * (1 - (1 - K/E)^t), tokens alike counting less."""
    if not cost.experts or not cost.active_experts:
        return 0.0
    effective = 1.0 + (tokens - 1.0) * (1.0 - cost.expert_overlap)
    missed = math.pow(1.0 - cost.active_experts / cost.experts, effective)
    return cost.experts * (1.0 - missed)


def forward_ms(
    cost: ForwardCost, *, tokens: float, padded_tokens: float, context_tokens: float, gpu_factor: float = 1.0
) -> float:
    """GPU time of one forward over `tokens` real tokens (a graph computes `padded_tokens`); contexts summed."""
    busy = busy_ms(cost, tokens=tokens, padded_tokens=padded_tokens)
    return gpu_factor * (busy + cost.attention_ms_per_ktoken * context_tokens / 1000.0)


def busy_ms(cost: ForwardCost, *, tokens: float, padded_tokens: float) -> float:
    """The part of a forward that does not depend on contexts."""
    growth = distinct_experts(cost, tokens) / cost.active_experts if cost.active_experts else 0.0
    memory = cost.weights_ms + cost.experts_ms * growth
    compute = cost.compute_ms_per_token * padded_tokens
    busy = math.pow(memory**cost.knee + compute**cost.knee, 1.0 / cost.knee)
    return cost.fixed_ms + busy


@dataclass(frozen=True)
class Drag:
    """What environment and machine state multiply into host and GPU time, and add to every iteration."""

    host: float = 1.0
    gpu: float = 1.0
    extra_ms: float = 0.0


def drag_of(world: World, env: Mapping[str, str], argv: Sequence[str] = ()) -> Drag:
    """Combine the world's standing factors with the server's environment variables and its installation's factors."""
    host, gpu, extra = world.physics.host_factor, world.physics.gpu_factor, 0.0
    for install in world.engine.installs:
        if argv and argv[0].endswith(install.venv.removeprefix("{home}") + "/bin/python3"):
            host, gpu = host * install.host_factor, gpu * install.gpu_factor
    for effect in world.physics.environment:
        if env.get(effect.variable) == effect.value:
            host, gpu, extra = host * effect.host_factor, gpu * effect.gpu_factor, extra + effect.extra_ms
    return Drag(host=host, gpu=gpu, extra_ms=extra)


def _rescaled(cost: ForwardCost, share: float) -> ForwardCost:
    if share == 1.0:
        return cost
    names = ("weights_ms", "experts_ms", "compute_ms_per_token", "attention_ms_per_ktoken")
    return cost.model_copy(update={name: getattr(cost, name) * share for name in names})


def placed(world: World, *, cpus: str, memory: str) -> World:
    """The world as a server finds it that runs on these CPUs with this memory policy."""
    best = world.physics.placement
    if best is None:
        return world
    factor = 1.0 if cpus == best.cpus else best.other_cpus_factor
    factor *= 1.0 if memory == best.memory else best.other_memory_factor
    slower = world.physics.model_copy(update={"host_factor": world.physics.host_factor * factor})
    return world.model_copy(update={"physics": slower})


def started(world: World, seed: int) -> World:
    """The world as one start of a server finds it, where a start settles how fast the server is for good."""
    modes = world.physics.start_modes
    if not modes:
        return world
    (mode,) = random.Random(f"{seed}:start").choices(modes, [mode.weight for mode in modes])
    host, gpu = world.physics.host_factor * mode.host_factor, world.physics.gpu_factor * mode.gpu_factor
    physics = world.physics.model_copy(update={"host_factor": host, "gpu_factor": gpu})
    return world.model_copy(update={"physics": physics})


class StepTimes:
    """Mean iteration times of one server."""

    def __init__(self, resolved: Resolved, world: World) -> None:
        self._resolved = resolved
        self._host: HostCost = world.physics.host
        drag = drag_of(world, resolved.env, resolved.argv)
        unbound = 1.0 if resolved.numa_bound else world.physics.unbound_factor
        self._drag = replace(drag, host=drag.host * unbound)
        self._never_replayed = world.engine.never_replayed.get(resolved.verify_backend, ())
        share = world.physics.reference_tp / int(resolved.args["tp_size"])
        self._target = _rescaled(resolved.target.cost, share)
        self._draft = _rescaled(resolved.draft.cost, share) if resolved.draft is not None else None
        self._ngram_ms = world.physics.ngram_lookup_ms if resolved.args["speculative_algorithm"] == "NGRAM" else 0.0
        self._serial_ms = self._host.overlap_hides_ms if resolved.args.get("disable_overlap_schedule") else 0.0
        self._target_phase = "target_verify" if resolved.speculative else "decode"
        self._busy: dict[tuple[str, int, int, int], float] = {}

    def uses_graph(self, running: int) -> bool:
        """Whether the target forward of a batch of this size is replayed from a graph."""
        sizes = self._resolved.graphs.batch_sizes
        return self._replays(self._target_phase) and bool(sizes) and running <= sizes[-1]

    def decode_ms(self, running: int, context_tokens: float) -> float:
        """Mean time of one decode step, or of one whole draft-verify cycle, for `running` requests."""
        host = self._host
        work = host.decode_ms + host.per_request_ms * running + self._serial_ms
        gpu = self._target_ms(running, context_tokens)
        if self._resolved.speculative:
            work += host.speculation_ms + self._ngram_ms
            gpu += host.verify_ms * self._drag.gpu + self._draft_ms(running, context_tokens)
        return work * self._drag.host + gpu + self._drag.extra_ms

    def prefill_ms(self, new_tokens: int, sequences: int) -> float:
        """Mean time of one prefill pass."""
        host = self._host
        work = host.prefill_ms + host.per_request_ms * sequences
        return work * self._drag.host + host.prefill_ms_per_ktoken * new_tokens / 1000.0 * self._drag.gpu

    def _replays(self, phase: str) -> bool:
        return phase in self._resolved.graphs.phases and phase not in self._never_replayed

    def _padded(self, running: int, phase: str) -> int:
        sizes = self._resolved.graphs.batch_sizes
        if not self._replays(phase) or not sizes or running > sizes[-1]:
            return 0
        return sizes[bisect_left(sizes, running)]

    def _launched(self, gpu_ms: float, padded: int, eager_ms: float) -> float:
        return gpu_ms if padded else max(gpu_ms, eager_ms * self._drag.host)

    def _target_ms(self, running: int, context_tokens: float) -> float:
        width = self._resolved.num_draft_tokens
        padded = self._padded(running, self._target_phase)
        gpu = self._forward("target", self._target, running, width, padded, context_tokens)
        return self._launched(gpu, padded, self._target.eager_ms)

    def _draft_ms(self, running: int, context_tokens: float) -> float:
        cost = self._draft
        if cost is None:
            return 0.0
        extend_padded = self._padded(running, "draft_extend")
        width = self._resolved.num_draft_tokens
        extend = self._forward("draft", cost, running, width, extend_padded, context_tokens)
        eager = cost.eager_ms if cost.extend_eager_ms is None else cost.extend_eager_ms
        total = self._launched(extend, extend_padded, eager)
        forwards = self._resolved.num_steps - 1
        if forwards > 0:
            padded = self._padded(running, "draft_decode")
            one = self._forward("draft", cost, running, self._resolved.topk, padded, context_tokens)
            total += forwards * self._launched(one, padded, cost.eager_ms)
        return total

    def _forward(
        self, whose: str, cost: ForwardCost, running: int, width: int, padded: int, context_tokens: float
    ) -> float:
        key = (whose, running, width, padded)
        busy = self._busy.get(key)
        if busy is None:
            busy = busy_ms(cost, tokens=running * width, padded_tokens=(padded or running) * width)
            self._busy[key] = busy
        return self._drag.gpu * (busy + cost.attention_ms_per_ktoken * context_tokens / 1000.0)


class Jitter:
    """Scatter around the mean times: lognormal per step, slow drift, rare hiccups. Same seed, same scatter."""

    def __init__(self, noise: Noise, rng: random.Random) -> None:
        self._noise = noise
        self._rng = rng
        self._phases = (rng.uniform(0.0, 2.0 * math.pi), rng.uniform(0.0, 2.0 * math.pi))
        self._hiccup_mean_ms = noise.hiccups_per_kstep / 1000.0 * noise.hiccup_ms

    def actual_s(self, mean_ms: float, now_s: float) -> float:
        """One draw of a duration in seconds whose long-run mean is `mean_ms`."""
        noise, rng = self._noise, self._rng
        factor = math.exp(rng.gauss(0.0, noise.cv) - noise.cv**2 / 2.0)
        turn = 2.0 * math.pi * now_s / noise.drift_period_s
        drift = math.sin(turn + self._phases[0]) + math.sin(turn / 3.7 + self._phases[1])
        hiccup = noise.hiccup_ms * rng.expovariate(1.0) if rng.random() < noise.hiccups_per_kstep / 1000.0 else 0.0
        mean = max(mean_ms - self._hiccup_mean_ms, 0.05)
        return (mean * factor * (1.0 + noise.drift_cv * drift) + hiccup) / 1000.0
