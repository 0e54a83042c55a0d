"""Two of them at one run or at one server: the second one steps back, and the first does not notice."""

from __future__ import annotations

import re
import signal

from tests.e2e.client import Client, started, under_way
from tests.e2e.practice import Practice, check_put_back

ASKED = ("--symptom", "slower than without speculation", "--allow", "restart", "--requests", "4", "--max-restarts", "2")


def test_a_run_has_one_driver_and_a_server_one_run(lab: Practice, client: Client, other: Client) -> None:
    found, files = lab.running(), lab.files_at_home()
    first = client.start("investigate", *lab.target, *ASKED, "--json")
    client.await_events(lambda events: under_way(events) == "watch", first)
    twice = client.run("investigate", "--resume", client.run_id, within_s=30.0)
    assert twice.code == 5, twice.err
    assert f"run {client.run_id} is already driven by process {first.process.pid}" in twice.err
    assert "Traceback" not in twice.err

    client.await_events(lambda events: under_way(events) == "bench" and started(events, "relaunch") == 1, first)
    first.process.send_signal(signal.SIGSTOP)
    stranger = other.run("investigate", *lab.target, *ASKED, "--json", within_s=60.0)
    first.process.send_signal(signal.SIGCONT)
    ended = first.end()
    assert ended.code == 0, ended.err
    assert ended.document["restored"] is True
    assert [e["kind"] for e in client.events()].count("run.resumed") == 0
    check_put_back(lab, found, files)

    assert stranger.code == 5, stranger.err
    assert f"a test launch of specdoctor's run {client.run_id}" in re.sub(r"\s+", " ", stranger.err)
    assert stranger.document["cost"]["restarts"] == 0
    assert stranger.document["restored"] is None


def test_a_server_that_a_killed_run_left_changed_is_not_taken_for_an_original(
    lab: Practice, client: Client, other: Client
) -> None:
    found, files = lab.running(), lab.files_at_home()
    killed = client.start("investigate", *lab.target, *ASKED)
    client.await_events(lambda events: under_way(events) == "bench" and started(events, "relaunch") == 1, killed)
    killed.kill()
    left = lab.running()
    assert left.argv != found.argv
    going_on = f"specdoctor investigate --resume {client.run_id}"
    fresh = other.run("investigate", *lab.target, *ASKED, within_s=60.0)
    assert fresh.code == 5, fresh.err
    assert going_on in re.sub(r"\s+", " ", fresh.err)
    looked = other.run("doctor", *lab.target, within_s=30.0)
    assert going_on in re.sub(r"\s+", " ", looked.out)
    assert lab.running() == left
    resumed = client.shell(f"{going_on} --json", within_s=200.0)
    assert resumed.code == 0, resumed.err
    assert resumed.document["restored"] is True
    check_put_back(lab, found, files)
