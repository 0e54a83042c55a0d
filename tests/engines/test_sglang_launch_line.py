"""Launch lines: in process tables and in text files, read as argparse reads them."""

from __future__ import annotations

import shlex

import pytest

from specdoctor.engines.sglang_args import flags_start, is_launch, read_launch, with_config_file
from specdoctor.engines.sglang_script import launch_lines, source_of


@pytest.mark.parametrize(
    "line",
    [
        "python -m sglang.launch_server --model-path /m",
        "/opt/venv/bin/python3.12 -u -X dev -m sglang.launch_server --model-path /m",
        "python3 -m sglang.cli.main serve --model-path /m",
        "sglang serve --model-path /m",
        "/opt/venv/bin/python /opt/venv/bin/sglang serve --model-path /m",
        "python /opt/venv/site-packages/sglang/launch_server.py --model-path /m",
    ],
)
def test_every_launch_form_is_known(line: str) -> None:
    assert is_launch(shlex.split(line))
    assert read_launch(shlex.split(line)).values["model_path"] == "/m"


@pytest.mark.parametrize(
    "line",
    [
        "bash -c 'python -m sglang.launch_server --model-path /m'",
        "tail -f sglang.log",
        "vim sglang/launch_server.py",
        "python -m sglang.bench_serving --backend sglang",
        "python -m vllm.entrypoints.openai.api_server --model m",
        "sglang version",
        "sglang::scheduler",
        "docker run lmsysorg/sglang python3 -m sglang.launch_server",
    ],
)
def test_a_process_that_only_names_sglang_is_no_launcher(line: str) -> None:
    assert flags_start(shlex.split(line)) is None


def test_flags_are_read_as_argparse_reads_them() -> None:
    asked = read_launch(
        shlex.split(
            "python3 -m sglang.launch_server --model /m --tp 2 --mem-fraction 0.9 --cuda-graph-bs 1 2 4 "
            "--chunked-prefill-size -1 --enable-metrics --port 31000 --speculative-draft-model=/d "
            "--speculative-algo EAGLE3 --speculative-num-steps 3 --speculative-num-steps 5 --made-up a b"
        )
    )
    assert asked.values == {
        "model_path": "/m",
        "tp_size": "2",
        "mem_fraction_static": "0.9",
        "cuda_graph_bs": "1 2 4",
        "chunked_prefill_size": "-1",
        "enable_metrics": "True",
        "port": "31000",
        "speculative_draft_model_path": "/d",
        "speculative_algorithm": "EAGLE3",
        "speculative_num_steps": "5",
        "made_up": "a b",
    }
    assert asked.unknown == ("--made-up",)
    assert asked.words["speculative_draft_model_path"] == ("--speculative-draft-model", "/d")
    assert asked.port == 31000


def test_a_switch_takes_no_value_and_an_ambiguous_short_form_means_nothing() -> None:
    asked = read_launch(["sglang", "serve", "/m", "--trust-remote-code", "--speculative-draft", "x"])
    assert asked.values["trust_remote_code"] == "True"
    assert asked.values["model_path"] == "/m"
    assert "speculative_draft_model_path" not in asked.values


def test_a_config_file_asks_too_and_the_command_line_stands_above_it() -> None:
    asked = with_config_file(
        read_launch(["sglang", "serve", "--config", "a.yaml", "--speculative-num-steps", "5"]),
        "speculative-algorithm: EAGLE3\nspeculative_num_steps: 3\nenable-metrics: true\ntrust-remote-code: false\n",
    )
    assert asked.values["speculative_algorithm"] == "EAGLE3"
    assert asked.values["speculative_num_steps"] == "5"
    assert asked.values["enable_metrics"] == "True"
    assert "trust_remote_code" not in asked.values
    assert asked.from_file == {"speculative_algorithm", "enable_metrics"}


def test_a_script_is_read_with_its_variables_wrappers_and_continuations() -> None:
    text = (
        "#!/bin/sh\n"
        "MODEL=/models/target\n"
        "export SGLANG_LOG_MS=1\n"
        "# python3 -m sglang.launch_server --model-path /old\n"
        "CUDA_VISIBLE_DEVICES=0 nohup numactl -N 0 python3 -m sglang.launch_server \\\n"
        "  --model-path ${MODEL} \\\n"
        "  --speculative-num-draft-tokens 16 > server.log 2>&1 &\n"
    )
    (launch,) = launch_lines(text)
    assert launch.argv == (
        "python3", "-m", "sglang.launch_server", "--model-path", "/models/target",
        "--speculative-num-draft-tokens", "16",
    )  # fmt: skip
    assert launch.env == {"SGLANG_LOG_MS": "1", "CUDA_VISIBLE_DEVICES": "0"}
    source = source_of(launch, "speculative_num_draft_tokens", text, where="launch.sh")
    assert (source.line, source.quote) == (7, "--speculative-num-draft-tokens 16")
    assert source.quote in text.split("\n")[source.line - 1]


def test_a_container_line_gives_environment_and_the_version_of_its_tag() -> None:
    (launch,) = launch_lines(
        "docker run --gpus all -e SGLANG_X=1 lmsysorg/sglang:v0.5.9-cu129 bash -c "
        '"python3 -m sglang.launch_server --model-path /m --speculative-algorithm EAGLE3"\n'
    )
    assert launch.asked.values["speculative_algorithm"] == "EAGLE3"
    assert launch.env == {"SGLANG_X": "1"}
    assert launch.image_version == "0.5.9"


def test_a_benchmark_driver_asks_for_its_one_configuration() -> None:
    (launch,) = launch_lines(
        "python bench_eagle3.py --model-path /m --speculative-algorithm EAGLE3 "
        "--speculative-draft-model-path /d --config-list 1,4,4,16 8,4,4,16\n"
    )
    assert not launch.direct
    assert launch.argv == ()
    assert launch.asked.values["speculative_num_steps"] == "4"
    assert launch.asked.values["speculative_num_draft_tokens"] == "16"


@pytest.mark.parametrize(
    "text",
    [
        'vllm serve m --speculative-config \'{"method": "eagle3"}\'',
        "llama-server -m x --draft-max 16",
        "echo sglang is fine",
        "",
    ],
)
def test_other_engines_lines_are_no_launch_lines(text: str) -> None:
    assert launch_lines(text) == ()


def test_a_unit_file_and_two_servers_in_one_script() -> None:
    found = launch_lines(
        "ExecStart=/v/bin/python -m sglang.launch_server --port 1\nsglang serve --port 2 && sglang serve --port 3\n"
    )
    assert [launch.asked.port for launch in found] == [1, 2, 3]
