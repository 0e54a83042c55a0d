"""A server with users on it: their own requests are read, none is sent beside them, nothing is stopped under them."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator

import pytest

from tests.e2e.client import Client, started
from tests.e2e.practice import Practice, eventually

SYMPTOM = "EAGLE-3 does 92 tok/s; without it this machine gave 177"
USERS = 2
"""Each has a request under way that is sent and not yet answered."""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Practice]:
    """At its own speed, so that seconds are seconds."""
    host = Practice("live-traffic", tmp_path_factory.mktemp("live") / "host", scale=1.0)
    yield host.await_up()
    host.stop()


def requests_of_users(lab: Practice) -> int:
    """How many requests the world's clients have sent."""
    asked = lab.state / "run" / "asked"
    return asked.stat().st_size if asked.exists() else 0


def generated(lab: Practice) -> int:
    """How many requests for tokens the server's log shows since its start-up warm-up."""
    text = lab.server_log.read_text(encoding="utf-8").partition("ready to roll")[2]
    return len(re.findall(r'"POST /(?:generate|v1/\S+) HTTP', text))


@pytest.mark.parametrize("allow", ["read", "restart"])
def test_the_users_own_requests_are_enough(allow: str, lab: Practice, client: Client) -> None:
    assert eventually(lambda: requests_of_users(lab) > 6, within_s=60)
    found, past = lab.running(), generated(lab) - requests_of_users(lab)
    began = time.monotonic()
    ended = client.run("investigate", *lab.target, "--symptom", SYMPTOM, "--allow", allow, "--json")
    took_s = time.monotonic() - began
    assert ended.code == 3, ended.err
    crowd = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert took_s < 15.0 * crowd
    assert generated(lab) - requests_of_users(lab) <= past + USERS
    measured = [e["measurement"] for e in client.events() if e["kind"] == "measured"]
    assert [m["source"] for m in measured] == ["log"]
    assert measured[0]["accept_length"]["value"] == pytest.approx(2.77, abs=0.25)
    assert measured[0]["step"]["value"] == pytest.approx(30.0, rel=0.15)
    assert measured[0]["concurrency"] == 2
    assert lab.running().pid == found.pid
    assert started(client.events(), "bench") == started(client.events(), "relaunch") == 0
    assert "--with-traffic" in ended.err
