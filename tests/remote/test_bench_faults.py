"""The load generator against servers that misbehave: what fails is counted apart, and nothing holds a bench up."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdoctor.core.measurement import BenchRecord
from tests.remote.workplace import loaded, start_ticks

LOAD = loaded("parts.bench_load")
LOAD.measure.__globals__["BACK_OFF_S"] = 0.01  # how long a refused client waits; these servers need no rest
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def refusal(status: str) -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: 4\r\n\r\nbusy".encode()


def framed(document: dict[str, Any]) -> bytes:
    piece = b"data: " + json.dumps(document).encode() + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(piece), piece)


def chunk(tokens: int, *, last: bool = False, text: str = " w") -> bytes:
    meta = {"prompt_tokens": 3, "completion_tokens": tokens, "finish_reason": {"type": "length"} if last else None}
    return framed({"text": text * tokens, "output_ids": [7] * tokens, "meta_info": meta})


def whole_answer() -> bytes:
    return HEAD + b"".join(chunk(n, last=n == 6) for n in range(1, 7)) + b"0\r\n\r\n"


Talk = Callable[[socket.socket, int], None]


def says(answer: bytes) -> Talk:
    return lambda line, number: line.sendall(answer)


class Misbehaving:
    """A server in threads; `talks[n]` holds the n-th conversation, the last one all that follow."""

    def __init__(self, *talks: Talk) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.talks = talks
        self.count = 0
        self.came = threading.Condition()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def _accept(self) -> None:
        while True:
            try:
                line, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._hold, args=(line,), daemon=True).start()

    def _hold(self, line: socket.socket) -> None:
        with line:
            try:
                head = b""
                while b"\r\n\r\n" not in head:
                    head += line.recv(65536)
                if head.startswith(b"GET"):
                    line.sendall(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")
                    return
                with self.came:
                    number, self.count = self.count, self.count + 1
                    self.came.notify_all()
                self.talks[min(number, len(self.talks) - 1)](line, number)
            except OSError:
                return

    def wait_until(self, count: int) -> None:
        with self.came:
            assert self.came.wait_for(lambda: self.count >= count, timeout=20.0)


@pytest.fixture
def serve() -> Iterator[Callable[..., Misbehaving]]:
    made: list[Misbehaving] = []

    def start(*talks: Talk) -> Misbehaving:
        made.append(Misbehaving(*talks))
        return made[-1]

    yield start
    for server in made:
        server.listener.close()


def plan(**changes: Any) -> dict[str, Any]:
    prompts = [{"id": f"p{index}", "category": "code", "text": f"def f{index}():"} for index in range(3)]
    return {
        "action": "b1",
        "engine": "sglang",
        "model": "fake",
        "prompt_set": {"name": "three", "digest": "0", "prompts": prompts},
        "form": "generate",
        "concurrency": 1,
        "requests": 4,
        "warmup": 0,
        "max_new_tokens": 6,
        "temperature": 0.0,
        "request_timeout_s": 20.0,
        "own_command": [],
        "log_path": None,
        **changes,
    }


def bench_of(server: Misbehaving, **changes: Any) -> Any:
    pid = os.getpid()
    proved = LOAD.ProvedServer(pid, start_ticks(pid), LOAD.Endpoint("127.0.0.1", server.port, False, ()), [])
    return LOAD.Bench(plan(**changes), proved, {}, lambda *told: None)


def measured(bench: Any) -> BenchRecord:
    return BenchRecord.model_validate(LOAD.measure(bench, {"log_settle_s": 0.0, "own_limit_s": 1.0}))


def errors(record: BenchRecord) -> list[str]:
    return [request.error or "" for request in record.requests]


def drip(line: socket.socket, number: int) -> None:
    """Sends a little for ever: a time limit that each byte begins anew would never be reached."""
    line.sendall(HEAD)
    while True:
        line.sendall(b"1\r\n.\r\n")
        time.sleep(0.01)


def slow_head(line: socket.socket, number: int) -> None:
    line.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        line.sendall(b"x")
        time.sleep(0.01)


@pytest.mark.parametrize("talk", [drip, slow_head])
def test_a_server_that_says_a_little_for_ever_runs_into_the_time_limit(
    serve: Callable[..., Misbehaving], talk: Talk
) -> None:
    record = measured(bench_of(serve(says(whole_answer()), talk, says(whole_answer())), request_timeout_s=0.5))
    assert errors(record) == ["", "timeout: no end after 0.5 s", "", ""]
    assert record.stopped is None


def test_what_breaks_is_told_by_its_kind(serve: Callable[..., Misbehaving]) -> None:
    cut = HEAD + chunk(1) + chunk(2)
    unfinished = HEAD + chunk(1) + b"0\r\n\r\n"
    own_words = HEAD + framed({"error": {"message": "out of memory"}}) + b"0\r\n\r\n"
    talks = [says(x) for x in (cut, unfinished, own_words, b"", b"SSH-2.0-x\r\n\r\n", whole_answer())]
    found = errors(measured(bench_of(serve(*talks), requests=6)))
    assert found == [
        "connection: the server closed it in the middle of an answer",
        "broken stream: it ended without a finish reason",
        "server error: out of memory",
        "connection: the server closed it before it answered",
        "connection: this is no HTTP answer: 'SSH-2.0-x'",
        "",
    ]


def test_refused_ones_are_told_by_their_status(serve: Callable[..., Misbehaving]) -> None:
    talks = (says(refusal("429 Too Many Requests")), says(refusal("503 Service Unavailable")), says(whole_answer()))
    found = errors(measured(bench_of(serve(*talks), requests=3)))
    assert found == ["http 429: busy", "http 503: busy", ""]


def test_a_server_that_only_refuses_ends_the_bench(serve: Callable[..., Misbehaving]) -> None:
    bench = bench_of(serve(says(whole_answer()), says(refusal("503 No"))), requests=1000, concurrency=4)
    record = measured(bench)
    assert record.stopped == "8 requests in a row failed, the last one with http 503: busy"
    assert len(record.requests) < 20


def test_a_port_that_nobody_listens_on(serve: Callable[..., Misbehaving]) -> None:
    server = serve(says(whole_answer()))
    bench = bench_of(server, requests=1)
    server.listener.shutdown(socket.SHUT_RDWR)
    server.listener.close()
    bench.server = bench.server._replace(endpoint=bench.server.endpoint._replace(port=1))
    assert errors(measured(bench)) == ["connection: ECONNREFUSED: the server cannot be reached"]


def test_stopped_in_the_middle_leaves_what_was_on_its_way_unfinished(serve: Callable[..., Misbehaving]) -> None:
    gate = threading.Event()

    def hold(line: socket.socket, number: int) -> None:
        bench.stop("stopped by signal 15")
        gate.wait(20.0)

    bench = bench_of(serve(says(whole_answer()), hold), requests=50)
    record = measured(bench)
    gate.set()
    assert record.stopped == "stopped by signal 15"
    assert errors(record) == ["", "stopped: the bench was stopped"]


def test_a_clock_that_is_set_moves_no_time(serve: Callable[..., Misbehaving]) -> None:
    readings = iter([1000.0, 1000.0 - 3600.0])
    clocks = SimpleNamespace(**{**vars(time), "time": lambda: next(readings)})
    measure = LOAD.measure
    whole, measure.__globals__["time"] = measure.__globals__["time"], clocks
    try:
        record = measured(bench_of(serve(says(whole_answer()))))
    finally:
        measure.__globals__["time"] = whole
    assert record.clock_jump_s == pytest.approx(-3600.0, abs=20.0)
    assert record.wall_s is not None
    assert 0 < record.wall_s < 20.0
    assert all(r.t_send <= (r.t_first or 0) <= (r.t_last or 0) for r in record.requests)


def test_an_open_loop_does_not_wait_for_answers(
    serve: Callable[..., Misbehaving], monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[float] = []

    def noted(rate_per_s: float, total: int, begin: float, seed: int) -> list[float]:
        planned.extend(LOAD.arrivals(rate_per_s, total, begin, seed))
        return list(planned)

    monkeypatch.setitem(LOAD.measure.__globals__, "arrivals", noted)

    def all_at_once(line: socket.socket, number: int) -> None:
        server.wait_until(5)
        line.sendall(whole_answer())

    server = serve(all_at_once)
    record = measured(bench_of(server, requests=5, rate_per_s=200.0, seed=3))
    assert errors(record) == [""] * 5
    sent = [request.t_send for request in record.requests]
    assert all(at >= due for at, due in zip(sent, planned, strict=True))


def test_random_arrivals_have_the_rate_that_was_asked_for() -> None:
    found = LOAD.arrivals(8.0, 4001, 100.0, 1)
    assert found[0] == 100.0
    assert found == sorted(found) == LOAD.arrivals(8.0, 4001, 100.0, 1)
    assert (found[-1] - found[0]) / 4000 == pytest.approx(1 / 8.0, rel=0.05)


class Scripted(LOAD.Bench):  # type: ignore[misc, name-defined]  # a class of the joined text
    """A bench whose warm-up requests take the steps that a test says, without a server."""

    def stage(self, stage: str, total: int, first: int = 0) -> list[dict[str, Any]]:
        steps = self.steps[first : first + total]
        answer = {"chunks": 9, "verify_ct": 100, "t_first": 0.0, "tokens_first_chunk": 1}
        return [dict(answer, ok=step > 0, error="http 503", t_last=step / 10) for step in steps]


def warmed(steps: list[float], **changes: Any) -> dict[str, Any]:
    bench = Scripted(plan(**{"warmup": 2, "warmup_most": 8, **changes}), None, {}, lambda *told: None)
    bench.steps = steps
    found: dict[str, Any] = bench.warm_up()
    return found


def test_warm_up_goes_on_until_it_is_warm() -> None:
    slow_start = warmed([95.0, 30.0, 20.3, 20.0, 20.0, 20.0, 20.0, 20.0])
    assert (slow_start["warmup_requests"], slow_start["warmed_up"]) == (4, True)
    assert slow_start["warmup_drift"] == pytest.approx(20.0 / 20.3 - 1)
    assert warmed([20.0, 20.5])["warmup_requests"] == 2


def test_warm_up_that_never_settles_ends_and_says_so() -> None:
    found = warmed([float(step) for step in (90, 80, 70, 60, 50, 40, 30, 20)])
    assert found["warmup_requests"] == 8
    assert found["warmup_drift"] == pytest.approx(-1 / 3)


def test_warm_up_by_rounds_of_many_clients() -> None:
    found = warmed([50.0, 10.0, 12.0, 10.0, 12.0, 10.0, 12.0, 10.0], concurrency=4, warmup=8)
    assert (found["warmup_requests"], found["warmup_drift"]) == (8, 0.0)
    failed = warmed([0.0] * 8)
    assert (failed["warmed_up"], failed["warmup_failed"], failed["warmup_requests"]) == (False, 2, 2)


WORDS = st.text(max_size=30) | st.sampled_from(
    ['"completion_tokens": 999', '\\"completion_tokens": 5', '"error": 1', '"finish_reason": null', "\\"]
)


@given(st.lists(st.tuples(st.integers(1, 16), WORDS), min_size=4, max_size=20), st.booleans())
def test_tokens_are_counted_whatever_the_text_says(steps: list[tuple[int, str]], compact: bool) -> None:
    quick, slow = LOAD.Answer(), LOAD.Answer()
    text, tokens = "", 0
    for index, (more, words) in enumerate(steps):
        text, tokens = text + words, tokens + more
        reason = {"type": "length"} if index == len(steps) - 1 else None
        meta = {"completion_tokens": tokens, "finish_reason": reason}
        document = {"text": text, "output_ids": [1] * tokens, "meta_info": meta}
        raw = json.dumps(document, separators=(",", ":") if compact else None)
        quick.line(b"data: " + raw.encode(), float(index))
        slow.take(document, float(index))
    assert quick.told() == slow.told()
    assert quick.told()["completion_tokens"] == sum(more for more, _ in steps)
    assert quick.gaps == [1.0] * (len(steps) - 1)
    assert quick.most_tokens == max(more for more, _ in steps[1:])
