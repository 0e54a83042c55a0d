"""Sizes of models by configuration and by name."""

from __future__ import annotations

import pytest

from specdoctor.analysis.model_bytes import weights_of

LLAMA_8B = {
    "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "vocab_size": 128256,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "billions", "bits"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", 7.0, 16),
        ("Qwen3-30B-A3B-FP8", 3.0, 8),
        ("/m/Qwen2.5-0.5B-Instruct-AWQ", 0.5, 4),
        ("Llama-68m", 0.068, 16),
        ("/m/Qwen3-8B-Q4_K_M.gguf", 8.0, 4),
    ],
)
def test_by_name(name: str, billions: float, bits: int) -> None:
    found = weights_of(None, name)
    assert found is not None
    assert (found.billions, found.bits) == (pytest.approx(billions), bits)


@pytest.mark.parametrize("name", ["/models/target", "Mixtral-8x7B-Instruct", "DeepSeek-V3", "Qwen1.5-MoE-14B", "v2.5"])
def test_a_name_that_does_not_tell(name: str) -> None:
    assert weights_of(None, name) is None


def test_by_configuration_without_the_embedding() -> None:
    found = weights_of(LLAMA_8B, "/models/target")
    assert found is not None
    assert found.billions == pytest.approx(7.504, rel=0.001)
    assert found.gigabytes == pytest.approx(15.01, rel=0.001)


def test_experts_are_no_size_unless_the_name_gives_the_active_part() -> None:
    sparse = {**LLAMA_8B, "num_experts": 128}
    assert weights_of(sparse, "org/Model-30B") is None
    found = weights_of(sparse, "org/Model-30B-A3B")
    assert found is not None
    assert found.billions == 3.0


def test_a_quantisation_of_unknown_bits_is_no_size() -> None:
    assert weights_of({**LLAMA_8B, "quantization_config": {"quant_method": "own"}}, "m") is None
    found = weights_of({**LLAMA_8B, "quantization_config": {"quant_method": "gptq", "bits": 4}}, "m")
    assert found is not None
    assert found.bits == 4
