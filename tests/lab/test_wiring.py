"""Which states a target hands over."""

from __future__ import annotations

from typing import Any

import pytest

from specdoctor.lab.wiring import WiringError, captured_states
from specdoctor.lab.world import ForwardCost, Model

COST = ForwardCost(weights_ms=1.0)


def model(architecture: str, layers: int, **config: Any) -> Model:
    facts = {"architectures": [architecture], "num_hidden_layers": layers, "hidden_size": 64, **config}
    return Model(id=architecture, path=f"/{architecture}", config=facts, weight_gb=1.0, cost=COST)


def head(ids: list[int] | None, **more: Any) -> Model:
    config: dict[str, Any] = {"architectures": ["LlamaForCausalLMEagle3"], "hidden_size": 64, **more}
    if ids is not None:
        config["eagle_config"] = {"eagle_aux_hidden_state_layer_ids": ids, **more.get("eagle_config", {})}
    return Model(id="head", path="/head", kind="eagle3", config=config, weight_gb=0.1, cost=COST)


def states(target: Model, draft: Model, release: tuple[int, int, int], algorithm: str = "EAGLE3") -> str:
    return " ".join(captured_states(target, draft, algorithm=algorithm, release=release))


KIMI = model("KimiK25ForConditionalGeneration", 61)
LLAMA = model("LlamaForCausalLM", 32)
GPT_OSS = model("GptOssForCausalLM", 36)


@pytest.mark.parametrize(
    ("target", "ids", "release", "expected"),
    [
        (KIMI, [2, 30, 58], (0, 5, 12), "out(2) out(30) out(58)"),
        (KIMI, [2, 30, 58], (0, 5, 13), "out(1) out(29) out(57)"),
        (KIMI, [1, 29, 57], (0, 5, 13), "out(1) out(29) out(57)"),
        (KIMI, [3, 30, 57], (0, 5, 13), "out(2) out(29) out(56)"),
        (KIMI, [0, 3, 31], (0, 5, 20), "embed out(2) out(30)"),
        (KIMI, None, (0, 5, 12), "out(1) out(29) out(57)"),
        (LLAMA, [1, 15, 28], (0, 5, 12), "out(1) out(15) out(28)"),
        (LLAMA, [2, 16, 29], (0, 5, 17), "out(2) out(16) out(29)"),
        (LLAMA, [28, 1, 15], (0, 5, 17), "out(1) out(15) out(28)"),
        (LLAMA, None, (0, 5, 17), "out(1) out(15) out(28)"),
        (GPT_OSS, [24, 30, 36], (0, 5, 17), "out(23) out(29) out(35)"),
        (GPT_OSS, [1, 17, 32], (0, 5, 17), "out(1) out(17) out(32)"),
        (LLAMA, [-1, 15, 28], (0, 5, 20), "embed out(15) out(28)"),
    ],
)
def test_ids_become_states(target: Model, ids: list[int] | None, release: tuple[int, int, int], expected: str) -> None:
    assert states(target, head(ids), release) == expected


def test_the_embedding_needs_a_late_version() -> None:
    with pytest.raises(WiringError, match="TypeError"):
        states(KIMI, head([0, 3, 31]), (0, 5, 13))


def test_an_id_beyond_the_last_layer_is_not_captured() -> None:
    with pytest.raises(WiringError, match="mat1 and mat2"):
        states(LLAMA, head([1, 15, 31]), (0, 5, 17))


def test_ids_at_the_top_level_are_not_read() -> None:
    assert states(LLAMA, head(None, eagle_aux_hidden_state_layer_ids=[5, 6, 7]), (0, 5, 17)) == "out(1) out(15) out(28)"


def test_other_algorithms_hand_over_the_final_state() -> None:
    assert states(LLAMA, head([1, 15, 28]), (0, 5, 17), algorithm="EAGLE") == "final"
    assert states(LLAMA, head([1, 15, 28], eagle_config={"use_aux_hidden_state": False}), (0, 5, 17)) == "final"
