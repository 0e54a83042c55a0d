"""Drives the engine core on a virtual clock, and a world like the machine that the captured excerpts come from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specdoctor.lab.engine_core import EngineCore, Finished, GenRequest, Occupancy, Resolved, StartupFailure, resolve
from specdoctor.lab.world import Model, World

DATA = Path(__file__).parents[1] / "data" / "sglang-0.5.17"
NOW_S = 1_795_977_600.0
TREE_FLAGS = (
    "--speculative-algorithm",
    "--speculative-draft-model-path",
    "--speculative-num-steps",
    "--speculative-eagle-topk",
    "--speculative-num-draft-tokens",
)
COMMAND = (
    "python -m sglang.launch_server --model-path /models/target --served-model-name lab-llama --port 31120 "
    "--dtype bfloat16 --context-length 3072 --attention-backend triton --sampling-backend pytorch "
    "--mem-fraction-static 0.5 --max-total-tokens 65536 --max-running-requests 40 --chunked-prefill-size 2048 "
    "--enable-metrics --decode-log-interval 10 --random-seed 1 --host 127.0.0.1 --grammar-backend none "
    "--cuda-graph-backend-prefill disabled --cuda-graph-bs-decode 1 2 4 8 16 24 32"
).split()
SPECULATION = (
    "--speculative-algorithm EAGLE3 --speculative-draft-model-path /models/eagle3 --speculative-num-steps 3 "
    "--speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
).split()
PLAIN = "python3 -m sglang.launch_server --model-path /models/target".split()

_SHAPE = {
    "model_type": "llama",
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "vocab_size": 8192,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "max_position_embeddings": 3072,
}
_COST = {"fixed_ms": 0.4, "weights_ms": 0.7, "compute_ms_per_token": 0.002, "eager_ms": 25.0}
_DRAFT_COST = {"fixed_ms": 0.1, "weights_ms": 0.1, "compute_ms_per_token": 0.001, "eager_ms": 3.0}


def bench_world(version: str = "0.5.17", **changes: Any) -> World:
    """One H200 with a small llama, its EAGLE-3 head, and a standalone drafter of another vocabulary."""
    facts: dict[str, Any] = {
        "name": "bench",
        "engine": {"version": version},
        "host": {"name": "bench-1"},
        "gpus": {"count": 1},
        "models": [
            {
                "id": "target",
                "path": "/models/target",
                "layout": "llama",
                "config": {
                    **_SHAPE,
                    "architectures": ["LlamaForCausalLM"],
                    "num_hidden_layers": 24,
                    "eos_token_id": 2,
                },
                "weight_gb": 0.57,
                "kv_kb_per_token": 24.0,
                "cost": _COST,
            },
            {
                "id": "eagle3",
                "path": "/models/eagle3",
                "kind": "eagle3",
                "layout": "llama-eagle3",
                "config": {
                    **_SHAPE,
                    "architectures": ["LlamaForCausalLMEagle3"],
                    "num_hidden_layers": 1,
                    "draft_vocab_size": 4096,
                    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 11, 20]},
                },
                "weight_gb": 0.08,
                "kv_kb_per_token": 1.0,
                "cost": _DRAFT_COST,
                "training": {"states": ["out(1)", "out(11)", "out(20)"], "target": "target"},
                "acceptance": {"as_trained": [0.84, 0.80, 0.78], "otherwise": [0.4, 0.3]},
            },
            {
                "id": "othervocab",
                "path": "/models/standalone_othervocab",
                "kind": "standalone",
                "layout": "llama",
                "config": {
                    **_SHAPE,
                    "architectures": ["LlamaForCausalLM"],
                    "num_hidden_layers": 2,
                    "vocab_size": 4096,
                },
                "weight_gb": 0.02,
                "kv_kb_per_token": 1.0,
                "cost": _DRAFT_COST,
                "acceptance": {"as_trained": [0.6, 0.5]},
            },
        ],
        "physics": {"host": {"decode_ms": 0.2, "speculation_ms": 1.0, "prefill_ms": 5.0}},
        "launch": {"argv": COMMAND},
        "ask": {"symptom": "none"},
        "truth": {"verdict": "healthy"},
    }
    return World.model_validate({**facts, **changes})


def started(
    world: World, argv: Sequence[str], env: Mapping[str, str] | None = None, *, occupied: Occupancy | None = None
) -> Resolved:
    """Resolve a command line that must parse."""
    outcome = resolve(argv, env or {}, world, occupied=occupied, now_s=NOW_S)
    assert isinstance(outcome, Resolved), "\n".join(outcome.lines)
    return outcome


def refused(world: World, argv: Sequence[str], env: Mapping[str, str] | None = None) -> StartupFailure:
    """Resolve a command line that must not parse."""
    outcome = resolve(argv, env or {}, world, now_s=NOW_S)
    assert isinstance(outcome, StartupFailure)
    return outcome


def launched(
    world: World,
    *,
    without: Iterable[str] = (),
    extra: Sequence[str] = (),
    models: Mapping[str, Model] | None = None,
) -> Resolved:
    """The world's own launch line, with some flags (and their values) taken out and others added."""
    argv = [world.expand(word) for word in world.launch.argv]
    for flag in without:
        at = argv.index(flag)
        del argv[at : at + (2 if at + 1 < len(argv) and not argv[at + 1].startswith("--") else 1)]
    outcome = resolve([*argv, *extra], world.launch.env, world, models=models, now_s=NOW_S)
    assert isinstance(outcome, Resolved), "\n".join(outcome.lines)
    return outcome


