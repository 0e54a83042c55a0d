"""The small HTTP server of the practice host, spoken to byte by byte."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from specdoctor.lab.http_server import HttpAnswer, HttpRequest, HttpServer


class Echo:
    """Answers with what it got; remembers which requests were given up."""

    def __init__(self) -> None:
        self.answered: list[tuple[str, int]] = []
        self.given_up = asyncio.Event()

    async def handle(self, request: HttpRequest) -> HttpAnswer:
        if request.path == "/stream":
            return HttpAnswer(content_type="text/event-stream", stream=self._stream())
        if request.path == "/wait":
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                self.given_up.set()
                raise
        return HttpAnswer.of_json({"path": request.path, "query": dict(request.query), "body": request.body.decode()})

    async def _stream(self) -> AsyncGenerator[bytes, None]:
        try:
            yield b"one"
            await asyncio.sleep(0.01)
            yield b"two" * 10
        finally:
            self.given_up.set()

    def note(self, request: HttpRequest, status: int) -> None:
        self.answered.append((request.path, status))


async def exchange(echo: Echo, *pieces: bytes, until: bytes) -> bytes:
    """Send the pieces on one connection and read until the answers hold `until` (or the server hangs up)."""
    server = HttpServer(echo.handle, echo.note)
    port = await server.listen("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    received = b""
    try:
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(0.01)
        while until not in received:
            data = await asyncio.wait_for(reader.read(65536), 5)
            if not data:
                break
            received += data
    finally:
        writer.close()
        await server.close()
    return received


def run(*pieces: bytes, until: bytes) -> tuple[bytes, Echo]:
    async def both() -> tuple[bytes, Echo]:
        echo = Echo()
        return await exchange(echo, *pieces, until=until), echo

    return asyncio.run(both())


def test_a_connection_serves_several_requests() -> None:
    one, two = b"GET /a?x=1 HTTP/1.1\r\nHost: h\r\n\r\n", b"GET /b%20c HTTP/1.1\r\nHost: h\r\n\r\n"
    received, echo = run(one, two, until=b"/b c")
    assert received.count(b"HTTP/1.1 200 OK") == 2
    assert b'{"path":"/a","query":{"x":"1"},"body":""}' in received
    assert echo.answered == [("/a", 200), ("/b c", 200)]


def test_a_body_may_come_in_parts_and_in_chunks() -> None:
    plain = (b"POST /p HTTP/1.1\r\ncontent-length: 6\r\n\r\nabc", b"def")
    assert b'"body":"abcdef"' in run(*plain, until=b"def")[0]
    chunked = (b"POST /p HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3\r\nab", b"c\r\n2;x=y\r\nde\r\n0\r\n\r\n")
    assert b'"body":"abcde"' in run(*chunked, until=b"abcde")[0]


def test_a_client_that_waits_for_continue_gets_it() -> None:
    head = b"POST /p HTTP/1.1\r\ncontent-length: 1\r\nexpect: 100-continue\r\n\r\n"
    received, _ = run(head, b"z", until=b'"body":"z"')
    assert received.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")


def test_a_stream_is_sent_in_chunks() -> None:
    received, _ = run(b"GET /stream HTTP/1.1\r\n\r\n", until=b"0\r\n\r\n")
    assert received.endswith(b"3\r\none\r\n1e\r\n" + b"two" * 10 + b"\r\n0\r\n\r\n")


def test_close_is_respected() -> None:
    received, _ = run(b"GET /a HTTP/1.1\r\nconnection: close\r\n\r\n", until=b"never")
    assert b"connection: close\r\n" in received


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"POST /p HTTP/1.1\r\ncontent-length: many\r\n\r\n", b"400"),
        (b"POST /p HTTP/1.1\r\ncontent-length: 999999999\r\n\r\n", b"413"),
        (b"POST /p HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", b"400"),
    ],
)
def test_what_is_no_request_is_refused(sent: bytes, status: bytes) -> None:
    received, echo = run(sent, until=b"never")
    assert received.startswith(b"HTTP/1.1 " + status)
    assert echo.answered == []


@pytest.mark.parametrize("path", [b"/wait", b"/stream"])
def test_a_client_that_leaves_ends_the_work_for_it(path: bytes) -> None:
    async def leave() -> bool:
        echo = Echo()
        server = HttpServer(echo.handle, echo.note)
        port = await server.listen("127.0.0.1", 0)
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET " + path + b" HTTP/1.1\r\n\r\n")
        await asyncio.sleep(0.02)
        writer.close()
        await asyncio.wait_for(echo.given_up.wait(), 5)
        await server.close()
        return echo.given_up.is_set()

    assert asyncio.run(leave())
