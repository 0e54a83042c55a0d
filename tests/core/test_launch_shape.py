"""A changed launch keeps what stood around it: containers, mounts, environment, units, keys of YAML."""

from __future__ import annotations

import shlex

import pytest
from ruamel.yaml import YAML

from specdoctor.core.launch import LaunchChange
from specdoctor.core.launch_shape import ShapedLaunch, on_its_lines, reshaped
from specdoctor.core.launch_text import commands_in

SERVE = "vllm serve /m/big --k 3 --api-key sesame"
FOUR = LaunchChange(label="four", set_flags={"--k": ("4",)})


def shaped(text: str, change: LaunchChange = FOUR, *, own: str = "/m/big") -> ShapedLaunch:
    command = next(c for c in commands_in(text) if any(own in word for word in c.words))
    return on_its_lines(reshaped(command, change, prefix="VLLM"), command, text)


DOCKER = """docker run --rm --gpus '"device=0,1"' -v $HOME/.cache:/root/.cache -v ~/m:/m \\
  -e HF_TOKEN=hf_abcdefghijklmnopqrst -e NCCL_DEBUG=WARN --env "B=x y" \\
  vllm/vllm-openai:v0.9.2 {inner}
"""


def test_a_container_keeps_image_mounts_and_environment() -> None:
    found = shaped(DOCKER.format(inner="--model /m/big --k 3 --api-key sesame"))
    assert found.text == (
        'docker run --rm --gpus \'"device=0,1"\' -v $HOME/.cache:/root/.cache -v ~/m:/m -e HF_TOKEN="$HF_TOKEN" '
        '-e NCCL_DEBUG=WARN --env "B=x y" vllm/vllm-openai:v0.9.2 --model /m/big --k 4 --api-key "$VLLM_API_KEY"'
    )
    assert (found.shape, found.line, found.last_line) == ("shell", 1, 3)


def test_a_script_that_a_container_runs_keeps_its_other_commands() -> None:
    found = shaped(DOCKER.format(inner=f'bash -c "cd /x && {SERVE} > /m/log 2>&1"'))
    words = shlex.split(found.text)
    assert words[-3:] == ["bash", "-c", "cd /x && vllm serve /m/big --k 4 --api-key *** > /m/log 2>&1"]
    assert words[:2] == ["docker", "run"]


def test_an_entry_point_and_a_variable_that_is_taken_out() -> None:
    text = "docker run -e SPEC_K=9 -e A=1 --entrypoint llama-server img -m /m/big --k 3\n"
    found = shaped(text, FOUR.model_copy(update={"remove_env": ("SPEC_K",)}))
    assert found.text == "docker run -e A=1 --entrypoint llama-server img -m /m/big --k 4"
    assert found.left == ()
    assert shaped(text, FOUR.model_copy(update={"remove_env": ("OTHER",)})).left == ("OTHER",)


def test_a_shell_line_keeps_what_was_set_before_it_and_what_wraps_it() -> None:
    text = f"export A=1\nexport HF_TOKEN=hf_abcdefghijklmnopqrst\nB=2 nohup numactl -N 0 {SERVE} > $LOG 2>&1 &\n"
    assert shaped(text).text == (
        'A=1 HF_TOKEN="$HF_TOKEN" B=2 nohup numactl -N 0 vllm serve /m/big --k 4 --api-key "$VLLM_API_KEY" '
        "> $LOG 2>&1 &"
    )


def test_variables_that_are_not_known_are_left_to_the_shell() -> None:
    found = shaped("M=/m\nvllm serve $M/big --draft $D/x --name \"$N y\" --key '$Z' --api-key $KEY --k 3\n")
    assert found.text == "vllm serve /m/big --draft $D/x --name \"$N y\" --key '$Z' --api-key $KEY --k 4"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("set -e; source env.sh && vllm serve /m/big --k 3 | tee log\n", "set -e; source env.sh && {} | tee log"),
        ("for K in 1 2; do vllm serve /m/big --k 3; done\n", "for K in 1 2; do {}; done"),
        ("export A=1\nif true; then vllm serve /m/big --k 3; fi\n", "if true; then {}; fi"),
        ("docker run img vllm serve /m/big --k 3 || exit 1\n", "docker run img {} || exit 1"),
    ],
)
def test_what_stands_on_the_same_line_stays(text: str, wanted: str) -> None:
    assert shaped(text).text == wanted.format("vllm serve /m/big --k 4")


