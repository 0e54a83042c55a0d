"""The columns of a long log agree with what is read line by line, and a long log keeps its newest lines."""

from __future__ import annotations

import random
import re

import pytest

from specdoctor.engines import sglang_log
from specdoctor.engines.sglang_log import read_log
from specdoctor.engines.sglang_series import blocks, decode_series, whole_log
from tests.engines.sglang_data import FOLDER

DATA = FOLDER.parent / "sglang-0.5.17"


def drawn(count: int, *, seed: int = 3) -> str:
    """Decode lines with all that may stand between them."""
    source, lines = random.Random(seed), []
    for index in range(count):
        stamp = f"[2026-11-29 18:{index // 60 % 60:02d}:{index % 60:02d}] "
        length = source.uniform(1, 4)
        spec = f"accept len: {length:.2f}, accept rate: {(length - 1) / 3:.2f}, " if index % 10 else ""
        lines.append(
            f"{stamp}Decode batch, #running-req: 2, #token: {index % 50}, token usage: 0.01, {spec}"
            f"cuda graph: True, gen throughput (token/s): {source.uniform(50, 900):.2f}, #queue-req: 0"
        )
        if index % 7 == 0:
            lines.append(f'{stamp}INFO:     127.0.0.1:5 - "POST /generate HTTP/1.1" 200 OK')
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("text", [drawn(400), (DATA / "steps.log").read_bytes().decode()], ids=["drawn", "live"])
@pytest.mark.parametrize("size", [1, 300, 1 << 20])
def test_columns_are_those_of_the_lines(text: str, size: int) -> None:
    pieces = list(blocks(text.encode(), size))
    assert b"".join(pieces) == text.encode()
    assert all(piece.endswith(b"\n") for piece in pieces[:-1])
    found = decode_series(pieces)
    lines = [w for w in read_log(text, where="x").decode if w.tokens]
    spec = [w for w in lines if w.accept_length is not None]
    assert len(spec) >= 5
    assert list(found.accept_length) == [w.accept_length for w in spec]
    assert list(found.accept_rate) == [w.accept_rate for w in spec]
    assert list(found.throughput_tok_s) == [w.throughput_tok_s for w in spec]
    assert list(found.plain_tok_s) == [w.throughput_tok_s for w in lines if w.accept_length is None]


_HEAD = rb"Decode batch[.,] #running-req: \d+, #token: [1-9]\d*, token usage: [\d.]+, "
_TAIL = rb"(?:\w+ graph: \w+, )?gen throughput \(token/s\): (\d+\.\d+)"
PATTERNS = (_HEAD + rb"accept len: (\d+\.\d+), accept rate: (\d+\.\d+), " + _TAIL, _HEAD + _TAIL)
ODD = ("", "0", "9" * 9, ".", "..", "-", " ", "\n", "\r", ":", ", ", "True", "mlx graph: Yes", "1e9", "nan", "\u0663")
ODD += ("\x00", "Decode batch", "Decode batch. ", "accept len: 2.00, ", "123456.78", "1.2345", "12345678.90")


def spoilt(text: str, source: random.Random) -> bytes:
    """Up to 30 places of a text replaced by something odd, and its end cut off."""
    for _ in range(source.randrange(30)):
        at = source.randrange(len(text))
        text = text[:at] + source.choice(ODD) + text[at + source.choice((0, 1, 1, 2, 9)) :]
    return text[: source.randrange(len(text)) or None].encode()


@pytest.mark.parametrize("first", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_many_lines_at_once_give_what_the_pattern_gives(first: int) -> None:
    spec, plain = map(re.compile, PATTERNS)
    seeds = [drawn(60), (DATA / "steps.log").read_bytes().decode()[:9000]]
    for seed in range(12) if not first else range(12, 1000):
        source = random.Random(seed)
        text = spoilt(source.choice(seeds), source)
        found = decode_series(blocks(text, source.choice((1, 500, 1 << 20))))
        rows = [tuple(map(float, row)) for row in spec.findall(text)]
        assert list(zip(found.accept_length, found.accept_rate, found.throughput_tok_s, strict=True)) == rows, seed
        assert list(found.plain_tok_s) == [float(value) for value in plain.findall(text)], seed


def test_a_very_long_log_keeps_its_newest_lines_and_tells_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    text = drawn(600)
    everything = read_log(text, where="x")
    monkeypatch.setattr(sglang_log, "_MAX_DECODE_LINES", 100)
    newest = read_log(text, where="x")
    assert everything.whole is None
    assert len(newest.decode) == 100
    assert newest.decode[1:] == everything.decode[-99:], "of the first one it is not known what stood before"
    assert newest.version_range == everything.version_range
    assert newest.whole == whole_log(text.encode())
    assert newest.whole.lines == len([w for w in everything.decode if w.tokens])
