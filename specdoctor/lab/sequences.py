"""Requests inside a server, and the prefix cache they share."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b

from specdoctor.lab.acceptance import Luck
from specdoctor.lab.counters import Histogram
from specdoctor.lab.engine_types import GenRequest, Token
from specdoctor.lab.sample_text import Continuation


@lru_cache(maxsize=512)
def prompt_key(ids: tuple[int, ...]) -> str:
    """A short name of a prompt, the same in every run."""
    digest = blake2b(digest_size=9)
    digest.update(b",".join(str(value).encode() for value in ids))
    return digest.hexdigest()


@dataclass
class Sequence:
    """One request on its way: waiting, in prefill, decoding, done."""

    request: GenRequest
    ids: tuple[int, ...]
    easiness: float
    luck: Luck
    text: Continuation
    limit: int
    """Output tokens at most; `stops` tells whether the text ends there by itself."""
    stops: bool
    arrived_s: float
    cached: int = 0
    prefilled: int = 0
    produced: int = 0
    forward_s: float | None = None
    first_token_s: float | None = None
    last_chunk_s: float = 0.0
    verify_count: int = 0
    correct: int = 0
    histogram: list[int] = field(default_factory=list)

    @property
    def context(self) -> int:
        return len(self.ids) + self.produced

    @property
    def done(self) -> bool:
        return self.produced >= self.limit

    def emit(self, count: int) -> tuple[Token, ...]:
        """Take the next tokens of the text, not beyond the limit."""
        end = min(self.produced + count, self.limit)
        tokens = self.text.tokens(self.produced, end)
        self.produced = end
        return tokens

    def advance_prefill(self, tokens: int, now_s: float, queue_time: Histogram) -> bool:
        """Compute the next tokens of the prompt; whether that was the last of them."""
        if self.forward_s is None:
            self.forward_s = now_s
            queue_time.observe(now_s - self.arrived_s)
        self.prefilled += tokens
        return self.prefilled >= len(self.ids)

    def count_verify(self, accepted: int) -> None:
        self.verify_count += 1
        self.correct += accepted
        self.histogram.extend([0] * (accepted + 1 - len(self.histogram)))
        self.histogram[accepted] += 1


class PrefixCache:
    """Which prefixes of past prompts and answers still lie in the KV pool; oldest texts go first."""

    def __init__(self, capacity_tokens: int) -> None:
        self._capacity = capacity_tokens
        self._texts: OrderedDict[tuple[int, ...], list[int]] = OrderedDict()
        self._prefixes: dict[int, int] = {}
        self.tokens = 0

    def match(self, ids: tuple[int, ...]) -> int:
        """Length of the longest cached prefix."""
        marks = _marks(ids)
        low, high = 0, len(ids)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if marks[middle - 1] in self._prefixes else (low, middle - 1)
        return low

    def add(self, ids: tuple[int, ...], in_use: int = 0) -> None:
        """Remember a text; drop the oldest ones that no longer fit beside `in_use` tokens of running requests."""
        if ids in self._texts:
            self._texts.move_to_end(ids)
            return
        marks = _marks(ids)
        self._texts[ids] = marks
        for mark in marks:
            self.tokens += mark not in self._prefixes
            self._prefixes[mark] = self._prefixes.get(mark, 0) + 1
        while self.tokens > max(self._capacity - in_use, 0) and len(self._texts) > 1:
            self._drop_oldest()

    def clear(self) -> None:
        self._texts.clear()
        self._prefixes.clear()
        self.tokens = 0

    def _drop_oldest(self) -> None:
        _, marks = self._texts.popitem(last=False)
        for mark in marks:
            self._prefixes[mark] -= 1
            if not self._prefixes[mark]:
                del self._prefixes[mark]
                self.tokens -= 1


@lru_cache(maxsize=512)
def _marks(ids: tuple[int, ...]) -> list[int]:
    """One number for each prefix."""
    marks, mark = [], 0
    for value in ids:
        mark = hash((mark, value))
        marks.append(mark)
    return marks
