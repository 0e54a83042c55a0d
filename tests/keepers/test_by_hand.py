"""Lines to paste: run by a real shell, hostile words reach the tool as they are, and nothing else is run."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from specdoctor.core.launch import ORIGINAL, LaunchChange, launch_flags
from specdoctor.core.server import Keeper
from specdoctor.keepers.hand import Wanted, named_secrets, shell_text
from specdoctor.keepers.table import by_hand
from specdoctor.lab.units import expand, split_words

HOSTILE = (
    "$(touch marker)",
    "`touch marker`",
    "; touch marker",
    "| touch marker",
    "&& touch marker",
    "\ntouch marker\n",
    "' ; touch marker ; '",
    '" ; touch marker ; "',
    "--privileged",
    "-v /:/host",
    "\x1b[31mred\x1b]0;title\x07",
    "café \U0001f600 \u202e",
    "$HOME ${IFS} ~ *",
    "> marker",
    "a\tb  c",
    "\\",
    "%n%s%i",
    "#comment",
    "!history",
    "{a,b}",
)
TOOLS = ("kubectl", "docker", "podman", "scancel", "sbatch", "supervisorctl", "sudo", "systemctl", "rollout", "nohup")
FAKE = """#!/bin/sh
{ printf '%s' "${0##*/}"; for word in "$@"; do printf '\\0%s' "$word"; done; printf '\\0\\0'; } >> "$CALLS"
"""
CHANGE = LaunchChange(label="x", set_flags={"--speculative-num-steps": ("5",)})


class Place:
    """A folder in which pasted lines are run with fake tools that write down what they were given."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.calls = root / "calls"
        (root / "bin").mkdir()
        for name in TOOLS:
            tool = root / "bin" / name
            tool.write_text(FAKE)
            tool.chmod(0o755)

    def paste(self, line: str, **env: str) -> list[list[str]]:
        """Every call of a tool that the line came to, as words."""
        path = f"{self.root / 'bin'}:{os.environ['PATH']}"
        subprocess.run(
            ["sh", "-c", line + "\nwait"],
            cwd=self.root, env={"PATH": path, "CALLS": str(self.calls), **env}, check=True, timeout=20,
            capture_output=True,
        )  # fmt: skip
        assert not list(self.root.rglob("marker")), "something was run"
        text = self.calls.read_text() if self.calls.exists() else ""
        return [call.split("\0") for call in text.split("\0\0") if call]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def wanted(cwd: str, *words: str, pid: int = 2**22 + 7) -> Wanted:
    from shlex import join

    argv = ("python3", "-m", "sglang.launch_server", *words, "--speculative-num-steps", "3")
    changed = (*argv[:-1], "5")
    return Wanted(pid=pid, cwd=cwd, argv=argv, change=CHANGE, line=join(changed), original=join(argv))


@pytest.mark.parametrize("word", HOSTILE)
def test_a_plain_line_starts_the_words_as_they_are(place: Place, word: str) -> None:
    asked = wanted(str(place.root), "--model-path", word)
    calls = place.paste(by_hand(Keeper(kind="multi-node"), asked).start)
    assert calls == [["nohup", *asked.argv[:-1], "5"]]


@pytest.mark.parametrize("word", HOSTILE)
def test_a_job_is_submitted_with_the_words_as_they_are(place: Place, word: str) -> None:
    known = {"JobId": "48213", "JobName": word, "WorkDir": str(place.root), "TresPerNode": "gres/gpu:2"}
    asked = wanted(str(place.root), "--model-path", word)
    calls = place.paste(by_hand(Keeper(kind="slurm", known=known), asked).start)
    assert calls[0] == ["scancel", "48213"]
    assert calls[1][:2] == ["sbatch", f"--job-name={word}"]
    assert calls[1][-2:] == ["--wrap", asked.line]


