"""Looking on: whose requests are seen, and by which means."""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
from typing import Any

import pytest

from specdoctor.core.measurement import WatchRecord
from tests.remote.workplace import FakeServer, Workplace, loaded, wait_for

pytestmark = pytest.mark.thorough


def watch(place: Workplace, server: FakeServer, seconds: float = 0.3, **changes: Any) -> WatchRecord:
    asked = {"server": server.ref, "seconds": seconds, "log_path": str(server.log), **changes}
    return WatchRecord.model_validate(place.run("watch", asked))


def send(server: FakeServer, text: str = "a longer prompt", path: str = "/generate") -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("POST", path, json.dumps({"text": text, "sampling_params": {"max_new_tokens": 4}}))
    connection.getresponse().read()
    connection.close()


def meanwhile(place: Workplace, action: Any, **changes: Any) -> WatchRecord:
    """Watch a server while `action` is done to it, as soon as its log shows that the watching has begun."""
    server = place.servers[-1]

    def act() -> None:
        wait_for(lambda: "GET /metrics" in server.log.read_text())
        action(server)

    actor = threading.Thread(target=act)
    actor.start()
    record = watch(place, server, 1.5, **changes)
    actor.join()
    return record


def test_a_quiet_server_has_no_foreign_requests(place: Workplace) -> None:
    server = place.start("--enable-metrics")
    record = watch(place, server)
    assert record.foreign_requests == 0
    assert 0.3 <= record.seconds < 10.0
    assert record.means[:2] == ("log", "metrics")
    assert record.metrics_before is not None
    assert record.metrics_after is not None
    assert "POST" not in record.log
    assert "Load weight" not in record.log


@pytest.mark.parametrize("metrics", [True, False])
def test_requests_of_others_are_counted(place: Workplace, metrics: bool) -> None:
    place.start(*["--enable-metrics"] * metrics)

    def two(server: FakeServer) -> None:
        send(server)
        send(server)

    record = meanwhile(place, two)
    assert record.foreign_requests == 2
    assert record.log.count("POST /generate") == 2
    assert (record.metrics_before is not None) is metrics


def test_without_log_and_metrics_the_connections_count(place: Workplace) -> None:
    server = place.start()
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.connect()
    record = watch(place, server, log_path=None)
    connection.close()
    assert record.foreign_requests == 1
    assert record.means == ("connections: 1",)


def test_a_replaced_log_is_read_from_its_start(place: Workplace) -> None:
    place.start()

    def rotate(server: FakeServer) -> None:
        server.log.rename(f"{server.log}.1")
        server.log.write_text('INFO: 10.0.0.1:5 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n')

    assert meanwhile(place, rotate).foreign_requests == 1


def test_refuses_another_server(place: Workplace) -> None:
    server = place.start()
    answer = place.run("watch", {"server": {**server.ref, "pid": os.getpid()}, "seconds": 5, "log_path": None})
    assert answer["error"]["kind"] == "not-the-server"


def test_secrets_in_the_log_are_masked(place: Workplace) -> None:
    place.start("--api-key", "k3y-Very-Private")
    record = meanwhile(place, lambda server: server.log.open("a").write("it is k3y-Very-Private\n"))
    assert "it is ***" in record.log


@pytest.mark.parametrize(
    ("log", "count"),
    [
        ("", 0),
        ("Prefill batch, #new-seq: 1, #new-token: 1, #cached-token: 0, #running-req: 0\n", 0),
        ("Decode batch, #running-req: 1, #token: 0, token usage: 0.00\n", 0),
        ("Prefill batch, #new-seq: 3, #new-token: 90, #cached-token: 0\n", 3),
        ("Prefill batch [7], #new-seq: 1, #new-token: 5, #cached-token: 100\n", 1),
        ("Decode batch, #running-req: 4, #token: 120, token usage: 0.00\n", 4),
        ("0.00.1 I slot launch_slot_: id  0 | task 2 | processing task, is_child = 0\n", 1),
        ("slot launch_slot_: id  3 | task 77 | processing task\n" * 2, 2),
        ('INFO: 10.0.0.1:5 - "GET /health HTTP/1.1" 200 OK\n', 0),
        ('INFO: 10.0.0.1:5 - "POST /v1/completions HTTP/1.1" 200 OK\n', 1),
        ('INFO: 10.0.0.1:5 - "POST /flush_cache HTTP/1.1" 200 OK\n', 0),
    ],
)
def test_requests_in_a_log(log: str, count: int) -> None:
    assert loaded("watch").requests_in_log(log) == count


LLAMA = "llamacpp:tokens_predicted_total {}\nllamacpp:requests_processing 0\n"


def metrics(tokens: int, requests: int, running: int) -> str:
    return (
        f'sglang:generation_tokens_total{{model_name="m"}} {tokens}.0\n'
        f'sglang:num_requests_total{{model_name="m"}} {requests}.0\nsglang:num_running_reqs{{a="b"}} {running}.0\n'
    )


@pytest.mark.parametrize(
    ("before", "after", "count"),
    [
        (metrics(100, 5, 0), metrics(100, 5, 0), 0),
        (metrics(100, 5, 0), metrics(102, 7, 1), 0),
        (metrics(100, 5, 0), metrics(300, 8, 0), 3),
        (metrics(100, 5, 2), metrics(300, 5, 2), 2),
        ("", "", 0),
        (LLAMA.format(9), LLAMA.format(9), 0),
        (LLAMA.format(9), LLAMA.format(20), 1),
    ],
)
def test_requests_in_metrics(before: str, after: str, count: int) -> None:
    assert loaded("watch").requests_in_metrics(before, after) == count


def test_looks_for_as_long_as_asked(place: Workplace) -> None:
    started = time.monotonic()
    watch(place, place.start(), 0.1)
    assert time.monotonic() - started < 5
