"""A world drawn at random: sound wiring, and costs and acceptance from the ranges that docs/lab.md lists.

Nothing is decided here about what is best on it. Whether speculation pays at all, with a short chain, a long one or a
tree, follows from how the drawn numbers meet.
"""

from __future__ import annotations

import io
import math
import random
from typing import Any

from ruamel.yaml import YAML

from specdoctor.lab.world import World

_VERSIONS = ("0.5.12", "0.5.15", "0.5.17", "0.5.20")
_AS_FOUND = ((1, 1, 2), (2, 1, 3), (3, 1, 4), (3, 1, 4), (5, 1, 6), (5, 4, 8), (3, 2, 8))
_HEADS = (24, 32, 48, 64)


class _Draws:
    """Named draws of one seed."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(f"random world {seed}")

    def even(self, low: float, high: float, digits: int = 4) -> float:
        return round(self._rng.uniform(low, high), digits)

    def scaled(self, low: float, high: float, digits: int = 4) -> float:
        """Evenly on the logarithmic scale."""
        return round(math.exp(self._rng.uniform(math.log(low), math.log(high))), digits)

    def one(self, choices: tuple[Any, ...]) -> Any:
        return self._rng.choice(choices)

    def chance(self, share: float) -> bool:
        return self._rng.random() < share


def random_facts(seed: int) -> dict[str, Any]:
    """The keys of a world file; the same seed gives the same world."""
    draws = _Draws(seed)
    experts = draws.chance(0.4)
    step_ms = draws.scaled(3.5, 22.0)
    host = _host_costs(draws, step_ms)
    target = _target(draws, step_ms - host["decode_ms"], experts=experts)
    steps, topk, tokens = draws.one(_AS_FOUND)
    return {
        "name": f"random-{seed}",
        "title": f"Drawn at random from seed {seed}: {'a mixture of experts' if experts else 'a dense model'}",
        "seed": seed,
        "engine": {"version": draws.one(_VERSIONS)},
        "host": {"name": f"practice-{seed}"},
        "gpus": {"name": "NVIDIA H100 80GB HBM3", "memory_gb": 79.6},
        "models": [target, _drafter(draws, step_ms)],
        "physics": {"host": host},
        "launch": {
            "argv": [
                *("python", "-m", "sglang.launch_server", "--model-path", "{models}/target"),
                *("--attention-backend", "flashinfer", "--port", "30000", "--max-running-requests", "48"),
                *("--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", "{models}/drafter"),
                *("--speculative-num-steps", str(steps), "--speculative-eagle-topk", str(topk)),
                *("--speculative-num-draft-tokens", str(tokens)),
            ]
        },
        "ask": {"symptom": "Which draft length is best here, if any?"},
        "truth": {"verdict": "not-enough-evidence", "says": "drawn at random; what is best follows from the numbers"},
    }


def random_world(seed: int) -> World:
    """The world of a seed."""
    return World.model_validate(random_facts(seed))


def random_yaml(seed: int) -> str:
    """The same as the text of a world file."""
    text = io.StringIO()
    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 120
    yaml.dump(random_facts(seed), text)
    return f"# specdoctor lab random --seed {seed}\n{text.getvalue()}"


def _host_costs(draws: _Draws, step_ms: float) -> dict[str, float]:
    """Fixed host time: of an iteration, and more of it under speculation; a system at fault in one world of four."""
    excess = draws.even(0.5, 1.6) if draws.chance(0.25) else draws.even(0.04, 0.5)
    verify = draws.even(0.0, 0.6)
    return {
        "decode_ms": draws.even(0.2, 0.6),
        "speculation_ms": round(excess * (1.0 - verify) * step_ms, 4),
        "verify_ms": round(excess * verify * step_ms, 4),
        "per_request_ms": draws.even(0.0, 0.03),
        "overlap_hides_ms": draws.even(0.0, 1.2),
        "prefill_ms": draws.even(8.0, 35.0),
        "prefill_ms_per_ktoken": draws.even(10.0, 40.0),
    }


def _target(draws: _Draws, forward_ms: float, *, experts: bool) -> dict[str, Any]:
    fixed = round(draws.even(0.03, 0.45) * forward_ms, 4)
    streamed = forward_ms - fixed
    cost: dict[str, float | int] = {
        "fixed_ms": fixed,
        "weights_ms": round(streamed, 4),
        "compute_ms_per_token": round(streamed / draws.scaled(6.0, 150.0), 5),
        "knee": draws.even(2.0, 6.0),
        "attention_ms_per_ktoken": draws.scaled(0.01, 0.15),
        "eager_ms": draws.even(12.0, 40.0),
    }
    if experts:
        number, active = draws.one(((64, 6), (128, 8), (256, 8), (384, 8)))
        share = draws.scaled(0.03, 0.3)
        cost |= {
            "weights_ms": round(streamed * (1.0 - share), 4),
            "experts_ms": round(streamed * share, 4),
            "experts": number,
            "active_experts": active,
            "expert_overlap": draws.even(0.0, 0.4),
            "compute_ms_per_token": round(streamed / draws.scaled(100.0, 600.0), 5),
        }
    config = {**_shape(layers=draws.one(_HEADS)), "architectures": ["LlamaForCausalLM"], "model_type": "llama"}
    return {
        "id": "target",
        "path": "{models}/target",
        "layout": "llama",
        "weight_gb": 15.0,
        "kv_kb_per_token": 96.0,
        "config": config,
        "cost": cost,
    }


def _shape(*, layers: int) -> dict[str, Any]:
    return {
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_attention_heads": 32,
        "num_hidden_layers": layers,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "max_position_embeddings": 32768,
        "eos_token_id": 128009,
    }


def _drafter(draws: _Draws, step_ms: float) -> dict[str, Any]:
    forward = draws.scaled(0.012, 0.16) * step_ms
    part = draws.even(0.3, 0.8)
    states = {"eagle_aux_hidden_state_layer_ids": [1, 11, 20]}
    return {
        "id": "drafter",
        "path": "{models}/drafter",
        "kind": "eagle3",
        "layout": "llama-eagle3",
        "weight_gb": 0.9,
        "kv_kb_per_token": 4.0,
        "config": {
            **_shape(layers=1),
            "architectures": ["LlamaForCausalLMEagle3"],
            "draft_vocab_size": 32000,
            "eagle_config": states,
        },
        "cost": {
            "fixed_ms": round(forward * part, 4),
            "weights_ms": round(forward * (1.0 - part), 4),
            "compute_ms_per_token": round(forward * (1.0 - part) / draws.scaled(4.0, 100.0), 5),
            "eager_ms": draws.even(0.8, 2.5),
        },
        "training": {"states": ["out(1)", "out(11)", "out(20)"], "target": "target"},
        "acceptance": {
            "as_trained": _conditionals(draws),
            "prompt_sd": draws.even(0.05, 0.35),
            "stretch_sd": draws.even(0.3, 2.4),
            "stretch_tokens": draws.scaled(4.0, 40.0, 1),
            "branch_gain": draws.scaled(0.03, 0.3),
        },
    }


def _conditionals(draws: _Draws) -> list[float]:
    """Falling from the first position to the sixth, then constant."""
    rates, kept = [draws.even(0.35, 0.93)], draws.even(0.82, 1.0)
    while len(rates) < 6:
        rates.append(round(rates[-1] * draws.even(kept, 1.0), 4))
    return rates