@dataclass(frozen=True)
class Run:
    """What a closed loop of clients saw."""

    core: EngineCore
    finished: dict[str, Finished]
    texts: dict[str, str]
    decode_tok_s: float
    total_tok_s: float
    lines: list[str]

    @property
    def accept_length(self) -> float:
        metas = [done.meta_info for done in self.finished.values()]
        return 1 + sum(m["spec_num_correct_drafts"] for m in metas) / sum(m["spec_verify_ct"] for m in metas)


def closed_loop(
    resolved: Resolved,
    world: World,
    *,
    clients: int = 1,
    requests: int = 40,
    tokens: int = 256,
    temperature: float = 0.0,
    seed: int = 1,
    prompt_tokens: int = 180,
) -> Run:
    """Each client sends its next request when the last one ended. Decode speed: tokens after the first chunk."""
    core = EngineCore(resolved, world, seed, ready_s=NOW_S - 1.0)
    now_s, sent = NOW_S, 0
    first: dict[str, tuple[float, int]] = {}
    count: dict[str, int] = {}
    texts: dict[str, str] = {}
    speeds: list[float] = []
    finished: dict[str, Finished] = {}
    lines: list[str] = []

    def send() -> None:
        nonlocal sent
        prompt = tuple((sent * 7919 + place * 31) % 7000 + 300 for place in range(prompt_tokens))
        request = GenRequest(
            f"r{sent}", prompt, max_new_tokens=tokens, temperature=temperature, ignore_eos=True, stream=True
        )
        assert core.submit(request, now_s) is None
        sent += 1

    for _ in range(clients):
        send()
    while (result := core.step(now_s)) is not None:
        now_s += result.duration_s
        lines += result.log_lines
        for name, delta in result.deltas.items():
            first.setdefault(name, (now_s, len(delta)))
            count[name] = count.get(name, 0) + len(delta)
            texts[name] = texts.get(name, "") + "".join(token.text for token in delta)
        for name, done in result.finished.items():
            finished[name] = done
            begin_s, chunk = first[name]
            if now_s > begin_s:
                speeds.append((count[name] - chunk) / (now_s - begin_s))
            if sent < requests:
                send()
    mean = sum(speeds) / len(speeds) if speeds else 0.0
    return Run(core, finished, texts, mean, sum(count.values()) / (now_s - NOW_S), lines)


def shape(line: str) -> str:
    """A log line with its numbers, truth values and stamp's digits blanked."""
    text = re.sub(r"\b(True|False)\b", "BOOL", line)
    return re.sub(r"\d+(?:\.\d+)?", "N", text)


def excerpt(name: str) -> list[str]:
    """Lines of an excerpt, carriage returns kept."""
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return file.read().rstrip("\n").split("\n")
