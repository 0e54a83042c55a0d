"""Who keeps a practice server alive when it is not a plain process: a container's shim, or the service manager.

A record under `run/keeper.json` says what to run and what happened; the programs `docker` and `systemctl` of the host
read it, and leave their wish (`wanted`) in it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from specdoctor.lab.lab_state import show_plainly, start_ticks, write_atomically

POLL_S = 0.05
SYSTEMD_DELAY_S = 5.0


def record_path(state: Path) -> Path:
    return state / "run" / "keeper"


def read_record(state: Path) -> dict[str, Any]:
    """What the keeper runs and how it stands. Raises FileNotFoundError on a host without a keeper."""
    record: dict[str, Any] = json.loads(record_path(state).read_text(encoding="utf-8"))
    return record


def change_record(state: Path, **changes: Any) -> None:
    write_atomically(record_path(state), json.dumps({**read_record(state), **changes}))


def start_keeper(
    state: Path,
    *,
    title: str,
    policy: str,
    delay_s: float,
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    log: Path,
    paths: Sequence[str],
) -> None:
    """Start the keeper in the background; it starts the server."""
    record = {"policy": policy, "delay_s": delay_s, "argv": list(argv), "env": dict(env), "cwd": str(cwd)}
    more = {"log": str(log), "title": title, "wanted": "up", "pid": None, "restarts": 0, "exit_code": None}
    write_atomically(record_path(state), json.dumps({**record, **more}))
    program = (
        f"import sys; sys.path[:0] = {list(paths)!r}\nfrom specdoctor.lab.keeper import keep\nkeep({str(state)!r})\n"
    )
    process = subprocess.Popen(
        [title or "keeper"],
        executable=Path(sys.executable).resolve(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**env, "PYTHONHOME": sys.base_prefix},
        start_new_session=True,
    )
    assert process.stdin is not None
    process.stdin.write(program.encode())
    process.stdin.close()


def keep(state_text: str) -> None:
    """Run the server again whenever it ends, as the policy says; while `wanted` is down, wait."""
    state = Path(state_text)
    if read_record(state)["title"]:
        show_plainly(state, os.getpid())
    while True:
        record = read_record(state)
        if record["wanted"] != "up":
            time.sleep(POLL_S)
            continue
        exit_code = _run_once(state, record)
        if read_record(state)["wanted"] != "up":
            continue
        if record["policy"] == "no" or (record["policy"] == "on-failure" and exit_code == 0):
            change_record(state, wanted="down")
            continue
        time.sleep(record["delay_s"])
        change_record(state, restarts=record["restarts"] + 1)


def _run_once(state: Path, record: Mapping[str, Any]) -> int:
    with Path(record["log"]).open("ab") as log:
        child = subprocess.Popen(
            record["argv"],
            env=record["env"],
            cwd=record["cwd"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    change_record(state, pid=child.pid, started_at=time.time())
    exit_code = child.wait()
    change_record(state, pid=None, exit_code=exit_code)
    return exit_code


def stop_kept(state: Path, *, grace_s: float) -> None:
    """Ask the kept server to end, kill it when it does not, and keep it down."""
    change_record(state, wanted="down")
    pid = read_record(state)["pid"]
    if pid is None or start_ticks(pid) is None:
        return
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while start_ticks(pid) is not None:
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            deadline += grace_s
        time.sleep(POLL_S)