@pytest.mark.parametrize("word", HOSTILE)
def test_a_patch_carries_the_words_as_they_are(place: Place, word: str) -> None:
    args = ["-m", "sglang.launch_server", "--model-path", word, "--speculative-num-steps", "3"]
    known = {
        "namespace": word, "pod": "p", "index": 0, "command": ["python3"], "args": args,
        "owners": [{"kind": "ReplicaSet", "name": "x"}, {"kind": "Deployment", "name": word}],
    }  # fmt: skip
    asked = wanted("/", "--model-path", word)
    calls = place.paste(by_hand(Keeper.model_validate({"kind": "kubernetes", "known": known}), asked).start)
    assert calls[0][:5] == ["kubectl", "-n", word, "patch", f"deployment/{word}"]
    patch = json.loads(calls[0][calls[0].index("-p") + 1])
    assert [each["value"] for each in patch] == [[*args[:-1], "5"]]


@pytest.mark.parametrize("word", HOSTILE)
def test_a_container_is_run_with_the_words_as_they_are(place: Place, word: str) -> None:
    known = {
        "name": word, "image": "sha256:" + "a" * 64, "options": [f"--volume={word}:/x"],
        "env": {"A": word, "KEY": "***"},
        "head": ["python3"], "taken": 1,
    }  # fmt: skip
    keeper = Keeper.model_validate({"kind": "docker", "known": known})
    calls = place.paste(by_hand(keeper, wanted("/", "--model-path", word)).start)
    assert calls[0] == ["docker", "stop", "-t", "60", word]
    options, _, command = "\0".join(calls[1]).partition("\0sha256:" + "a" * 64 + "\0")
    assert f"--env=A={word}" in options.split("\0")
    assert "--env=KEY" in options.split("\0")
    assert command.split("\0") == ["-m", "sglang.launch_server", "--model-path", word, "--speculative-num-steps", "5"]


@pytest.mark.parametrize("word", HOSTILE)
def test_a_drop_in_by_hand_holds_the_words_as_they_are(place: Place, word: str) -> None:
    known = {"head": ["/usr/bin/python3"], "taken": 1, "unit": "sglang.service", "scope": "user"}
    keeper = Keeper.model_validate({"kind": "systemd", "known": known})
    line = by_hand(keeper, wanted("/", "--model-path", word)).start
    calls = place.paste(line, XDG_RUNTIME_DIR=str(place.root / "run"))
    text = (place.root / "run/systemd/user/sglang.service.d/90-by-hand.conf").read_text()
    last = text.splitlines()[-1]
    assert last.startswith("ExecStart=")
    words = expand(split_words(last.removeprefix("ExecStart=")), {})
    assert words == [
        "/usr/bin/python3",
        "-m",
        "sglang.launch_server",
        "--model-path",
        word,
        "--speculative-num-steps",
        "5",
    ]
    assert [call[:3] for call in calls] == [
        ["systemctl", "--user", "daemon-reload"],
        ["systemctl", "--user", "restart"],
    ]


@pytest.mark.parametrize("word", HOSTILE)
def test_a_supervisor_is_told_the_name_as_it_is(place: Place, word: str) -> None:
    keeper = Keeper.model_validate({"kind": "supervisor", "known": {"tool": "supervisord", "service": word}})
    calls = place.paste(by_hand(keeper, wanted(str(place.root), "--model-path", word)).start)
    assert calls[0] == ["supervisorctl", "stop", word]


def test_a_secret_comes_from_the_shell(place: Place) -> None:
    words = ["--api-key", "***", "--hf-token=***", "--x", "plain"]
    names = named_secrets(words)
    assert names == ["API_KEY", "HF_TOKEN"]
    text = shell_text(json.dumps(words), names)
    assert "***" not in text
    calls = place.paste(f"kubectl {text}", API_KEY="one", HF_TOKEN="two")
    assert json.loads(calls[0][1]) == ["--api-key", "one", "--hf-token=two", "--x", "plain"]


def test_flags_are_compared_whatever_stands_before_them_and_in_whatever_order() -> None:
    assert launch_flags(("python3", "-m", "x", "--a", "1", "2", "--b")) == launch_flags(("x", "--b", "--a", "1", "2"))
    assert launch_flags(("x", "--a=1")) == launch_flags(("y", "--a", "1"))
    assert launch_flags(("x", "--a", "1")) != launch_flags(("x", "--a", "2"))
    assert ORIGINAL.is_original
