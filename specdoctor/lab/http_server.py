"""A small HTTP/1.1 server on asyncio streams: keep-alive, JSON bodies, chunked event streams.

One event loop serves every connection, so that a batch of streams costs one wake-up per step rather than one per
client: the steps of the practice server must stay on time while 32 clients listen.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

MAX_HEAD_BYTES = 65536
MAX_BODY_BYTES = 64 * 1024 * 1024
REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    413: "Content Too Large",
    422: "Unprocessable Entity",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


@dataclass(frozen=True)
class HttpRequest:
    """One request, body read in full. Header names are lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    peer: tuple[str, int]

    def json(self) -> Any:
        """The body as JSON. Raises ValueError when it is none."""
        return json.loads(self.body)


@dataclass
class HttpAnswer:
    """Status and body; `stream` instead of `body` is sent chunk by chunk as it comes."""

    status: int = 200
    body: bytes = b""
    content_type: str | None = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    stream: AsyncGenerator[bytes, None] | None = None

    @staticmethod
    def of_json(value: Any, *, status: int = 200) -> HttpAnswer:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return HttpAnswer(status=status, body=text.encode())

    @staticmethod
    def of_text(text: str, *, status: int = 200) -> HttpAnswer:
        return HttpAnswer(status=status, body=text.encode(), content_type="text/plain; charset=utf-8")


Handler = Callable[[HttpRequest], Awaitable[HttpAnswer]]
OnAnswer = Callable[[HttpRequest, int], None]


class HttpServer:
    """Listens on one address and calls `handler` for each request.

    `on_answer` is called when an answer begins (uvicorn writes its access line then). A handler is cancelled when its
    client closes the connection.
    """

    def __init__(self, handler: Handler, on_answer: OnAnswer) -> None:
        self._handler = handler
        self._on_answer = on_answer
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def listen(self, host: str, port: int) -> int:
        """Open the port. Raises OSError, with asyncio's own text, when it is taken."""
        self._server = await asyncio.start_server(self._connected, host, port, limit=MAX_HEAD_BYTES, backlog=256)
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def close(self) -> None:
        """Stop listening and cut every connection."""
        if self._server is not None:
            self._server.close()
        tasks = list(self._connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                while await self._one_exchange(reader, writer):
                    pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _one_exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Read and answer one request; whether the connection stays open."""
        try:
            request = await _read_request(reader, writer)
        except BadHttp as error:
            _write_head(writer, HttpAnswer.of_text(error.text, status=error.status), keep=False)
            writer.write(error.text.encode())
            await writer.drain()
            return False
        if request is None:
            return False
        keep = request.headers.get("connection", "").lower() != "close"
        answer, leftover = await self._answer_unless_gone(request, reader)
        if answer is None:
            return False
        self._on_answer(request, answer.status)
        _write_head(writer, answer, keep=keep)
        if answer.stream is None:
            writer.write(answer.body)
            await writer.drain()
        else:
            await _send_stream(writer, answer.stream)
        return keep and leftover

    async def _answer_unless_gone(
        self, request: HttpRequest, reader: asyncio.StreamReader
    ) -> tuple[HttpAnswer | None, bool]:
        """The handler's answer, or None when the client closed first.

        Watching for the close means reading; a client that sends its next request before it has the answer
        (pipelining) therefore loses the connection after it, which HTTP allows.
        """
        working = asyncio.ensure_future(self._handler(request))
        watching = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
            if watching.done() and not working.done():
                if watching.exception() is not None or watching.result() == b"":
                    return None, False
                await asyncio.wait({working})
            return working.result(), not watching.done()
        finally:
            for task in (working, watching):
                task.cancel()
            await asyncio.gather(working, watching, return_exceptions=True)


class BadHttp(Exception):
    """What came in is no request that can be answered properly."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


async def _read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> HttpRequest | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError:
        raise BadHttp(400, "Request header too large.") from None
    lines = head.decode("latin-1").split("\r\n")
    parts = lines[0].split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise BadHttp(400, "Invalid HTTP request received.")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    if parts[2] == "HTTP/1.0":
        headers.setdefault("connection", "close")
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    target = urlsplit(parts[1])
    return HttpRequest(
        method=parts[0],
        path=unquote(target.path),
        query={name: values[-1] for name, values in parse_qs(target.query).items()},
        headers=headers,
        body=await _read_body(reader, headers),
        peer=tuple(writer.get_extra_info("peername")[:2]),
    )


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return await _read_chunks(reader)
    text = headers.get("content-length", "0")
    if not text.isdecimal():
        raise BadHttp(400, "Invalid HTTP request received.")
    if int(text) > MAX_BODY_BYTES:
        raise BadHttp(413, "Request body too large.")
    return await reader.readexactly(int(text))


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    pieces: list[bytes] = []
    total = 0
    while True:
        text = (await reader.readuntil(b"\r\n")).split(b";")[0].strip()
        try:
            size = int(text, 16)
        except ValueError:
            raise BadHttp(400, "Invalid HTTP request received.") from None
        total += size
        if total > MAX_BODY_BYTES:
            raise BadHttp(413, "Request body too large.")
        if size == 0:
            break
        pieces.append(await reader.readexactly(size))
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass
    return b"".join(pieces)


def _write_head(writer: asyncio.StreamWriter, answer: HttpAnswer, *, keep: bool) -> None:
    lines = [f"HTTP/1.1 {answer.status} {REASONS.get(answer.status, 'Unknown')}", "server: uvicorn"]
    if answer.stream is None:
        lines.append(f"content-length: {len(answer.body)}")
    else:
        lines.append("transfer-encoding: chunked")
    if answer.content_type is not None:
        lines.append(f"content-type: {answer.content_type}")
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    if not keep:
        lines.append("connection: close")
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))


async def _send_stream(writer: asyncio.StreamWriter, stream: AsyncGenerator[bytes, None]) -> None:
    async with contextlib.aclosing(stream):
        async for piece in stream:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
    writer.write(b"0\r\n\r\n")
    await writer.drain()
