"""One streamed request, timed by the host's own clock."""

import hashlib
import http.client
import json
import socket
import threading
import time
from typing import Any, Dict, List, Optional, Set

from specdoctor.remote.parts.local_http import Connection, Endpoint, connect, headers_for
from specdoctor.remote.parts.request_forms import counts_of, error_of, finish_of, new_text, request_for, tokens_so_far

LINE_LIMIT = 1 << 24


class Lines:
    """Connections in use, so that a stop can close them all and the server can drop their requests."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self._lock = threading.RLock()
        self._open: Set[Connection] = set()

    def add(self, connection: Connection) -> None:
        with self._lock:
            self._open.add(connection)

    def remove(self, connection: Connection) -> None:
        with self._lock:
            self._open.discard(connection)
        connection.close()

    def close_all(self) -> None:
        self.stop.set()
        with self._lock:
            sockets = [connection.sock for connection in self._open]
        for each in sockets:
            if each is not None:
                try:
                    each.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue


class Answer:
    """What is kept of a stream while it runs: times, the first and last chunks, the text."""

    def __init__(self) -> None:
        self.t_first: Optional[float] = None
        self.t_last: Optional[float] = None
        self.chunks = 0
        self.tokens_first: Optional[int] = None
        self.finish: Optional[str] = None
        self.text = ""
        self._tokens = 0
        self.last: List[Dict[str, Any]] = []

    def take(self, chunk: Dict[str, Any], at: float) -> None:
        """Raises ValueError with the server's words when the chunk is an error."""
        error = error_of(chunk)
        if error:
            raise ValueError(error)
        text, tokens, ids = new_text(chunk), tokens_so_far(chunk), chunk.get("output_ids")
        whole = "text" in chunk and (len(ids) == tokens if ids and tokens else text.startswith(self.text))
        carries = "choices" not in chunk or bool(chunk["choices"])
        fresh = tokens > self._tokens if tokens is not None else text != self.text if whole else bool(text)
        if carries and fresh:
            if self.t_first is None:
                self.t_first, self.tokens_first = at, tokens
            self.t_last = at
            self.chunks += 1
            self._tokens = tokens or 0
        if carries:
            self.text = text if whole else self.text + text
        self.finish = finish_of(chunk) or self.finish
        if self.finish or chunk.get("usage"):
            self.last.append(chunk)


def _read(response: http.client.HTTPResponse, connection: Connection, answer: Answer, deadline: float) -> None:
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise socket.timeout()
        if connection.sock is not None:
            connection.sock.settimeout(left)
        line = response.readline(LINE_LIMIT)
        if not line:
            return
        line = line.strip()
        if line == b"data: [DONE]":
            return
        if line.startswith(b"data:"):
            answer.take(json.loads(line[5:].decode("utf-8")), time.monotonic())


def _attempt(
    endpoint: Endpoint, path: str, body: Dict[str, Any], answer: Answer, timeout_s: float, lines: Lines
) -> Optional[str]:
    """None when the answer came whole, else the error: its kind, then its words."""
    deadline = time.monotonic() + timeout_s
    connection = connect(endpoint, timeout_s)
    lines.add(connection)
    key = endpoint.keys[0] if endpoint.keys else None
    try:
        payload = json.dumps(body).encode("ascii")
        connection.request("POST", path, payload, dict(headers_for(key), **{"Content-Type": "application/json"}))
        response = connection.getresponse()
        if response.status != 200:
            words = response.read(2000).decode("utf-8", "replace")
            return "http %d: %s" % (response.status, " ".join(words.split())[:300])
        _read(response, connection, answer, deadline)
        return None if answer.finish else "broken stream: it ended without a finish reason"
    except socket.timeout:
        return "timeout: no end after %g s" % timeout_s
    except ValueError as failure:
        return "server error: %s" % failure
    except (OSError, http.client.HTTPException) as failure:
        return "connection: %s: %s" % (type(failure).__name__, failure)
    finally:
        lines.remove(connection)


def send_request(
    endpoint: Endpoint, plan: Dict[str, Any], prompt: Dict[str, Any], name: str, extra: Dict[str, Any], lines: Lines
) -> Dict[str, Any]:
    """One RequestRecord as a plain dictionary; failures are told in `error`, never raised."""
    path, body = request_for(plan, prompt["text"], extra)
    answer = Answer()
    record: Dict[str, Any] = {"id": name, "prompt": prompt["id"], "category": prompt["category"]}
    record["t_send"] = time.monotonic()
    error = _attempt(endpoint, path, body, answer, float(plan["request_timeout_s"]), lines)
    if error and lines.stop.is_set():
        error = "stopped: the bench was stopped"
    digest = hashlib.sha256(answer.text.encode("utf-8", "surrogatepass")).hexdigest()[:16] if answer.text else None
    record.update(ok=error is None, error=error, t_first=answer.t_first, t_last=answer.t_last, chunks=answer.chunks)
    record.update(tokens_first_chunk=answer.tokens_first, finish=answer.finish, text_digest=digest)
    record.update(counts_of(answer.last))
    return record