def test_variables_of_the_outer_and_of_the_inner_shell_stay_apart() -> None:
    found = shaped('docker run -e K=$K img bash -c "vllm serve /m/big --k 3 --host \\$HOST --name $NAME"\n')
    assert found.text == 'docker run -e K=$K img bash -c "vllm serve /m/big --k 4 --host \\$HOST --name $NAME"'


def test_a_script_in_the_text_of_a_service_stays_one_word() -> None:
    text = "services:\n  a:\n    image: img\n    command: bash -c 'cd /x && vllm serve /m/big --k 3'\n"
    words = shlex.split(YAML(typ="safe").load(shaped(text).text)["command"])
    assert words == ["bash", "-c", "cd /x && vllm serve /m/big --k 4"]


def test_a_unit_keeps_its_key_and_masks_its_secret() -> None:
    found = shaped(f"[Service]\nEnvironment=A=1\nExecStart=/usr/bin/env {SERVE}\n")
    assert found.text == "ExecStart=/usr/bin/env vllm serve /m/big --k 4 --api-key ***"
    assert (found.shape, found.line) == ("unit", 3)
    docker = shaped("[Service]\nExecStart=/usr/bin/docker run -v /m:/m img vllm serve /m/big --k 3\n")
    assert docker.text == "ExecStart=/usr/bin/docker run -v /m:/m img vllm serve /m/big --k 4"


def test_a_batch_job_keeps_its_step() -> None:
    found = shaped(f"#!/bin/bash\n#SBATCH -N 1\nsrun --container-image=img --container-mounts=/m:/m {SERVE}\n")
    assert found.text.startswith("srun --container-image=img --container-mounts=/m:/m vllm serve /m/big --k 4")


LISTED = """apiVersion: v1
kind: Pod
spec:
  containers:
    - name: server
      image: img
      command: [vllm, serve]
      args: ["$(M)", "--k", "3", "--on", "{on}", "--api-key", "sesame"]
      env: [{{name: M, value: /m/big}}]
"""


def test_the_keys_of_a_pod_are_given_as_lists_of_text() -> None:
    found = shaped(LISTED.format(on="true"))
    keys = YAML(typ="safe").load(found.text)
    assert keys == {
        "command": ["vllm", "serve"],
        "args": ["$(M)", "--k", "4", "--on", "true", "--api-key", "***"],
    }
    assert (found.shape, found.line, found.last_line) == ("yaml", 7, 8)
    assert shaped(LISTED.format(on="x"), FOUR.model_copy(update={"remove_env": ("V",)})).left == ("V",)


def test_a_script_in_a_pod_stays_a_script() -> None:
    text = (
        "kind: Pod\ncontainers:\n- image: img\n  command: [bash, -c]\n  args:\n  - |\n    export A=1\n"
        "    exec vllm serve /m/big \\\n      --k 3\n"
    )
    keys = YAML(typ="safe").load(shaped(text).text)
    assert keys["command"] == ["bash", "-c"]
    assert keys["args"][0].startswith("export A=1\nexec")
    assert "--k 4" in keys["args"][0]


@pytest.mark.parametrize(("key", "style"), [("command", ">"), ("command", "|")])
def test_the_text_of_a_service_stays_a_text(key: str, style: str) -> None:
    text = (
        f"services:\n  a:\n    image: img\n    volumes: ['/m:/m']\n    {key}: {style}\n      --model /m/big\n"
        '      --cfg \'{"a": "b c"}\' --draft ${D}\n      --k 3\n'
    )
    keys = YAML(typ="safe").load(shaped(text).text)
    assert keys == {"command": '--model /m/big --cfg \'{"a": "b c"}\' --draft ${D} --k 4'}


def test_a_new_flag_goes_to_the_last_key() -> None:
    keys = YAML(typ="safe").load(shaped(LISTED.format(on="x"), LaunchChange(label="n", set_flags={"--z": ("1",)})).text)
    assert keys["command"] == ["vllm", "serve"]
    assert keys["args"][-2:] == ["--z", "1"]
