"""Launch lines of vLLM: what they ask for."""

from __future__ import annotations

import shlex

import pytest

from specdoctor.engines.vllm_args import flags_start, is_launch, read_launch
from specdoctor.engines.vllm_effect import asked_setting, predict


def asked(line: str) -> dict[str, str]:
    return read_launch(tuple(shlex.split(line))).values


@pytest.mark.parametrize(
    "line",
    [
        "vllm serve /m",
        "/opt/venv/bin/python3 /opt/venv/bin/vllm serve /m",
        "python -m vllm.entrypoints.openai.api_server --model /m",
        "python3 -u -m vllm.entrypoints.cli.main serve /m",
        "vllm/vllm-openai:v0.11.0 --model /m",
    ],
)
def test_servers_are_known_by_their_program(line: str) -> None:
    assert is_launch(shlex.split(line))
    assert asked(line)["model"] == "/m"


@pytest.mark.parametrize(
    "line", ["vllm bench serve --model /m", "less vllm.log", "vllm", "python -m sglang.launch_server"]
)
def test_other_programs_are_not(line: str) -> None:
    assert flags_start(shlex.split(line)) is None


@pytest.mark.parametrize(
    "flags",
    [
        """--speculative-config '{"method":"eagle3","model":"/d","num_speculative_tokens":3}'""",
        """--speculative_config='{"method": "eagle3", "model": "/d", "num-speculative-tokens": 3}'""",
        """-sc '{"method":"eagle3","model":"/d","num_speculative_tokens":3}'""",
        "--speculative-config.method eagle3 --speculative-config.model=/d -sc.num_speculative_tokens 3",
        "--spec-method eagle3 --spec-model /d --spec-tokens 3",
    ],
)
def test_every_spelling_of_speculation_means_the_same(flags: str) -> None:
    found = asked(f"vllm serve /m --enforce-eager {flags} --port 8101")
    assert found["speculative_config.method"] == "eagle3"
    assert found["speculative_config.model"] == "/d"
    assert found["speculative_config.num_speculative_tokens"] == "3"
    assert (found["model"], found["port"], found["enforce_eager"]) == ("/m", "8101", "True")
    setting = asked_setting(found)
    assert (setting.algorithm, setting.draft_steps, setting.topk, setting.draft_tokens) == ("EAGLE3", 3, 1, 4)


def test_switches_take_no_word_and_can_be_switched_off() -> None:
    found = asked("vllm serve --no-enable-prefix-caching /m -tp 2 --served-model-name a b --no-async-scheduling -O3")
    assert found["model"] == "/m"
    assert found["enable_prefix_caching"] == "False"
    assert found["async_scheduling"] == "False"
    assert found["tensor_parallel_size"] == "2"
    assert found["served_model_name"] == "a b"


def test_flags_of_the_older_engine_are_read_under_the_newer_names() -> None:
    found = asked("vllm serve /m --speculative-model /d --num-speculative-tokens 5")
    assert predict(found) == asked_setting({**found, "speculative_config.method": "draft_model"})


def test_variables_of_a_shell_are_not_taken_for_values() -> None:
    found = read_launch(
        ("vllm", "serve", "/m", "--speculative-config", '{"method":"mtp","num_speculative_tokens":${K}}')
    )
    assert found.open
    assert found.values["speculative_config.method"] == "mtp"
    assert "speculative_config.num_speculative_tokens" not in found.values


@pytest.mark.parametrize(
    ("config", "draft", "wanted"),
    [
        ('{"method":"draft_model","model":"/models/my-Eagle3-draft","num_speculative_tokens":3}', None, "EAGLE3"),
        ('{"model":"/models/x-dflash","num_speculative_tokens":3}', None, "DFLASH"),
        ('{"method":"eagle","model":"/models/eagle3","num_speculative_tokens":3}', None, "EAGLE"),
        ('{"model":"/models/small","num_speculative_tokens":3}', None, "DRAFT_MODEL"),
        ('{"model":"/models/small","num_speculative_tokens":3}', {"model_type": "medusa"}, "MEDUSA"),
        ('{"method":"deepseek_mtp","num_speculative_tokens":1}', None, "MTP"),
        ('{"method":"suffix"}', None, "SUFFIX"),
        ('{"method":"eagle3","model":"/d"}', None, None),
    ],
)
def test_the_method_in_force_is_foretold(config: str, draft: dict[str, str] | None, wanted: str | None) -> None:
    found = predict(read_launch(("vllm", "serve", "/m", "--speculative-config", config)).values, draft=draft)
    assert (found.algorithm if found is not None else None) == wanted
