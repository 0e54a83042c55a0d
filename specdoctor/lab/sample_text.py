"""Token texts that read like text or code, fixed by the prompt: what the pretended model writes."""

from __future__ import annotations

import functools
import random
import re
import zlib
from collections.abc import Iterator

from specdoctor.lab.engine_types import Token

_NOUNS = (
    "server request batch cache queue model token layer kernel schedule buffer weight graph stream worker reply window "
    "prompt answer index table result driver signal record window branch figure report list value test state"
).split()
_VERBS = "reads keeps sends holds starts returns moves shows waits checks splits writes counts takes".split()
_ADJECTIVES = "small large first last second current next short long simple steady early late full empty common".split()
_LINKS = "and but while because so then when before after".split()
_PREPOSITIONS = "in on with from over under for of".split()
_FUNCTIONS = "load parse merge update collect measure split append encode reduce build check".split()
_NEAR_TIE_SHARE = 0.25
_NEAR_TIE_GAP = 0.02
_CODE_HINT = re.compile(r"```|\bdef \w+\(|\bclass \w+|\bimport \w+|[{};]\s*$|=>|\bfunction\b|\bcode\b", re.MULTILINE)
_PIECES = re.compile(r"\s?[A-Za-z]{1,7}|\s?\d{1,3}|\n+|[ \t]+|[^\sA-Za-z\d]")


@functools.lru_cache(maxsize=512)
def looks_like_code(text: str) -> bool:
    """Whether a prompt would be answered with code."""
    return bool(_CODE_HINT.search(text))


@functools.lru_cache(maxsize=65_536)
def token_id(text: str, vocabulary: int) -> int:
    """A stable id for a piece of text, above the first 256 ids."""
    return 256 + zlib.crc32(text.encode("utf-8")) % max(vocabulary - 512, 1)


@functools.lru_cache(maxsize=512)
def tokenize(text: str, vocabulary: int) -> tuple[int, ...]:
    """Split text into about one token per four characters; never empty."""
    return tuple(token_id(piece, vocabulary) for piece in _PIECES.findall(text)) or (256,)


@functools.lru_cache(maxsize=512)
def continuation(key: str, *, code: bool, vocabulary: int, rounding: str, noise: bool = False) -> Continuation:
    """The text that follows the prompt of this key: the same prompts are sent again and again."""
    return Continuation(key, code=code, vocabulary=vocabulary, rounding=rounding, noise=noise)


class Continuation:
    """The text that follows one prompt, token by token, and where it would end by itself.

    In some prompts two next tokens are so near that the rounding of another batch shape decides: from there on the
    text depends on `rounding`. With `noise` it is any tokens at all.
    """

    def __init__(self, key: str, *, code: bool, vocabulary: int, rounding: str, noise: bool = False) -> None:
        rng = random.Random(f"{key}:text")
        self.natural_length = int(min(max(rng.lognormvariate(5.9, 0.5), 24), 4096))
        near_tie = rng.random() < _NEAR_TIE_SHARE
        self._fork = rng.randrange(10, 60) if near_tie else None
        self._forked = random.Random(f"{key}:text:{rounding}")
        self._code = code
        self._noise = noise
        self._vocabulary = vocabulary
        self._pieces = self._write(rng)
        self._written: list[Token] = []

    def _write(self, rng: random.Random) -> Iterator[str]:
        if self._noise:
            return _noise_pieces(rng)
        return _code_pieces(rng) if self._code else _prose_pieces(rng)

    def tokens(self, begin: int, end: int) -> tuple[Token, ...]:
        """Tokens number `begin` (from 0) to `end`, without it."""
        written = self._written
        while len(written) < end:
            if len(written) == self._fork:
                self._pieces = self._write(self._forked)
            piece, place = next(self._pieces), len(written)
            gap = _NEAR_TIE_GAP if place == self._fork else 1.0 + zlib.crc32(f"{piece}{place}".encode()) % 700 / 100.0
            written.append(Token(token_id(piece, self._vocabulary), piece, gap))
        return tuple(written[begin:end])


def _prose_pieces(rng: random.Random) -> Iterator[str]:
    sentences = 0
    while True:
        yield from ("The", " " + rng.choice(_ADJECTIVES), " " + rng.choice(_NOUNS), " " + rng.choice(_VERBS))
        yield from (" the", " " + rng.choice(_NOUNS))
        for _ in range(rng.randrange(3)):
            yield " " + rng.choice(_PREPOSITIONS)
            yield from (" the", " " + rng.choice(_NOUNS))
        if rng.random() < 0.5:
            yield from (
                ",",
                " " + rng.choice(_LINKS),
                " the",
                " " + rng.choice(_NOUNS),
                " " + rng.choice(_VERBS),
                " it",
            )
        sentences += 1
        yield from (".", "\n\n") if sentences % 4 == 0 else (".", " ")


def _code_pieces(rng: random.Random) -> Iterator[str]:
    while True:
        name, argument = rng.choice(_FUNCTIONS), rng.choice(_NOUNS)
        yield from ("def", " " + name, "_" + argument, "(", argument, ",", " limit", "=", str(rng.randrange(1, 99)))
        yield from (")", ":", "\n", "    ")
        for _ in range(rng.randrange(2, 6)):
            left = rng.choice(_NOUNS)
            yield from (left, " =", " " + rng.choice(_FUNCTIONS), "(", rng.choice(_NOUNS), ",", " " + argument, ")")
            yield from ("\n", "    ")
        yield from ("return", " " + argument, "\n\n", "\n")


def _noise_pieces(rng: random.Random) -> Iterator[str]:
    words = (*_NOUNS, *_VERBS, *_FUNCTIONS)
    while True:
        kind = rng.random()
        if kind < 0.04:
            yield "\N{REPLACEMENT CHARACTER}"
        elif kind < 0.4:
            yield "".join(chr(rng.randrange(33, 127)) for _ in range(rng.randrange(1, 5)))
        else:
            yield rng.choice(("", " ")) + rng.choice(words)[: rng.randrange(1, 8)]
