"""What is told of runs that are over while another one is at work on the same server."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from tests.remote.guards import story
from tests.remote.orders import call, ended, order, refused, relaunch, restored, run_folder
from tests.remote.workplace import FakeServer, Workplace, is_alive, opened, wait_for

pytestmark = pytest.mark.slow


def told_of(place: Workplace, run: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in call(place, cmd="survey")["runs"] if each["run"] == run)
    return found


def left_by_run1(place: Workplace) -> FakeServer:
    """A server that run1 has put back; its guard was killed, and what it left lies there."""
    server = place.start()
    relaunch(place, server)
    assert restored(place, server)["status"] == "restored"
    guard = story(place)["guard"]["pid"]
    os.kill(guard, signal.SIGKILL)
    wait_for(lambda: not is_alive(guard))
    return server


def test_the_story_of_an_old_run_is_past_while_another_one_holds_the_server(place: Workplace) -> None:
    left_by_run1(place)
    assert told_of(place, "run1")["running_is_original"] is True
    now = told_of(place, "run1")["running"]
    begun = call(place, cmd="begin", order=dict(order(now, "b1", set_flags={"--fake-start-s": ["0"]}), run="run2"))
    assert begun.get("error") is None
    path = run_folder(place).parent / "run2" / "action-b1.json"
    wait_for(lambda: '"status": "ready"' in path.read_text())
    old = told_of(place, "run1")
    assert old["running"] is None
    assert old["held_by"].startswith("run run2 of ml@laptop")
    assert told_of(place, "run2")["held_by"] == ""
    said = refused(place, cmd="order-by-hand", run="run1")
    assert said.startswith("held: the server on port")
    assert "run run2 of ml@laptop" in said
    said = refused(place, cmd="order-by-hand", run=None)
    assert said.startswith("held: run run2 is steered by ml@laptop")


def test_a_run_that_says_that_it_ended_can_be_put_back_at_once_and_its_guard_keeps_watching(place: Workplace) -> None:
    server = place.start()
    relaunch(place, server)
    assert told_of(place, "run1")["ended"] is None
    assert refused(place, cmd="order-by-hand", run="run1").startswith("held: run run1 is steered by ml@laptop")
    said = {"exit_code": 5, "words": "the restore failed"}
    left = place.run("contact", {"run": "run1", "ended": said})
    assert 100.0 < left["acts_in_s"] <= 120.0
    told = told_of(place, "run1")
    assert {key: told["ended"][key] for key in said} == said
    assert told["guard"]["alive"] is True
    by_hand = call(place, cmd="order-by-hand", run="run1")
    assert by_hand["action"] == "by-hand-1"
    place.run("contact", {"run": "run1"})
    assert told_of(place, "run1")["ended"] is None, "somebody has taken it up again"
    assert refused(place, cmd="order-by-hand", run="run1").startswith("held: run run1 is steered by ml@laptop")
    place.run("contact", {"run": "run1", "ended": said})
    call(place, cmd="restore", order=by_hand)
    assert ended(place, "by-hand-1")["outcome"]["status"] == "restored"
    assert story(place)["acted_at"] is None, "one of the two has put it back"
    assert call(place, cmd="release", run="run1")["removed"]


def test_the_leases_of_another_test_are_not_seen(place: Workplace, tmp_path_factory: pytest.TempPathFactory) -> None:
    relaunch(place, place.start())
    assert [lease["run"] for lease in call(place, cmd="survey")["leases"]] == ["run1"]
    for other in opened(tmp_path_factory.mktemp("beside")):
        assert call(other, cmd="survey")["leases"] == []


def test_a_server_of_somebody_on_the_port_is_named(place: Workplace) -> None:
    server = left_by_run1(place)
    os.kill(told_of(place, "run1")["running"]["pid"], signal.SIGTERM)
    wait_for(lambda: told_of(place, "run1")["running"] is None)
    assert told_of(place, "run1")["listening"] is None
    other = place.start("--port", str(server.port))
    old = told_of(place, "run1")
    assert (old["running"], old["held_by"]) == (None, "")
    assert old["listening"] in (other.pid, *range(other.pid, other.pid + 50))


def test_a_run_that_has_stopped_nothing_is_not_meant_beside_one_that_has(place: Workplace) -> None:
    left_by_run1(place)
    (run_folder(place).parent / "run0").mkdir(mode=0o700)
    record = (run_folder(place) / "way_back.json").read_text()
    (run_folder(place).parent / "run0" / "way_back.json").write_text(record)
    assert told_of(place, "run0")["stopped"] is False
    assert call(place, cmd="order-by-hand", run=None)["run"] == "run1"
