"""What a dry run prints of a server in a container: stop, a sibling with the changed words, the way back."""

from __future__ import annotations

import pytest

from specdoctor.core.launch import LaunchChange
from specdoctor.core.ports import Scene
from specdoctor.core.server import Keeper, ServerRef, ServerView
from specdoctor.engines.sglang import engine
from specdoctor.keepers.lines import container_lines
from tests.keepers.test_keepers import facts, server

ARGV = ("python3", "-m", "sglang.launch_server", "--model-path", "/m", "--port", "30000")
OFF = LaunchChange(label="x", set_flags={"--x": ("1",)})


def scene_in(kind: str, known: dict[str, object]) -> Scene:
    keeper = Keeper.model_validate(
        {"kind": kind, "restartable": True, "through": {"kind": kind, "name": "abc"}, "known": known}
    )
    ref = ServerRef(pid=7, start_ticks=1, port=30000)
    return Scene(
        view=ServerView(engine="sglang", state="running", argv=ARGV, ref=ref, keeper=keeper), facts=facts(server(pid=7))
    )


@pytest.mark.parametrize("tool", ["docker", "podman"])
def test_the_stop_the_sibling_and_the_way_back_are_said(tool: str) -> None:
    known: dict[str, object] = {
        "head": ["python3"],
        "taken": 1,
        "name": "srv",
        "image": "sglang:1",
        "options": ["--ipc=host"],
    }
    start, back = container_lines(scene_in(tool, known), engine, OFF)
    stop, _, made = start.partition(" && ")
    assert stop == f"{tool} stop -t 60 srv"
    assert made.startswith(f"{tool} run --detach --name srv-test --ipc=host --entrypoint python3 ")
    assert start.endswith("sglang:1 -m sglang.launch_server --model-path /m --port 30000 --x 1")
    assert back == f"{tool} rm -f srv-test && {tool} start srv"


def test_another_server_has_none() -> None:
    assert container_lines(scene_in("plain", {}), engine, OFF) == ()
    assert container_lines(scene_in("docker", {}), engine, OFF) == ()
