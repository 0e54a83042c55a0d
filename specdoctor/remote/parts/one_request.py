"""One streamed request, timed by the host's monotonic clock: what is asked, and what is kept of the answer."""

import hashlib
import json
import re
import time
from typing import Any, Dict, List, Optional

from specdoctor.remote.parts.http_exchange import Exchange, request_bytes
from specdoctor.remote.parts.local_http import Endpoint
from specdoctor.remote.parts.request_forms import counts_of, error_of, finish_of, new_text, request_for, tokens_so_far
from specdoctor.remote.parts.token_choices import Choice, choices_of, joined

COUNT_KEY = b'"completion_tokens":'
FINISH_KEY = b'"finish_reason":'
NUMBER = re.compile(rb" ?(\d+)")
SURE_AFTER = 3
LONGEST_KEPT = 8000


def after_key(line: bytes, key: bytes) -> int:
    """Where the value of a key begins, looked for from the end; -1 where there is none.

    A quote inside a JSON string has a backslash before it, so what is found is a key and no word of the generated text.
    """
    at = line.rfind(key)
    return -1 if at < 1 or line[at - 1 : at] == b"\\" else at + len(key)


class Answer:
    """What is kept of a stream while it runs: times, gaps, the first and last chunks, the text.

    Chunks that repeat the whole text so far with a count beside it are not decoded one by one, once the first few have
    shown that the server sends such: only their count and time matter, and the last one holds everything.
    """

    def __init__(self, keep: str = "") -> None:
        self.keep = keep
        self.choices: List[Choice] = []
        self.t_first: Optional[float] = None
        self.t_last: Optional[float] = None
        self.chunks = 0
        self.tokens_first: Optional[int] = None
        self.most_tokens = 0
        self.gaps: List[float] = []
        self.finish: Optional[str] = None
        self.text = ""
        self.over = False
        self._tokens = 0
        self._repeats = 0
        self.last: List[Dict[str, Any]] = []

    def line(self, line: bytes, at: float) -> None:
        """One line of the stream. Raises ValueError with the server's words when it tells an error."""
        if not line.startswith(b"data:"):
            return
        if self._repeats >= SURE_AFTER and self.keep != "choices" and self._counted(line, at):
            return
        data = line[5:].strip()
        if data == b"[DONE]":
            self.over = True
            return
        try:
            chunk = json.loads(data.decode("utf-8"))
        except ValueError as failure:
            raise ValueError("a chunk that is no JSON: %.60r" % data) from failure
        if isinstance(chunk, dict):
            self.take(chunk, at)

    def _counted(self, line: bytes, at: float) -> bool:
        """Take a chunk by its count alone; False where it has to be read: the last one, an error, no count."""
        place, finish = after_key(line, COUNT_KEY), after_key(line, FINISH_KEY)
        if place < 0 or finish < 0 or not line.startswith((b"null", b" null"), finish) or b'"error"' in line:
            return False
        count = NUMBER.match(line, place)
        if count is None:
            return False
        tokens = int(count.group(1))
        if tokens > self._tokens:
            self._fresh(tokens, at)
        return True

    def _fresh(self, tokens: Optional[int], at: float) -> None:
        if self.t_last is None:
            self.t_first, self.tokens_first = at, tokens
        else:
            self.gaps.append(at - self.t_last)
            if tokens is not None:
                self.most_tokens = max(self.most_tokens, tokens - self._tokens)
        self.t_last = at
        self.chunks += 1
        self._tokens = tokens or 0

    def take(self, chunk: Dict[str, Any], at: float) -> None:
        """Raises ValueError with the server's words when the chunk is an error."""
        error = error_of(chunk)
        if error:
            raise ValueError(error)
        text, tokens, ids = new_text(chunk), tokens_so_far(chunk), chunk.get("output_ids")
        whole = "text" in chunk and (len(ids) == tokens if ids and tokens else text.startswith(self.text))
        carries = "choices" not in chunk or bool(chunk["choices"])
        fresh = tokens > self._tokens if tokens is not None else text != self.text if whole else bool(text)
        self._repeats = self._repeats + 1 if whole and tokens is not None else 0
        if carries and fresh:
            self._fresh(tokens, at)
        if carries:
            self.text = text if whole else self.text + text
        if self.keep == "choices":
            self.choices = joined(self.choices, choices_of(chunk), tokens)
        self.finish = finish_of(chunk) or self.finish
        if self.finish or chunk.get("usage"):
            self.last.append(chunk)

    def told(self) -> Dict[str, Any]:
        """The answer's part of a RequestRecord."""
        text = self.text.encode("utf-8", "surrogatepass")
        gaps = sorted(self.gaps)
        found: Dict[str, Any] = {
            "t_first": self.t_first,
            "t_last": self.t_last,
            "chunks": self.chunks,
            "tokens_first_chunk": self.tokens_first,
            "most_tokens_chunk": self.most_tokens or None,
            "finish": self.finish,
            "text_digest": hashlib.sha256(text).hexdigest()[:16] if text else None,
            "gap_p50_ms": 1000.0 * gaps[len(gaps) // 2] if gaps else None,
            "gap_p99_ms": 1000.0 * gaps[min(len(gaps) - 1, int(0.99 * len(gaps)))] if gaps else None,
            "gap_max_ms": 1000.0 * gaps[-1] if gaps else None,
        }
        found.update(counts_of(self.last))
        if self.keep:
            found.update(text=self.text[:LONGEST_KEPT], choices=self.choices)
        return found


class Request:
    """One request on its way: the exchange, what came of it so far, and when it is given up."""

    def __init__(
        self, endpoint: Endpoint, plan: Dict[str, Any], prompt: Dict[str, Any], name: str, extra: Dict[str, Any]
    ) -> None:
        self.name = name
        self.prompt = prompt
        self.answer = Answer(str(plan.get("keep") or ""))
        self._timeout_s = float(plan["request_timeout_s"])
        path, body = request_for(plan, prompt["text"], extra)
        sent = request_bytes(endpoint, path, json.dumps(body).encode("ascii"))
        self.t_send = time.monotonic()
        self.deadline = self.t_send + self._timeout_s
        self.exchange = Exchange(endpoint, sent, self.answer.line)

    def step(self, now: float) -> None:
        self.exchange.step(now)
        if self.answer.over and not self.exchange.done:
            self.exchange.close()

    def give_up(self, stopped: bool) -> None:
        """End it unfinished: it ran out of its time, or the whole bench was stopped."""
        self.exchange.close()
        why = "stopped: the bench was stopped" if stopped else "timeout: no end after %g s" % self._timeout_s
        self.exchange.error = why

    def record(self) -> Dict[str, Any]:
        """The RequestRecord; failures are told in `error`, never raised."""
        error = self.exchange.error
        if error is None and not self.answer.finish:
            error = "broken stream: it ended without a finish reason"
        record = {"id": self.name, "prompt": self.prompt["id"], "category": self.prompt["category"]}
        return dict(record, t_send=self.t_send, ok=error is None, error=error, **self.answer.told())
