"""A server that the user's own commands stop and start."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.remote.orders import argv_of, call, ended, order, restored
from tests.remote.workplace import FAKES, FakeServer, Workplace, is_alive, loaded

pytestmark = pytest.mark.thorough

SCRIPT = """#!/bin/sh
case $1 in
start)
    shift
    cd {root} && PYTHONPATH={fakes} setsid {python} -m sglang.launch_server "$@" >> {log} 2>&1 < /dev/null &
    echo $! > {root}/pid ;;
stop)
    kill "$(cat {root}/pid)" ;;
status) kill -0 "$(cat {root}/pid)" ;;
esac
"""


def commands(place: Workplace, server: FakeServer) -> dict[str, Any]:
    script = place.root / "serve"
    text = SCRIPT.format(root=place.root, fakes=FAKES, python=server.argv[0], log=server.log)
    script.write_text(text)
    script.chmod(0o755)
    (place.root / "pid").write_text(f"{server.pid}\n")
    return {"start": [str(script), "start", "{args}"], "stop": f"{script} stop", "status": f"{script} status"}


def test_it_is_stopped_and_started_by_them_and_comes_back(place: Workplace) -> None:
    server = place.start("--model-path", "a b; touch marker $(touch marker)")
    keeper = {"kind": "commands", "commands": commands(place, server)}
    asked = {**order(server.ref, set_flags={"--max-running-requests": ["7"]}), "keeper": keeper}
    call(place, cmd="begin", order=asked)
    outcome = ended(place, "a1")["outcome"]
    assert outcome["status"] == "ready", outcome
    assert not is_alive(server.pid)
    assert argv_of(outcome["server"]["pid"]) == [*server.argv, "--max-running-requests", "7"]
    back = restored(place, server)
    assert back["status"] == "restored", back
    assert argv_of(back["server"]["pid"]) == server.argv
    assert back["equal"]["argv"]
    assert back["equal"]["cwd"]
    assert not list(Path(place.root).rglob("marker"))
    os.kill(back["server"]["pid"], 9)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("serve {args} now", ["sh", "-c", "serve --a 'x y' '$(z)' now"]),
        (["serve", "{args}", "now"], ["serve", "--a", "x y", "$(z)", "now"]),
    ],
)
def test_arguments_are_handed_over_as_they_are(command: Any, words: list[str]) -> None:
    driver = loaded("parts.driver_commands")
    assert driver.with_args(command, ["--a", "x y", "$(z)"]) == words
