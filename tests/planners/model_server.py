"""A model server for tests: HTTP on loopback that speaks the chat completions protocol and answers by a script."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from specdoctor.core.model import Frozen

CHUNK = 512
"""Characters of an answer in one piece of a stream."""
MODES = frozenset({"tools", "schema", "stream", "usage"})


class Reply(Frozen):
    """One answer of the script.

    `arguments` goes out as a tool call where tools were offered, else as text. `retry_after_s` is the header of the
    same name. `cut`: the connection ends in the middle of the answer. `delay_s`: silence before the first byte.
    `endless`: the text is sent again and again until nobody reads any more.
    """

    text: str = ""
    arguments: str | None = None
    tool: str = "propose"
    status: int = 200
    retry_after_s: float | None = None
    delay_s: float = 0.0
    cut: bool = False
    endless: bool = False


def proposing(*proposals: dict[str, Any]) -> Reply:
    """Well-formed proposals."""
    return Reply(arguments=json.dumps({"proposals": list(proposals)}))


class Asked(Frozen):
    """One request as it came in: its headers, body as text, and body as read."""

    headers: dict[str, str]
    raw: str
    body: dict[str, Any]

    @property
    def words(self) -> str:
        """Everything that was said to the model."""
        return "\n".join(str(m.get("content") or "") for m in self.body.get("messages", []))


Script = Callable[[Asked, int], Reply]
"""The answer to a request and its number, counted from 0."""


def in_turn(replies: Sequence[Reply]) -> Script:
    """These answers one after the other, the last one again and again."""
    return lambda asked, number: replies[min(number, len(replies) - 1)]


@dataclass
class ModelServer:
    """Serves while it is entered. `offers` says what it can do: tools, schema (JSON), stream, usage."""

    script: Script
    offers: frozenset[str] = MODES
    asked: list[Asked] = field(default_factory=list)

    def __enter__(self) -> ModelServer:
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"served": self}))
        self._http.daemon_threads = True
        # Short polls: the shutdown of a test waits for one of them.
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(timeout=5)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def refusal(self, body: dict[str, Any]) -> str | None:
        """What of a request this server cannot do, in the words of such servers."""
        if body.get("tools") and "tools" not in self.offers:
            return "tools are not supported by this model"
        if body.get("response_format") and "schema" not in self.offers:
            return "response_format is not supported"
        if body.get("stream") and "stream" not in self.offers:
            return "stream is not supported"
        return None


class _Handler(BaseHTTPRequestHandler):
    served: ModelServer

    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None: ...

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(headers=headers, raw=raw, body=json.loads(raw))
        if self.path != "/v1/chat/completions":
            self._error(404, "no such path")
            return
        number = len(self.served.asked)
        self.served.asked.append(asked)
        refused = self.served.refusal(asked.body)
        if refused is not None:
            self._error(400, refused)
            return
        reply = self.served.script(asked, number)
        time.sleep(reply.delay_s)
        if reply.status != 200:
            self._error(reply.status, reply.text or "scripted failure", reply.retry_after_s)
        elif asked.body.get("stream"):
            self._stream(asked.body, reply)
        else:
            self._whole(asked.body, reply)

    def _error(self, status: int, message: str, retry_after_s: float | None = None) -> None:
        payload = json.dumps({"error": {"message": message, "type": "scripted", "code": None}}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        if retry_after_s is not None:
            self.send_header("Retry-After", f"{retry_after_s:g}")
        self.end_headers()
        self.wfile.write(payload)

    def _whole(self, body: dict[str, Any], reply: Reply) -> None:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text}
        if reply.arguments is not None and body.get("tools"):
            call = {"name": reply.tool, "arguments": reply.arguments}
            message["tool_calls"] = [{"id": "call_0", "type": "function", "function": call}]
        elif reply.arguments is not None:
            message["content"] = reply.text + reply.arguments
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        answer = {**_head(body, "chat.completion"), "choices": [choice]}
        if "usage" in self.served.offers:
            answer["usage"] = usage(body, reply)
        payload = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload[: len(payload) // 2] if reply.cut else payload)
        self.close_connection = self.close_connection or reply.cut

    def _stream(self, body: dict[str, Any], reply: Reply) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for piece in _deltas(body, reply):
                self._event({**_head(body, "chat.completion.chunk"), "choices": [piece]})
            if reply.cut:
                return
            if "usage" in self.served.offers and (body.get("stream_options") or {}).get("include_usage"):
                last = {**_head(body, "chat.completion.chunk"), "choices": [], "usage": usage(body, reply)}
                self._event(last)
            self.wfile.write(b"data: [DONE]\n\n")
        except (BrokenPipeError, ConnectionResetError):
            return  # the reader has had enough

    def _event(self, data: dict[str, Any]) -> None:
        self.wfile.write(b"data: " + json.dumps(data).encode() + b"\n\n")
        self.wfile.flush()


def _head(body: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-0", "object": kind, "created": 0, "model": body.get("model", "")}


def _pieces(reply: Reply, text: str) -> Iterator[str]:
    pieces = [text[i : i + CHUNK] for i in range(0, len(text), CHUNK)]
    if reply.cut:
        pieces = pieces[: max(len(pieces) // 2, 1)]
    yield from pieces
    while reply.endless:
        yield from pieces


def _deltas(body: dict[str, Any], reply: Reply) -> Iterator[dict[str, Any]]:
    """The pieces of a streamed answer: text, then the tool call whose name comes first."""
    as_tool = reply.arguments is not None and bool(body.get("tools"))
    text = reply.text if as_tool or reply.arguments is None else reply.text + reply.arguments
    for piece in _pieces(reply, text):
        yield {"index": 0, "delta": {"content": piece}, "finish_reason": None}
    if as_tool:
        named = {"index": 0, "id": "call_0", "type": "function", "function": {"name": reply.tool, "arguments": ""}}
        yield {"index": 0, "delta": {"tool_calls": [named]}, "finish_reason": None}
        for piece in _pieces(reply, reply.arguments or ""):
            more = {"index": 0, "function": {"arguments": piece}}
            yield {"index": 0, "delta": {"tool_calls": [more]}, "finish_reason": None}
    if not reply.cut:
        yield {"index": 0, "delta": {}, "finish_reason": "tool_calls" if as_tool else "stop"}


def usage(body: dict[str, Any], reply: Reply) -> dict[str, int]:
    """Tokens as such a server would count them: four characters each, the tools' schema included."""
    prompt = len(json.dumps([body.get("messages"), body.get("tools"), body.get("response_format")])) // 4
    answer = (len(reply.text) + len(reply.arguments or "")) // 4
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}
