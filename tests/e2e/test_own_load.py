"""A benchmark that a killed run has left is no traffic of users: the next run says whose it is, and how to end it."""

from __future__ import annotations

import re

from tests.e2e.client import Client, Events, under_way
from tests.e2e.practice import Practice, eventually

ASKED = ("--symptom", "EAGLE-3 makes it slower than without speculation", "--allow", "restart")


def in_a_bench(events: Events) -> bool:
    return under_way(events) == "bench"


def test_the_next_run_names_the_benchmark_that_a_killed_one_has_left(
    lab: Practice, client: Client, other: Client
) -> None:
    found = lab.running()
    command = client.start("investigate", *lab.target, *ASKED, "--requests", "4000")
    client.await_events(in_a_bench, command)
    assert eventually(lambda: any(lab.home.rglob("bench-*.json")), within_s=20.0)
    at_work = client.run("status", *lab.target)
    assert at_work.code == 0, at_work.out
    assert f"run {client.run_id} at work" in " ".join(at_work.out.split())
    assert "restore" not in at_work.out
    command.kill()
    ended = other.run("investigate", *lab.target, *ASKED, "--requests", "6", "--max-restarts", "2")
    said = " ".join(ended.err.split())
    assert f"of run {client.run_id} (process" in said, ended.err
    assert "this server is loaded by specdoctor's own benchmark" in said
    assert not [e for e in other.events() if e["kind"] in ("measured", "server.relaunched")]
    assert lab.running().pid == found.pid
    told = client.run("status", *lab.target)
    assert re.search(r"(still )?loads (the|a) server", " ".join(told.out.split()))
    restored = client.run("restore", *lab.target, "--run", client.run_id)
    assert restored.code == 0, restored.err
    after = client.run("status", *lab.target)
    assert after.code == 0, after.err
    assert client.run_id not in after.out
