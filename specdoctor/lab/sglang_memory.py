"""GPU memory of a start: what fits, how many tokens the KV pool holds, and what fails when it does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specdoctor.lab import sglang_failures as failures
from specdoctor.lab.engine_types import LateFailure, MemoryPlan, Occupancy
from specdoctor.lab.sglang_defaults import uses_mla
from specdoctor.lab.world import Model, World

KIB_PER_GIB = 1024.0 * 1024.0
_CONTEXT_GB = 0.5
"""CUDA context and libraries of one rank, before any model."""


def used_gpus(args: Mapping[str, Any], env: Mapping[str, str], world: World) -> tuple[int, ...] | None:
    """Indices of the GPUs that the ranks run on; None when there are not enough."""
    visible = env.get("CUDA_VISIBLE_DEVICES", "")
    listed = [int(part) for part in visible.split(",") if part.strip().isdigit()]
    pool = [gpu for gpu in (listed or range(world.gpus.count)) if gpu < world.gpus.count]
    first, step, ranks = int(args["base_gpu_id"]), int(args["gpu_id_step"]), local_ranks(args)
    chosen = pool[first::step][:ranks]
    return tuple(chosen) if len(chosen) == ranks else None


def local_ranks(args: Mapping[str, Any]) -> int:
    """How many of the ranks run on this node."""
    return max(int(args["tp_size"]) // max(int(args.get("nnodes") or 1), 1), 1)


def free_memory(gpu: int, world: World, occupied: Occupancy) -> float:
    """GiB that are free on a GPU for a new process."""
    tenants = sum(tenant.memory_gb for tenant in world.gpus.tenants if tenant.gpu == gpu)
    return world.gpus.memory_gb - world.gpus.idle_used_gb - tenants - occupied.gpu_memory_gb.get(gpu, 0.0)


def plan_memory(
    args: Mapping[str, Any],
    *,
    world: World,
    target: Model,
    draft: Model | None,
    gpus: tuple[int, ...],
    occupied: Occupancy,
    graph_phases: tuple[str, ...],
) -> tuple[MemoryPlan, LateFailure | None]:
    """Lay out one rank's memory; the failure tells where the start dies when it does not fit."""
    tp_size = int(args["tp_size"])
    by_gpu = {gpu: free_memory(gpu, world, occupied) - _CONTEXT_GB for gpu in gpus}
    free = min(by_gpu.values())
    tightest = min(by_gpu, key=lambda gpu: by_gpu[gpu])
    weights, draft_weights = target.weight_gb / tp_size, (draft.weight_gb / tp_size if draft is not None else 0.0)
    startup = world.physics.startup
    graph_gb = {phase: startup.draft_graph_gb if "draft" in phase else startup.graph_gb for phase in graph_phases}
    fraction = float(args["mem_fraction_static"])
    counted = weights + (draft_weights if world.engine.release >= (0, 5, 14) else 0.0)
    budget = free * fraction - counted
    per_token = _kv_kb(target, world, tp_size)
    draft_per_token = _kv_kb(draft, world, tp_size) if draft is not None else 0.0
    tokens = int(budget * KIB_PER_GIB / (per_token + draft_per_token)) if per_token + draft_per_token > 0 else 0
    if args["max_total_tokens"] is not None:
        tokens = min(tokens, int(args["max_total_tokens"]))
    plan = MemoryPlan(
        free_gb=free,
        weight_gb=weights,
        draft_weight_gb=draft_weights,
        kv_gb=max(tokens, 0) * per_token / KIB_PER_GIB,
        draft_kv_gb=max(tokens, 0) * draft_per_token / KIB_PER_GIB,
        graph_gb=graph_gb,
        max_total_num_tokens=max(tokens, 0),
    )
    failure = _unbalanced(by_gpu, world) if tp_size > 1 else None
    return plan, failure or _misfit(plan, world, tightest, fraction, tokens)


def _kv_kb(model: Model, world: World, tp_size: int) -> float:
    """KiB of cache per token and rank; latent attention keeps it whole on every rank."""
    return model.kv_kb_per_token * (1.0 if uses_mla(model) else world.physics.reference_tp / tp_size)


def _unbalanced(by_gpu: Mapping[int, float], world: World) -> LateFailure | None:
    lowest, highest = min(by_gpu.values()), max(by_gpu.values())
    if lowest < highest * 0.9:
        return failures.unbalanced_memory(world, lowest_gb=lowest, local_gb=highest)
    return None


def _misfit(plan: MemoryPlan, world: World, gpu: int, fraction: float, tokens: int) -> LateFailure | None:
    loaded = plan.weight_gb + plan.draft_weight_gb
    if loaded + 0.5 > plan.free_gb:
        free = max(plan.free_gb - loaded, 0.02) if loaded < plan.free_gb else 0.02
        own = max(plan.free_gb - free, 0.0)
        said = failures.oom_text(world, gpu=gpu, wanted_gb=0.44, free_gb=free, own_gb=own)
        return failures.out_of_memory("init", world, said)
    if tokens <= 0:
        needed = min(loaded / plan.free_gb, 0.999)
        return failures.no_room_for_cache(world, fraction=fraction, needed=needed)
    left = plan.free_gb - plan.used_gb
    needed = world.physics.startup.activation_gb
    if plan.graph_gb and left < needed:
        free = max(left + sum(plan.graph_gb.values()), 0.02) % 0.4 + 0.02
        said = failures.oom_text(world, gpu=gpu, wanted_gb=min(needed, 1.5), free_gb=free, own_gb=plan.free_gb - free)
        return failures.capture_failure(world, said)
    return None
