"""Servers that real programs keep: a supervisord of its own, a tmux of its own."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from specdoctor.lab.boot import Booted, boot
from specdoctor.lab.host import PracticeHost
from specdoctor.lab.lab_state import gpu_holdings, show_plainly
from specdoctor.lab.world import World
from tests.e2e.client import Client
from tests.e2e.practice import SCALE, eventually
from tests.lab.host_world import lives, run_on, text_on

SYMPTOM = "EAGLE-3 does 920 tok/s; without it this machine gave 1770"
TOOLS = Path(sys.executable).parent
SITE = next(path for path in sys.path if path.endswith("site-packages"))
CONFIG = """[unix_http_server]
file={folder}/supervisor.sock
[supervisord]
nodaemon=true
logfile={folder}/supervisord.log
pidfile={folder}/supervisord.pid
[rpcinterface:supervisor]
supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface
[supervisorctl]
serverurl=unix://{folder}/supervisor.sock
[program:qwen]
command={command}
directory={home}
environment=PYTHONPATH="{path}"
autorestart=true
stdout_logfile={home}/qwen.log
redirect_stderr=true
"""


@contextmanager
def stopped_server(folder: Path) -> Iterator[tuple[PracticeHost, Booted, list[str]]]:
    """A practice host whose server has been stopped, with the words that started it."""
    with PracticeHost(World.from_yaml("graphs-off-by-flag"), state_dir=folder, time_scale=SCALE) as host:
        booted = boot(host, wait_s=60)
        assert booted.pid is not None
        pid = booted.pid
        words = (host.state_dir / "proc" / str(pid) / "cmdline").read_text().split("\0")[:-1]
        os.kill(pid, signal.SIGKILL)
        assert eventually(lambda: not lives(pid), within_s=10)
        assert eventually(lambda: not gpu_holdings(host.state_dir), within_s=10), (
            "its ranks hold memory until they have ended"
        )
        yield host, booted, words


def serving(host: PracticeHost, booted: Booted) -> int | None:
    """The process that holds the server's port and says that it is ready."""
    if run_on(host, f"curl -sf http://127.0.0.1:{booted.port}/health").returncode:
        return None
    ready = int((host.state_dir / "run" / "ready").read_text())
    return ready if lives(ready) else None


def await_serving(host: PracticeHost, booted: Booted) -> int:
    assert eventually(lambda: serving(host, booted) is not None, within_s=60)
    pid = serving(host, booted)
    assert pid is not None
    return pid


def target(host: PracticeHost) -> tuple[str, ...]:
    return ("ssh://lab", "--ssh-config", str(host.ssh_config), "--symptom", SYMPTOM, "--allow", "restart")


def test_supervisord_is_left_alone_and_its_own_line_works(tmp_path: Path, client: Client) -> None:
    with stopped_server(tmp_path / "host") as (host, booted, words):
        folder = tmp_path / "supervisor"
        folder.mkdir()
        path = host.environment["PYTHONPATH"]
        text = CONFIG.format(folder=folder, home=host.home, command=shlex.join(words), path=path)
        (folder / "supervisord.conf").write_text(text)
        run = f"PYTHONPATH={shlex.quote(SITE)} exec {host.state_dir}/bin/python3 {TOOLS}"
        control = host.state_dir / "bin" / "supervisorctl"
        control.write_text(f'#!/bin/sh\n{run}/supervisorctl "$@"\n')
        control.chmod(0o755)
        start = f"{run}/supervisord -c {folder}/supervisord.conf"
        daemon = subprocess.Popen(["sh", "-c", start], env=host.environment, stdout=subprocess.DEVNULL)
        try:
            pid = await_serving(host, booted)
            ended = client.run("investigate", *target(host), "--json")
            assert lives(pid), ended.err
            left = ended.document["by_hand"]
            assert left, ended.err
            text_on(host, left[0]["start"])
            assert not lives(pid)
            other = await_serving(host, booted)
            assert (host.state_dir / "proc" / str(other) / "cmdline").read_text().split("\0")[:-1] != words
            os.kill(other, signal.SIGKILL)
            assert not eventually(lambda: serving(host, booted) is not None, within_s=2)
            text_on(host, left[0]["back"].partition("then: ")[2])
            again = await_serving(host, booted)
            assert (host.state_dir / "proc" / str(again) / "cmdline").read_text().split("\0")[:-1] == words
        finally:
            daemon.terminate()
            daemon.wait(20)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")
def test_a_server_in_a_shell_of_tmux_comes_back_to_its_terminal(tmp_path: Path, client: Client) -> None:
    with stopped_server(tmp_path / "host") as (host, booted, words):
        tmux = f"tmux -S {tmp_path}/socket -f /dev/null"
        environment = {**host.environment, "TERM": "xterm"}
        typed = shlex.quote(shlex.join(words))
        begun = f"{tmux} new-session -d -s serve -x 200 -y 50 && {tmux} send-keys -t serve -l {typed}"
        subprocess.run(["sh", "-c", f"{begun} && {tmux} send-keys -t serve Enter"], env=environment, check=True)
        try:
            ids = text_on(host, f"{tmux} display-message -p -t serve '#{{pid}} #{{pane_pid}} #{{pane_tty}}'").split()
            for each in ids[:2]:
                show_plainly(host.state_dir, int(each))
            pid = await_serving(host, booted)
            ended = client.run("investigate", *target(host), "--json")
            assert ended.code == 0, ended.err
            after = await_serving(host, booted)
            restored = [e["outcome"] for e in client.events() if e["kind"] == "server.restored"]
            assert after != pid
            assert all(restored[-1]["equal"].values()), restored[-1]
            assert str(Path(f"/proc/{after}/fd/1").readlink()) == ids[2]
            assert run_on(host, f"{tmux} has-session -t serve").returncode == 0
            report = re.sub(r"\s+", " ", (client.transcripts[0] / "report.md").read_text())
            assert f"kept by tmux (in tmux (pid {ids[0]}), under sh (pid {ids[1]}))" in report
        finally:
            run_on(host, f"{tmux} kill-server")
