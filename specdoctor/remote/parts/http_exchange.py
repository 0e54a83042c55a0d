"""One streamed HTTP request on a socket that never blocks, so that a single thread can look after many of them.

Nothing here waits: whoever drives it waits for the sockets and minds the time, so that neither a server that says
nothing nor one that says a little for ever can hold a benchmark up.
"""

import errno
import selectors
import socket
import ssl
from typing import Any, Callable, Dict, List, Optional, Tuple

from specdoctor.remote.parts.local_http import Endpoint, headers_for

READ_BYTES = 1 << 15
HEAD_LIMIT = 1 << 16
LINE_LIMIT = 1 << 24
WORDS_LIMIT = 2000
BUSY = (errno.EINPROGRESS, errno.EAGAIN, errno.EWOULDBLOCK)
TakeLine = Callable[[bytes, float], None]


class Broken(Exception):
    """The exchange cannot go on; its words are the error of the request."""


def request_bytes(endpoint: Endpoint, path: str, body: bytes) -> bytes:
    """A whole POST request, with the key that the server wants."""
    host = "[%s]" % endpoint.address if ":" in endpoint.address else endpoint.address
    headers = {"Host": "%s:%d" % (host, endpoint.port), "Content-Type": "application/json"}
    headers.update({"Accept": "text/event-stream", "Content-Length": str(len(body))})
    headers.update(headers_for(endpoint.keys[0] if endpoint.keys else None))
    lines = ["POST %s HTTP/1.1" % path, *("%s: %s" % pair for pair in headers.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


class Exchange:
    """From connecting to the last line. `step` after each event of its socket; `done` and `error` tell the end.

    Each line of a body with status 200 goes to `take_line` with the time it was read at. A certificate is not checked:
    the peer is this host.
    """

    def __init__(self, endpoint: Endpoint, request: bytes, take_line: TakeLine) -> None:
        self.done = False
        self.error: Optional[str] = None
        self.status: Optional[int] = None
        self.sock: Any = socket.socket(socket.AF_INET6 if ":" in endpoint.address else socket.AF_INET)
        self.events = selectors.EVENT_WRITE
        self._tls = endpoint.tls
        self._request = memoryview(request)
        self._take_line = take_line
        self._connected = self._shaken = False
        self._rest = b""
        self._line = b""
        self._chunked = False
        self._left: Optional[int] = None
        self.sock.setblocking(False)
        code = self.sock.connect_ex((endpoint.address, endpoint.port))
        if code not in (0, *BUSY):
            self._end("connection: %s" % socket.error(code, errno.errorcode.get(code, str(code))))

    def close(self) -> None:
        self.done = True
        self.sock.close()

    def step(self, now: float) -> None:
        """Do what can be done without waiting. Never raises: an end, good or bad, is told by `done` and `error`."""
        try:
            if not self._connected:
                self._connect()
            if not self._shaken:
                self._shake()
            if len(self._request):
                self._send()
            if not len(self._request):
                self._receive(now)
        except (BlockingIOError, ssl.SSLWantReadError):
            self.events = selectors.EVENT_WRITE if len(self._request) and not self._tls else selectors.EVENT_READ
        except ssl.SSLWantWriteError:
            self.events = selectors.EVENT_WRITE
        except Broken as failure:
            self._end(str(failure))
        except ValueError as failure:
            self._end("server error: %s" % failure)
        except OSError as failure:
            self._end("connection: %s: %s" % (type(failure).__name__, failure))

    def _end(self, error: Optional[str]) -> None:
        self.error = error
        self.close()

    def _connect(self) -> None:
        code = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise Broken("connection: %s: %s" % (errno.errorcode.get(code, str(code)), "the server cannot be reached"))
        self._connected = True
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls:
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            self.sock = context.wrap_socket(self.sock, do_handshake_on_connect=False)

    def _shake(self) -> None:
        if self._tls:
            self.sock.do_handshake()
        self._shaken = True

    def _send(self) -> None:
        while len(self._request):
            self._request = self._request[self.sock.send(self._request) :]
        self.events = selectors.EVENT_READ

    def _receive(self, now: float) -> None:
        while not self.done:
            data = self.sock.recv(READ_BYTES)
            if not data:
                self._closed()
                return
            whole = len(data) < READ_BYTES
            if self.status is None:
                data = self._after_head(data)
            if data and not self.done:
                self._take_body(data, now)
            if whole and not self._tls:
                return  # what is left comes with the next event; TLS may hold some back without one

    def _closed(self) -> None:
        if self.status is None:
            raise Broken("connection: the server closed it before it answered")
        if self.status != 200:
            self._refuse()
            return
        if self._chunked or self._left:
            raise Broken("connection: the server closed it in the middle of an answer")
        self._end(None)

    def _after_head(self, data: bytes) -> bytes:
        """What of `data` belongs to the body; nothing while the headers go on."""
        self._rest += data
        self._take_head()
        if self.status is None:
            return b""
        data, self._rest = self._rest, b""
        return data

    def _take_head(self) -> None:
        head, found, rest = self._rest.partition(b"\r\n\r\n")
        if not found:
            if len(self._rest) > HEAD_LIMIT:
                raise Broken("connection: no end to the headers of the answer")
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        status = first.split(" ")[1] if first.startswith("HTTP/1.") and " " in first else ""
        if not status.isdigit():
            raise Broken("connection: this is no HTTP answer: %.60r" % first)
        self._rest = rest
        if status.startswith("1"):
            self._take_head()
            return
        fields: Dict[str, str] = {}
        for line in lines:
            name, _, value = line.partition(":")
            fields[name.strip().lower()] = value.strip().lower()
        self._chunked = "chunked" in fields.get("transfer-encoding", "")
        length = fields.get("content-length", "")
        self._left = int(length) if length.isdigit() and not self._chunked else None
        self.status = int(status)
        if self._left == 0:
            self._refuse() if self.status != 200 else self._end(None)

    def _take_body(self, data: bytes, now: float) -> None:
        over = False
        if self._chunked:
            data, over = self._unchunked(data)
        elif self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
            over = self._left == 0
        if self.status != 200:
            self._line = (self._line + data)[:WORDS_LIMIT]
            if over or len(self._line) >= WORDS_LIMIT:
                self._refuse()
            return
        *lines, self._line = (self._line + data).split(b"\n")
        if len(self._line) > LINE_LIMIT:
            raise Broken("server error: a line of more than %d bytes" % LINE_LIMIT)
        for line in lines:
            if line:
                self._take_line(line, now)
        if over:
            if self._line:
                self._take_line(self._line, now)
            self._end(None)

    def _unchunked(self, data: bytes) -> Tuple[bytes, bool]:
        """The payload of the whole chunks in hand, and whether the last one was among them."""
        raw = self._rest + data if self._rest else data
        pieces: List[bytes] = []
        at = 0
        while True:
            end = raw.find(b"\r\n", at, at + 64)
            if end < 0:
                break
            size = int(raw[at:end].partition(b";")[0], 16)
            if size == 0:
                self._rest = b""
                return b"".join(pieces), True
            if size > LINE_LIMIT:
                raise Broken("server error: a chunk of %d bytes" % size)
            if len(raw) < end + size + 4:
                break
            pieces.append(raw[end + 2 : end + 2 + size])
            at = end + size + 4
        self._rest = raw[at:]
        return (pieces[0] if len(pieces) == 1 else b"".join(pieces)), False

    def _refuse(self) -> None:
        words = " ".join(self._line.decode("utf-8", "replace").split())[:300]
        self._end("http %s: %s" % (self.status, words))
