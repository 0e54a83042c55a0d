"""A run that was killed in its first restart is resumed when its guard has acted, with or without `restore` between."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.e2e.client import Client, Events, under_way
from tests.e2e.practice import Practice, check_put_back, eventually

WORLD = "numa-unbound"
ASKED = ("--symptom", "slower than without speculation", "--allow", "restart", "--requests", "4", "--grace", "8")
ACTED = re.compile(r"its guard put the original back|the original is back")


def restarting(events: Events) -> bool:
    return under_way(events) == "relaunch"


@pytest.mark.parametrize("by_hand", [True, False], ids=["after restore", "after the guard alone"])
@pytest.mark.parametrize("first_up", [True, False], ids=["once it was up", "while no server ran"])
def test_it_goes_on_with_the_server_as_it_was(
    by_hand: bool, first_up: bool, lab_up: Callable[[str], Practice], client: Client
) -> None:
    lab = lab_up(WORLD)
    found, files = lab.running(), lab.files_at_home()
    command = client.start("investigate", *lab.target, *ASKED)
    client.await_events(lambda events: restarting(events) and lab.server() is None, command)
    command.kill()
    if first_up:
        assert eventually(lambda: (now := lab.server()) is not None and now.pid != found.pid, within_s=60.0)
    assert eventually(lambda: bool(ACTED.search(client.run("status", *lab.target).out)), within_s=120.0)
    run = client.run_id
    if by_hand:
        restored = client.run("restore", *lab.target, "--run", run)
        assert restored.code == 0, restored.err
        assert "nothing-to-do" not in restored.err
        again = client.run("restore", *lab.target, "--run", run, "--json")
        assert (again.code, again.document["outcome"], again.document["removed"]) == (0, None, []), again.err
        check_put_back(lab, found, files)
    ended = client.run("investigate", "--resume", run, "--allow", "restart", "--max-restarts", "6", "--json")
    assert ended.code in (0, 3), ended.err
    document = ended.document
    assert document["restored"] is True
    assert document["cost"]["restarts"] >= 2
    launched = [e for e in client.events() if e["kind"] == "server.relaunched"]
    assert launched[0]["outcome"]["status"] == "undone"
    assert launched[0]["spec"] is None
    first = next(e for e in client.events() if e["kind"] == "server.restored")
    assert first["by"] == ("hand" if by_hand else "guard")
    assert any(e["outcome"]["status"] == "ready" for e in launched), "it may be made again"
    check_put_back(lab, found, files)
