"""Commands out of the texts that people send."""

from __future__ import annotations

import time

import pytest

from specdoctor.core.launch_text import commands_in

FLAGS = ("--model", "/m/big", "--k", "3")
SERVE = ("vllm", "serve", "/m/big", "--k", "3")


def test_continuations_quotes_over_lines_and_environment() -> None:
    text = (
        "#!/bin/bash\nexport A=1\nB=2\nC=3 vllm serve /m/big \\\n  --k ${B} \\\n"
        '  --speculative-config \'{\n    "method": "mtp"\n  }\' > out.log 2>&1 &\n'
    )
    (command,) = commands_in(text)
    assert command.words == (
        "vllm",
        "serve",
        "/m/big",
        "--k",
        "2",
        "--speculative-config",
        '{\n    "method": "mtp"\n  }',
    )
    assert (command.env, command.line, command.last_line) == ({"A": "1", "C": "3"}, 4, 8)


def test_escaped_quotes_inside_quotes() -> None:
    (command,) = commands_in('vllm serve m --speculative-config "{\\"model\\": \\"/m/$D\\", \\"num\\": 3}"\n')
    assert command.words[-1] == '{"model": "/m/$D", "num": 3}'


def test_several_commands_with_their_remarks() -> None:
    text = "# baseline\nvllm serve m --port 1\n\n# with n-gram\nvllm serve m --port 1 \\\n --spec x\n"
    assert [(c.comment, c.line, c.last_line) for c in commands_in(text)] == [("baseline", 2, 2), ("with n-gram", 5, 6)]


def test_arrays_of_arguments() -> None:
    text = 'ARGS=(--k 3)\nARGS+=(--name "a b")\nvllm serve m "${ARGS[@]}"\n'
    assert commands_in(text)[-1].words == ("vllm", "serve", "m", "--k", "3", "--name", "a b")


def test_a_variable_that_holds_several_words() -> None:
    assert commands_in("FLAGS='--k 3'\nvllm serve m $FLAGS\n")[-1].words == ("vllm", "serve", "m", "--k", "3")


def test_defaults_of_variables() -> None:
    assert commands_in("vllm serve ${MODEL:-/m/big} --k ${K}\n")[-1].words == ("vllm", "serve", "/m/big", "--k", "${K}")


@pytest.mark.parametrize(
    "text",
    [
        "docker run --rm -it --gpus all -e A=1 -v /m:/m --ipc=host img:v1 vllm serve /m/big --k 3",
        "sudo podman run -d --name x --env=A=1 img:v1 bash -lc 'cd / && vllm serve /m/big --k 3'",
        "docker run -e A=1 --entrypoint 'vllm serve' img:v1 /m/big --k 3",
    ],
)
def test_container_runs(text: str) -> None:
    command = commands_in(text)[-1]
    assert (command.words, command.image, command.env, command.carrier) == (SERVE, "img:v1", {"A": "1"}, "docker")


def test_an_image_whose_entry_point_is_the_server() -> None:
    (command,) = commands_in("docker run --gpus all vllm/vllm-openai:v0.11.0 --model /m/big --k 3")
    assert (command.words, command.image) == (FLAGS, "vllm/vllm-openai:v0.11.0")


def test_compose() -> None:
    text = (
        "services:\n  llm:\n    image: img:v1\n    environment:\n      - A=1\n    command: >\n      --model /m/big\n"
        "      --k 3\n    ports: ['1:1']\n  db:\n    image: pg\n"
    )
    (command,) = commands_in(text)
    assert (command.words, command.image, command.env) == (FLAGS, "img:v1", {"A": "1"})
    assert (command.carrier, command.line, command.last_line) == ("compose", 6, 8)


def test_kubernetes() -> None:
    text = (
        "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n      - name: llm\n"
        "        image: img:v1\n        env:\n        - name: K\n          value: '3'\n        command: [vllm, serve]\n"
        "        args:\n        - /m/big\n        - --k\n        - $(K)\n"
    )
    (command,) = commands_in(text)
    assert (command.words, command.image, command.comment) == (SERVE, "img:v1", "llm")
    assert (command.carrier, command.line, command.last_line >= 16) == ("kubernetes", 12, True)


def test_kubernetes_with_a_shell() -> None:
    text = (
        "kind: Pod\nspec:\n  containers:\n  - image: img:v1\n    command: ['/bin/sh', '-c']\n    args:\n    - |\n"
        "      export A=1\n      exec vllm serve /m/big --k 3\n"
    )
    assert commands_in(text)[-1].words[-5:] == SERVE


def test_systemd() -> None:
    text = '[Service]\nEnvironment="A=1" B=2\nExecStart=/opt/bin/vllm serve /m/big \\\n    --k 3\nRestart=always\n'
    command = next(c for c in commands_in(text) if "serve" in c.words)
    assert (command.words[1:], command.env, command.carrier) == (SERVE[1:], {"A": "1", "B": "2"}, "systemd")


def test_slurm() -> None:
    text = "#!/bin/bash\n#SBATCH --gres=gpu:8\nmodule load cuda\nsrun --mpi=pmix vllm serve /m/big --k 3\n"
    command = commands_in(text)[-1]
    assert (command.words[-5:], command.carrier) == (SERVE, "slurm")


def test_loops_and_apostrophes_do_no_harm() -> None:
    text = "It doesn't start.\nfor K in 3 5; do\n  vllm serve m --k $K &\ndone\nThat's all\n"
    assert ("vllm", "serve", "m", "--k", "$K") in [c.words for c in commands_in(text)]


def test_here_documents_are_not_commands() -> None:
    text = "cat > f <<EOF\nvllm serve other\nEOF\nvllm serve m\n"
    assert [c.words for c in commands_in(text) if c.words[0] == "vllm"] == [("vllm", "serve", "m")]


def test_other_shells_continue_lines_otherwise() -> None:
    assert commands_in("llama-server ^\r\n  -m a.gguf\r\n")[0].words == ("llama-server", "-m", "a.gguf")
    assert commands_in("llama-server `\n  -m a.gguf\n")[0].words == ("llama-server", "-m", "a.gguf")


@pytest.mark.parametrize("text", ["", "'", '"', "$(", "image: x\ncommand: [", "\\", "a=(", "- image: &a\n  args: *a\n"])
def test_broken_texts_end_quietly(text: str) -> None:
    commands_in(text)


def test_long_texts_take_no_longer_than_they_should() -> None:
    commands_in("'" * 5000 + "\n" + "(" * 5000)


@pytest.mark.parametrize("text", ["\n" * 60_000, " \n" * 60_000, "\t" * 60_000], ids=["lines", "blanks", "tabs"])
def test_empty_lines_are_passed_over_in_linear_time(text: str) -> None:
    begun = time.process_time()
    assert commands_in(text) == ()
    assert time.process_time() - begun < 2
