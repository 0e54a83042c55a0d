"""A controller that is killed at any moment leaves a host and a run with which the next one comes to the same end."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from tests.e2e.client import Client, Command, Ended, Events, started, under_way
from tests.e2e.practice import KIMI_KEY, Practice, check_put_back

WORLD = "kimi-k2.5-eagle3"
ASKED = ("--symptom", "EAGLE-3 makes it slower than without speculation", "--allow", "restart", "--requests", "6")
IN_THE_MIDDLE_S = 0.7


@dataclass
class Undisturbed:
    """A run that nobody disturbs, under way beside the first tests; its outcome is what theirs must be equal to."""

    practice: Practice
    client: Client
    command: Command
    ended: Ended | None = None

    @property
    def conclusion(self) -> dict[str, Any]:
        if self.ended is None:
            self.ended = self.command.end()
            self.practice.stop()
        assert self.ended.code == 0, self.ended.err
        return conclusion(self.ended.document)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Undisturbed]:
    place = tmp_path_factory.mktemp("undisturbed")
    practice = Practice(WORLD, place / "host").await_up()
    client = Client(place / "client")
    command = client.start("investigate", *practice.target, *ASKED, "--json")
    yield Undisturbed(practice, client, command)
    if command.process.poll() is None:
        command.kill()
    practice.stop()


def conclusion(document: dict[str, Any]) -> dict[str, Any]:
    """What a run found, without the figures and paths that differ from host to host."""
    return {
        "verdict": document["verdict"],
        "causes": sorted((c["cause"], c["status"], c["role"]) for c in document["causes"]),
        # An open rival without a cause rests on a measured gap near its threshold, so it may come or not.
        "hypotheses": sorted(
            (h["cause"] or "", h["status"]) for h in document["hypotheses"] if h["cause"] or h["status"] != "open"
        ),
        "launches": [(m["launch_key"], m["draft_steps"]) for m in document["measurements"] if m["source"] == "bench"],
        "restarts": document["cost"]["restarts"],
        "restored": document["restored"],
        "finished": document["finished"],
    }


Moment = Callable[[Practice, Events], bool]


def while_reading(host: Practice, events: Events) -> bool:
    return under_way(events) == "snapshot"


def in_the_watch(host: Practice, events: Events) -> bool:
    return under_way(events) == "watch" and aged(events)


def in_the_bench_as_found(host: Practice, events: Events) -> bool:
    return under_way(events) == "bench" and started(events, "relaunch") == 0 and aged(events)


def in_the_bench_of_a_test_launch(host: Practice, events: Events) -> bool:
    return under_way(events) == "bench" and started(events, "relaunch") == 1 and aged(events)


def in_a_restart(host: Practice, events: Events) -> bool:
    return under_way(events) == "relaunch" and host.server() is None


def in_the_restore(host: Practice, events: Events) -> bool:
    return under_way(events) == "restore" and host.server() is None


def aged(events: Events) -> bool:
    return time.time() - float(events[-1]["at"]) > IN_THE_MIDDLE_S


@pytest.mark.parametrize(
    "moments",
    [
        (while_reading, in_the_watch, in_the_bench_as_found),
        (in_a_restart,),
        (in_the_bench_of_a_test_launch, in_the_restore),
    ],
    ids=["before any change", "while no server runs", "while a changed server runs, and on the way back"],
)
def test_a_killed_run_comes_to_the_same_end(
    undisturbed: Undisturbed, lab: Practice, client: Client, moments: tuple[Moment, ...]
) -> None:
    if len(os.sched_getaffinity(0)) > 1:
        lab.bind_server({min(os.sched_getaffinity(0))})
    found, files = lab.running(), lab.files_at_home()
    assert KIMI_KEY in found.argv
    words: tuple[str, ...] = (*lab.target, *ASKED)
    for moment in moments:
        command = client.start("investigate", *words)
        client.await_events(partial(moment, lab), command)
        command.kill()
        words = ("--resume", client.run_id)
    ended = client.run("investigate", *words, "--json")
    assert ended.code == 0, ended.err
    assert conclusion(ended.document) == undisturbed.conclusion
    check_put_back(lab, found, files)
    check_each_action_once(client.events(), resumes=len(moments))
    assert client.files_with(KIMI_KEY.encode()) == []


def check_each_action_once(events: Events, *, resumes: int) -> None:
    begun = Counter(e["action"] for e in events if e["kind"] == "action.started")
    ended = Counter(e["action"] for e in events if e["kind"] == "action.ended")
    assert begun == ended
    assert set(begun.values()) == {1}
    launches = [e["change"]["label"] for e in events if e["kind"] == "server.relaunched"]
    assert len(launches) == len(set(launches)) == 2
    kinds = Counter(e["kind"] for e in events)
    assert (kinds["server.restored"], kinds["host.released"]) == (1, 1)
    assert kinds["run.resumed"] == resumes
