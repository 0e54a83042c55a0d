"""Standard error whose reader goes away: nothing fails, and it is known."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO

import pytest

from specdoctor.cli.lasting import Lasting, lasting_stderr


@pytest.fixture
def unread() -> Iterator[TextIO]:
    """A text stream into a pipe that nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", buffering=1) as stream:
        yield stream


def test_writing_to_nobody_does_not_fail_and_is_told_once(unread: TextIO) -> None:
    lost: list[str] = []
    lasting = Lasting(unread)
    lasting.when_lost = lambda: lost.append("lost")
    for _ in range(3):
        assert lasting.write("a line\n") == 7
        lasting.flush()
    assert lost == ["lost"]


def test_what_was_still_buffered_does_not_fail_at_the_end() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    stream = os.fdopen(writer, "w")
    lasting = Lasting(stream)
    lasting.write("kept in the buffer")
    lasting.flush()
    stream.close()


def test_what_can_be_written_is_written() -> None:
    below = io.StringIO()
    lasting = Lasting(below)
    lasting.writelines(["a", "b"])
    assert below.getvalue() == "ab"
    assert not lasting.isatty()


def test_standard_error_is_as_before_afterwards() -> None:
    before = sys.stderr
    with lasting_stderr():
        inside = sys.stderr
        with lasting_stderr():
            assert sys.stderr is inside
    assert sys.stderr is before
