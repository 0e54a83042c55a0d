"""Scripts that start a server: which would start it again, and which only look like it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

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
BOUNDED = {
    "a long list": "for i in {1..100000}; do\n  python3 -m sglang.launch_server --port 30000\n  sleep 1\ndone\n",
    "one line": "for i in 1 2 3; do vllm serve /m || true; done\n",
    "into a log": "for i in $(seq 9); do vllm serve /m >> log 2>&1; done\n",
    "through a pipe": "for i in $(seq 9); do vllm serve /m 2>&1 | tee log; done\n",
    "waited for": "for i in 1 2 3; do\n  vllm serve /m > log 2>&1 &\n  wait $!\ndone\n",
    "waited for by its number": "for i in 1 2; do\n vllm serve &\n p=$!\n while kill -0 $p; do sleep 1; done\ndone\n",
    "each line": "while read -r line; do vllm serve $line; done < servers\n",
    "counted": "for ((i = 0; i < 9; i++)); do\n  vllm serve /m\ndone\n",
    "a function": "run() {\n  vllm serve /m\n}\nfor i in 1 2; do\n  run\ndone\n",
}
ITSELF = {
    "a function": "run() {\n  vllm serve /m\n  sleep 1\n  run\n}\nrun\n",
    "one line": "run() { vllm serve /m; run; }; run\n",
    "two functions": "a() {\n  vllm serve /m\n  b\n}\nb() {\n  sleep 1\n  a\n}\na\n",
    "exec": "vllm serve /m\nexec bash $0\n",
    "quoted": "vllm serve /m\nexec \"$0\" \"$@\"\n",
    "where it lies": "vllm serve /m\nexec \"$BASH_SOURCE\"\n",
    "resolved": "me=$(readlink -f \"$0\")\nvllm serve /m\nexec \"$me\"\n",
    "its name": "vllm serve /m\nsleep 1; exec /opt/keep.sh\n",
    "at its end": "trap 'exec \"$0\"' EXIT\nvllm serve /m\n",
    "a function at its end": "run() {\n  vllm serve /m\n}\ntrap run EXIT\nrun\n",
    "a function before": "again() {\n  exec \"$0\"\n}\nvllm serve /m\nagain\n",
}  # fmt: skip
MAYBE = {
    "one for each of a list": "for p in 1 2; do\n  vllm serve /m --port $p &\ndone\nwait\n",
    "with a log": "for p in 1 2; do\n  vllm serve /m --port $p > log.$p 2>&1 &\ndone\nwait\n",
    "one for each line": "while read -r p; do vllm serve /m --port $p & done < ports\nwait\n",
    "a function": "run() {\n  vllm serve /m --port $1 &\n}\nfor p in 1 2; do run $p; done\nwait\n",
    "until each is up": "for p in 1 2; do\n vllm serve --port $p &\n until curl :$p; do sleep 1; done\ndone\nwait\n",
}
NOT = {
    "no loop": "export A=1\npython3 -m sglang.launch_server --port 30000\n",
    "waits for it": "vllm serve /m &\nuntil curl -s :8000; do\n  echo waits for vllm serve\n  sleep 1\ndone\n",
    "a loop before it": "while getopts p: o; do\n  case $o in p) port=$OPTARG;; esac\ndone\nvllm serve /m\n",
    "a comment": "# while true; do\nvllm serve /m\n# done\n",
    "looks for it": "vllm serve /m & while pgrep -f 'vllm serve'; do sleep 1; done\n",
    "a variable after": "for w in a b; do args+=($w); done\npython3 -m sglang.launch_server \"${args[@]}\"\n",
    "no end": "while true; do\nsleep 1\n",
    "itself before, as root": "[ $UID = 0 ] || exec sudo \"$0\" \"$@\"\nvllm serve /m\n",
    "its folder": "cd \"$(dirname \"$0\")\"\nvllm serve /m\necho \"usage: $0\"\n",
    "a function that stops it": "stop() {\n  pkill -f 'vllm serve'\n}\ntrap stop EXIT\nvllm serve /m\n",
    "a function that is called": "run() {\n  vllm serve /m\n}\nrun\n",
}  # fmt: skip


HOW = {"loop": PROVED, "bounded": BOUNDED, "itself": ITSELF, "maybe": MAYBE, None: NOT}


@pytest.mark.parametrize(("how", "name"), [(how, name) for how, texts in HOW.items() for name in texts])
def test_a_shell_s_script(how: str | None, name: str) -> None:
    found = PARTS.shell_loop(HOW[how][name], PARTS.wanted(SERVER), "./keep.sh")
    assert (found[1] if found else None) == how, found


def test_the_script_below_is_what_the_loop_starts() -> None:
    text = "while true; do\n  ./serve.sh --fast\ndone\n"
    assert PARTS.shell_loop(text, PARTS.wanted(["/bin/bash", "/opt/serve.sh", "--fast"])) == (2, "loop")
    assert PARTS.shell_loop(text, PARTS.wanted(["/bin/bash", "/opt/other.sh"])) is None
    assert PARTS.shell_loop("while true; do bash -c date; done", PARTS.wanted(["bash", "-c", "vllm serve"])) is None


KEEP = "import subprocess\nCMD = ['python3', '-m', 'sglang.launch_server']\n"


@pytest.mark.parametrize(
    ("text", "how"),
    [
        (KEEP + "while True:\n    subprocess.call(CMD)\n", "loop"),
        (KEEP + "def run():\n    p = subprocess.Popen(CMD)\n    p.wait()\nwhile 1:\n    run()\n", "loop"),
        ("import os\nwhile True:\n    os.system('vllm serve /m')\n", "loop"),
        ("import subprocess, sys\nwhile True:\n    subprocess.call(sys.argv[1:])\n", "loop"),
        (KEEP + "for _ in range(3):\n    subprocess.call(CMD)\n", "bounded"),
        (KEEP + "import itertools\nfor _ in itertools.count():\n    subprocess.run(CMD)\n", "bounded"),
        (KEEP + "for _ in range(3):\n    p = subprocess.Popen(CMD)\n    p.wait()\n", "bounded"),
        (KEEP + "for _ in range(3):\n    with subprocess.Popen(CMD) as p:\n        pass\n", "bounded"),
        (KEEP + "[subprocess.call(CMD) for _ in range(9)]\n", "bounded"),
        (
            KEEP + "class K:\n  on = 1\n  def go(self):\n    subprocess.call(CMD)\n  def all(self):\n"
            "    while self.on:\n      self.go()\n",
            "bounded",
        ),
        (KEEP + "def go():\n    subprocess.call(CMD)\n    go()\ngo()\n", "itself"),
        (KEEP + "def go():\n    subprocess.call(CMD)\n    again()\ndef again():\n    go()\ngo()\n", "itself"),
        (
            KEEP + "import os, sys\nsubprocess.call(CMD)\nos.execv(sys.executable, [sys.executable] + sys.argv)\n",
            "itself",
        ),
        (KEEP + "import os\nsubprocess.call(CMD)\nos.execl('/usr/bin/python3', 'python3', __file__)\n", "itself"),
        (
            KEEP + "import os, sys\nif len(sys.argv) > 9:\n    os.execv(sys.argv[0], sys.argv)\nsubprocess.call(CMD)\n",
            None,
        ),
        (KEEP + "def run():\n    subprocess.run(CMD)\nrun()\n", None),
        (KEEP + "all = [subprocess.Popen(CMD + [p]) for p in '12']\nfor p in all:\n    p.wait()\n", "maybe"),
        (KEEP + "for p in '12':\n    with open(p) as f:\n        subprocess.Popen(CMD + [p], stdout=f)\n", "maybe"),
        (KEEP + "p = subprocess.Popen(CMD)\nwhile True:\n    subprocess.call(['curl', 'localhost'])\n", None),
        (KEEP + "p = subprocess.Popen(CMD)\nwhile p.poll() is None:\n    print('sglang.launch_server')\n", None),
        ("while True:\n  this is no Python", None),
    ],
)
def test_a_script_of_python(text: str, how: str | None) -> None:
    found = PARTS.python_loop(text, PARTS.wanted(SERVER))
    assert (found[1] if found else None) == how


@pytest.mark.parametrize(
    ("argv", "path"),
    [
        (["/bin/bash", "-e", "./keep.sh", "x"], "./keep.sh"),
        (["python3", "-u", "/opt/keep.py"], "/opt/keep.py"),
        (["bash", "-lc", "while true; do x; done"], None),
        (["python3", "-m", "keep"], None),
        (["-bash"], None),
        (["tmux"], None),
        (["bash", "-o", "pipefail", "keep.sh"], "keep.sh"),
        (["bash", "--init-file", "/opt/terminal.sh"], None),
        (["python3", "-", "word"], None),
        ([], None),
    ],
)
def test_which_file_is_run(argv: list[str], path: str | None) -> None:
    assert PARTS.script_of(argv) == path


@pytest.mark.parametrize(
    ("argv", "program", "language"),
    [
        (["/usr/bin/perl", "keep.pl"], "perl", "perl"),
        (["make", "-f", "Mk"], "make", "make"),
        (["xargs", "-n1", "sh"], "xargs", "xargs"),
        (["keeps the server"], "ruby3.1", "ruby"),
        (["node", "keep.js"], "node", "node"),
        (["php8.2", "keep.php"], "php8.2", "php"),
        (["fish", "keep.fish"], "fish", "fish"),
        (["fish", "-c", "while true; vllm serve /m; end"], "fish", "fish"),
        (["fish", "-c", "vllm serve /m"], "fish", ""),
        (["-fish"], "fish", ""),
        (["-tcsh"], "tcsh", ""),
        (["bash", "keep.sh"], "bash", ""),
        (["sshd: ml@pts/0"], "sshd", ""),
    ],
)
def test_a_language_that_is_not_read(argv: list[str], program: str, language: str) -> None:
    assert PARTS.unread_language(argv, program) == language


def seen_above(
    monkeypatch: pytest.MonkeyPatch, *chain: list[str], texts: dict[str, str] | None = None
) -> list[str | None]:
    """What is found of each process above a server, from its parent up to the one below the first of the machine."""
    pids = {100 - number: list(argv) for number, argv in enumerate([SERVER, *chain])}
    stats = {pid: PARTS.Stat(pid, "x", "S", pid - 1 if pid - 1 in pids else 1, 1, 0, 1) for pid in pids}
    stats[1] = PARTS.Stat(1, "init", "S", 0, 1, 0, 1)
    read = texts or {}
    names = {"argv_of": pids.get, "link_of": lambda pid, name: None, "script_text": lambda pid, path: read.get(path)}
    for name, instead in names.items():
        monkeypatch.setitem(PARTS.loops_above.__globals__, name, instead)
    found = PARTS.loops_above([PARTS.Server(100, "sglang", SERVER, {}, [100])], stats)
    assert not found[1]
    return [found[pid]["how"] if found[pid] else None for pid in sorted(pids, reverse=True)[1:]]


def test_a_program_that_is_not_read_counts_up_to_the_shell_of_a_login(monkeypatch: pytest.MonkeyPatch) -> None:
    perl, node, login = ["perl", "keep.pl"], ["node", "terminal.js"], ["-bash"]
    plain = {"serve.sh": "python3 -m sglang.launch_server\n"}
    assert seen_above(monkeypatch, perl, login) == ["unread", None]
    assert seen_above(monkeypatch, ["sh", "-c", "exec x"], perl) == [None, "unread"]
    assert seen_above(monkeypatch, ["bash", "serve.sh"], perl, texts=plain) == [None, "unread"]
    assert seen_above(monkeypatch, login, node) == [None, None]
    assert seen_above(monkeypatch, ["sshd: ml"], perl) == [None, None]
    assert seen_above(monkeypatch, ["bash", "away.sh"]) == ["unread"]
    assert seen_above(monkeypatch, ["python3", "two.py"], texts={"two.py": "print 'two'\n"}) == ["unread"]
    assert seen_above(monkeypatch, ["python3", "-m", "pytest"], perl) == [None, None]
    assert seen_above(monkeypatch, ["python3", "go.py"], perl, texts={"go.py": "print()\n"}) == [None, None]
    assert seen_above(monkeypatch, ["nohup", "x"], perl) == [None, "unread"]


def test_a_script_is_read_to_its_end_or_not_at_all(tmp_path: Path) -> None:
    script = tmp_path / "keep.sh"
    script.write_text("x" * PARTS.SCRIPT_BYTES)
    assert len(PARTS.script_text(os.getpid(), str(script))) == PARTS.SCRIPT_BYTES
    script.write_text("x" * (PARTS.SCRIPT_BYTES + 1))
    assert PARTS.script_text(os.getpid(), str(script)) is None
    assert PARTS.script_text(os.getpid(), str(tmp_path)) is None


SAID = {
    "bash": ("keep.sh", "while true; do\n  {line}\n  sleep 1\ndone\n", (2, True, "loop")),
    "bash list": ("keep.sh", "for i in {{1..100000}}; do\n  {line}\n  sleep 1\ndone\n", (2, True, "bounded")),
    "bash function": ("keep.sh", "run() {{\n  {line}\n  sleep 1\n  run\n}}\nrun\n", (4, True, "itself")),
    "bash exec": ("keep.sh", "{line}\nsleep 1\nexec bash $0\n", (3, True, "itself")),
    "python3": (
        "keep.py",
        "import itertools, subprocess\nfor _ in itertools.count():\n    subprocess.call('{line}'.split())\n",
        (3, True, "bounded"),
    ),
    "perl": ("keep.pl", "while (1) {{ system('{line}'); sleep 1; }}\n", (0, False, "unread")),
    "bash once": ("serve.sh", "{line}\necho ended\n", None),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SAID)
def test_what_runs_it_is_found_on_the_host_and_its_text_stays_there(place: Workplace, kind: str) -> None:
    port, (name, text, said) = free_port(), SAID[kind]
    program = sys.executable if kind == "python3" else shutil.which(kind.partition(" ")[0])
    if program is None:
        pytest.skip(f"no {kind} here")
    script = place.root / name
    text = text.format(line=f"{sys.executable} -m sglang.launch_server --port {port}")
    script.write_text(f"{text}# sk-not-to-be-told\n")
    log = place.root / "log"
    env = {"PYTHONPATH": str(FAKES), "PATH": "/usr/bin:/bin", "HOME": str(place.root)}
    with log.open("wb") as stream:
        above = subprocess.Popen(
            [program, name], cwd=place.root, env=env, stdout=stream, stderr=stream, start_new_session=True
        )
    try:
        wait_for(lambda: "ready to roll" in log.read_text())
        asked = {"ports": [port], "files": [], "logs": [], "log_bytes": 1000, "http": False, "http_timeout_s": 1.0}
        found = place.run("probe", asked)
        assert "sk-not-to-be-told" not in str(found)
        loop = next(p for p in found["processes"] if p["pid"] == above.pid)["script_loop"]
        assert (loop and (loop["line"], loop["proved"], loop["how"])) == said
    finally:
        os.killpg(above.pid, signal.SIGKILL)
        above.wait()
