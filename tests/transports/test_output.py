"""Bounded output and lines as they complete."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdoctor.transports.output import LINE_BOUND_BYTES, Capture, LineFeed


@given(st.lists(st.binary(max_size=20)), st.integers(min_value=0, max_value=60))
def test_a_capture_is_the_beginning_of_the_stream(chunks: list[bytes], bound: int) -> None:
    capture = Capture(bound)
    for chunk in chunks:
        capture.add(chunk)
    whole = b"".join(chunks)
    assert capture.data == whole[:bound]
    assert capture.truncated == (len(whole) > bound)


@given(st.binary(), st.lists(st.integers(min_value=0, max_value=50), max_size=5))
def test_lines_do_not_depend_on_where_chunks_end(stream: bytes, cuts: list[int]) -> None:
    seen: list[str] = []
    feed = LineFeed(seen.append)
    edges = [0, *sorted(cut for cut in cuts if cut <= len(stream)), len(stream)]
    for start, end in itertools.pairwise(edges):
        feed.add(stream[start:end])
    feed.end()
    lines = stream.split(b"\n")
    expected = lines[:-1] + ([lines[-1]] if lines[-1] else [])
    assert seen == [line.removesuffix(b"\r").decode("utf-8", errors="replace") for line in expected]


def test_a_line_is_not_told_before_it_is_complete() -> None:
    seen: list[str] = []
    feed = LineFeed(seen.append)
    feed.add(b"loading 1 of")
    assert seen == []
    feed.add(b" 62\r\nload")
    assert seen == ["loading 1 of 62"]


def test_a_stream_without_lines_does_not_pile_up() -> None:
    seen: list[str] = []
    feed = LineFeed(seen.append)
    for _ in range(3):
        feed.add(b"x" * LINE_BOUND_BYTES)
    assert [len(piece) for piece in seen] == [2 * LINE_BOUND_BYTES]


@pytest.mark.parametrize("stream", [b"", b"no line", b"two\nlines\n"])
def test_nobody_has_to_listen(stream: bytes) -> None:
    feed = LineFeed(None)
    feed.add(stream)
    feed.end()
    assert feed._rest == b""
