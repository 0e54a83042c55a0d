"""The guard in what it may find: restorations under way, people, squatters, servers that do not come up."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote.guards import (
    GRACE_S,
    after_the_guard,
    ready_count,
    steered,
    story,
    the_original,
)
from tests.remote.orders import (
    call,
    ended,
    order,
    refused,
    restore_order,
    restored,
    run_folder,
)
from tests.remote.workplace import FAKES, Workplace, is_alive, opened, wait_for


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workplace]:
    yield from opened(tmp_path)


def test_it_keeps_still_while_somebody_is_in_touch(place: Workplace) -> None:
    server = place.start()
    with steered(place, server):
        new = ended(place, "a1")["outcome"]["server"]
        time.sleep(2.5 * GRACE_S)
        assert place.run("contact", {"run": "run1"})["phase"] == "watching"
        assert is_alive(new["pid"])
        call(place, cmd="restore", order=restore_order(server))
        ended(place, "r1")
    assert restored(place, server)["status"] == "restored"


def test_a_restore_that_is_under_way_is_left_to_end(place: Workplace) -> None:
    server = place.start("--fake-start-s", "1.5")
    with steered(place, server):
        ended(place, "a1")
        call(place, cmd="restore", order=restore_order(server))
    told = after_the_guard(place)
    assert told["phase"] == "nothing-to-do"
    assert ready_count(server) == 2, "started once by the restore that was under way, not again"
    the_original(place, server)


def test_it_takes_over_from_a_restore_whose_worker_was_lost(place: Workplace) -> None:
    server = place.start("--fake-start-s", "0.5")
    with steered(place, server):
        ended(place, "a1")
        call(place, cmd="restore", order=restore_order(server))
        path = run_folder(place) / "action-r1.json"
        wait_for(lambda: json.loads(path.read_text())["phase"] == "starting")
        os.kill(json.loads(path.read_text())["worker"]["pid"], signal.SIGKILL)
    assert after_the_guard(place)["phase"] in ("restored", "nothing-to-do")
    the_original(place, server)


def test_a_person_who_put_it_back_is_left_alone(place: Workplace) -> None:
    server = place.start("--fake-start-s", "1.0")
    surroundings = {"PATH": os.environ["PATH"], "PYTHONPATH": str(FAKES), "HOME": str(place.root)}
    with steered(place, server), server.log.open("ab") as log:
        new = ended(place, "a1")["outcome"]["server"]
        os.kill(new["pid"], signal.SIGKILL)
        wait_for(lambda: not is_alive(new["pid"]))
        by_hand = subprocess.Popen(
            server.argv, cwd=place.root, env=surroundings, stdout=log, stderr=log, stdin=subprocess.DEVNULL
        )
    told = after_the_guard(place)
    assert told["phase"] == "nothing-to-do"
    assert "somebody else has started it again" in told["story"][1][1]
    assert the_original(place, server) == by_hand.pid
    by_hand.kill()
    by_hand.wait()


def test_a_port_that_somebody_took_is_left_to_them(place: Workplace) -> None:
    server = place.start()
    with socket.socket() as squatter:
        squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with steered(place, server):
            new = ended(place, "a1")["outcome"]["server"]
            os.kill(new["pid"], signal.SIGKILL)
            wait_for(lambda: not is_alive(new["pid"]))
            squatter.bind(("127.0.0.1", server.port))
            squatter.listen()
        told = after_the_guard(place)
    assert told["phase"] == "left-alone"
    assert str(os.getpid()) in told["reason"]


def test_an_original_that_does_not_come_up_is_tried_again_and_then_said_loudly(place: Workplace) -> None:
    flag = place.root / "broken"
    server = place.start("--fake-fail-if", str(flag))
    with steered(place, server):
        ended(place, "a1")
        flag.touch()
    told = after_the_guard(place)
    assert told["phase"] == "failed"
    assert sum("did not come up" in text for _, text in told["story"]) == 3
    assert told["story"][-1][1].startswith("GIVEN UP: the original is not back")
    assert "ValueError" in told["log"]
    flag.unlink()
    assert restored(place, server)["status"] == "restored"


def test_after_the_guard_acted_nothing_is_begun_before_that_was_seen(place: Workplace) -> None:
    server = place.start()
    with steered(place, server):
        ended(place, "a1")
    seen = after_the_guard(place)["acted_at"]
    now = call(place, cmd="state", run="run1")["running"]
    assert refused(place, cmd="begin", order=order(now, "a2")).startswith("guard-acted: ")
    call(place, cmd="begin", order=order(now, "a2"), guard_seen=seen)
    assert ended(place, "a2")["outcome"]["status"] == "ready"
    assert is_alive(story(place)["guard"]["pid"])
    assert story(place)["before"][0]["acted_at"] == seen
    assert restored(place, server)["status"] == "restored"
    call(place, cmd="release", run="run1")


def test_a_guard_that_was_lost_is_replaced_at_the_next_word(place: Workplace) -> None:
    server = place.start()
    call(place, cmd="begin", order=order(server.ref))
    first = story(place)["guard"]["pid"]
    os.kill(first, signal.SIGKILL)
    ended(place, "a1")
    wait_for(lambda: not is_alive(first))
    assert call(place, cmd="state", run="run1")["guard"]["alive"] is True
    assert story(place)["guard"]["pid"] != first
    assert restored(place, server)["status"] == "restored"
    call(place, cmd="release", run="run1")
