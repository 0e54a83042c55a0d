"""Whose a config.json is."""

from __future__ import annotations

from typing import Any

from specdoctor.core.config_roles import config_roles, paths_in

BIG: dict[str, Any] = {"architectures": ["Qwen2ForCausalLM"], "hidden_size": 8192, "num_hidden_layers": 80}
SMALL: dict[str, Any] = {"architectures": ["Qwen2ForCausalLM"], "hidden_size": 896, "num_hidden_layers": 24}
HEAD: dict[str, Any] = {"architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": 32000}
VLLM = """vllm serve /m/Qwen-72B -tp 4 --speculative-config '{"model":"/m/Qwen-0.5B","num_speculative_tokens":4}'"""


def test_a_head_says_so_itself() -> None:
    assert config_roles({"a.json": HEAD, "b.json": BIG}) == {"a.json": "draft", "b.json": "target"}


def test_of_two_ordinary_models_the_launch_line_or_else_the_size_tells() -> None:
    assert config_roles({"a.json": SMALL, "b.json": BIG}, [VLLM]) == {"a.json": "draft", "b.json": "target"}
    roles = config_roles({"Qwen-72B/config.json": SMALL, "Qwen-0.5B/config.json": BIG}, [VLLM])
    assert roles == {"Qwen-72B/config.json": "target", "Qwen-0.5B/config.json": "draft"}
    named = config_roles({"config.json": SMALL, "target_config.json": BIG}, [VLLM])
    assert named == {"config.json": "draft", "target_config.json": "target"}


def test_a_second_head_is_the_other_one() -> None:
    roles = config_roles({"config.json": HEAD, "other_drafter_config.json": HEAD, "t.json": BIG})
    assert roles == {"config.json": "draft", "other_drafter_config.json": "other draft", "t.json": "target"}


def test_one_ordinary_model_alone_is_the_target() -> None:
    assert config_roles({"config.json": BIG}) == {"config.json": "target"}


def test_paths_of_a_launch_line() -> None:
    text = "python3 -m sglang.launch_server --model-path /m/a \\\n  --speculative-draft-model-path=/m/b\n"
    assert paths_in([text, VLLM, "llama-server -m /m/t.gguf -md /m/d.gguf"]) == {
        "target": ("/m/a", "/m/Qwen-72B", "/m/t.gguf"),
        "draft": ("/m/b", "/m/Qwen-0.5B", "/m/d.gguf"),
    }
