"""Scripts that start a server: which would start it again, and which only look like it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.remote.workplace import FAKES, Workplace, free_port, loaded, wait_for

PARTS = loaded("probe")
SERVER = ["python3", "-m", "sglang.launch_server", "--port", "30000"]

PROVED = {
    "while true": "#!/bin/bash\nwhile true; do\n  python3 -m sglang.launch_server --port 30000\n  sleep 5\ndone\n",
    "one line": "while :; do vllm serve /m; sleep 1; done\n",
    "until it ends well": "until python -m sglang.launch_server; do\n  echo 'crashed' >&2\n  sleep 1\ndone\n",
    "without a bound": "for ((;;)); do llama-server -m x.gguf; done\n",
    "continued": "while true\ndo\n  python3 -m \\\n    sglang.launch_server \\\n    --port 1\ndone\n",
    "the words it was given": 'while true; do\n  "$@"\n  sleep 1\ndone\n',
    "a variable": 'CMD="python3 -m sglang.launch_server --port 1"\nwhile true; do\n  $CMD || true\ndone\n',
    "a list": 'CMD=(vllm serve /m)\nwhile [ ! -f stop ]; do "${CMD[@]}"; done\n',
    "a function": "run() {\n  exec env A=1 vllm serve /m\n}\nwhile true; do\n  (run)\n  sleep 1\ndone\n",
    "where none is found": "while sleep 5; do\n  if ! pgrep vllm; then\n    nohup vllm serve /m &\n  fi\ndone\n",
}  # fmt: skip
MAYBE = {
    "one for each of a list": "for p in 1 2; do\n  vllm serve /m --port $p &\ndone\nwait\n",
    "one for each line": "while read -r p; do vllm serve /m --port $p & done < ports\nwait\n",
}
NOT = {
    "no loop": "export A=1\npython3 -m sglang.launch_server --port 30000\n",
    "waits for it": "vllm serve /m &\nuntil curl -s :8000; do\n  echo waits for vllm serve\n  sleep 1\ndone\n",
    "a loop before it": "while getopts p: o; do\n  case $o in p) port=$OPTARG;; esac\ndone\nvllm serve /m\n",
    "a comment": "# while true; do\nvllm serve /m\n# done\n",
    "looks for it": "vllm serve /m & while pgrep -f 'vllm serve'; do sleep 1; done\n",
    "a variable after": "for w in a b; do args+=($w); done\npython3 -m sglang.launch_server \"${args[@]}\"\n",
    "no end": "while true; do\nsleep 1\n",
}  # fmt: skip


@pytest.mark.parametrize("name", [*PROVED, *MAYBE, *NOT])
def test_a_shell_s_script(name: str) -> None:
    text = {**PROVED, **MAYBE, **NOT}[name]
    found = PARTS.shell_loop(text, PARTS.wanted(SERVER))
    assert (found[1] if found else None) is (True if name in PROVED else False if name in MAYBE else None), found


def test_the_script_below_is_what_the_loop_starts() -> None:
    text = "while true; do\n  ./serve.sh --fast\ndone\n"
    assert PARTS.shell_loop(text, PARTS.wanted(["/bin/bash", "/opt/serve.sh", "--fast"])) == (2, True)
    assert PARTS.shell_loop(text, PARTS.wanted(["/bin/bash", "/opt/other.sh"])) is None
    assert PARTS.shell_loop("while true; do bash -c date; done", PARTS.wanted(["bash", "-c", "vllm serve"])) is None


KEEP = "import subprocess\nCMD = ['python3', '-m', 'sglang.launch_server']\n"


@pytest.mark.parametrize(
    ("text", "proved"),
    [
        (KEEP + "while True:\n    subprocess.call(CMD)\n", True),
        (KEEP + "def run():\n    p = subprocess.Popen(CMD)\n    p.wait()\nwhile 1:\n    run()\n", True),
        ("import os\nwhile True:\n    os.system('vllm serve /m')\n", True),
        (KEEP + "for _ in range(3):\n    subprocess.call(CMD)\n", False),
        (KEEP + "p = subprocess.Popen(CMD)\nwhile True:\n    subprocess.call(['curl', 'localhost'])\n", None),
        (KEEP + "p = subprocess.Popen(CMD)\nwhile p.poll() is None:\n    print('sglang.launch_server')\n", None),
        ("while True:\n  this is no Python", None),
    ],
)
def test_a_script_of_python(text: str, proved: bool | None) -> None:
    found = PARTS.python_loop(text, PARTS.wanted(SERVER))
    assert (found[1] if found else None) is proved


@pytest.mark.parametrize(
    ("argv", "path"),
    [
        (["/bin/bash", "-e", "./keep.sh", "x"], "./keep.sh"),
        (["python3", "-u", "/opt/keep.py"], "/opt/keep.py"),
        (["bash", "-lc", "while true; do x; done"], None),
        (["python3", "-m", "keep"], None),
        (["-bash"], None),
        (["tmux"], None),
        ([], None),
    ],
)
def test_which_file_is_run(argv: list[str], path: str | None) -> None:
    assert PARTS.script_of(argv) == path


@pytest.mark.slow
def test_what_runs_it_is_found_on_the_host_and_its_text_stays_there(place: Workplace) -> None:
    port = free_port()
    script = place.root / "keep.sh"
    line = f"{sys.executable} -m sglang.launch_server --port {port}"
    script.write_text(f"export API_KEY=sk-not-to-be-told\nwhile true; do\n  {line}\n  sleep 1\ndone\n")
    log = place.root / "log"
    env = {"PYTHONPATH": str(FAKES), "PATH": "/usr/bin:/bin", "HOME": str(place.root)}
    with log.open("wb") as stream:
        loop = subprocess.Popen(["bash", "keep.sh"], cwd=place.root, env=env, stdout=stream, stderr=stream)
    try:
        wait_for(lambda: "ready to roll" in log.read_text())
        asked = {"ports": [port], "files": [], "logs": [], "log_bytes": 1000, "http": False, "http_timeout_s": 1.0}
        found = place.run("probe", asked)
        assert "sk-not-to-be-told" not in str(found)
        above = next(p for p in found["processes"] if p["pid"] == loop.pid)
        assert above["script_loop"] == {"path": "keep.sh", "line": 3, "proved": True}
    finally:
        loop.kill()
        loop.wait()
