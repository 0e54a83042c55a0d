"""What a login script prints is kept apart from what the command says."""

from __future__ import annotations

import pytest

from specdoctor.transports.reply import NOISE_BOUND_BYTES, Reply, not_begun

MARK = "sd-begun-00ff"


def taken(out: list[bytes], err: list[bytes], *, most: int = 100, lines: list[str] | None = None) -> Reply:
    reply = Reply(MARK, max_output_bytes=most, on_line=None if lines is None else lines.append)
    for chunk in out:
        reply.out(chunk)
    for chunk in err:
        reply.err(chunk)
    reply.end()
    return reply


def in_pieces(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    "noise", [b"", b"Welcome!\n", b"no end of line", b"sd-begun-\nsd-begun-00fe\n", b"\0\xff\n" * 50]
)
def test_noise_before_the_mark_is_no_output(noise: bytes, size: int) -> None:
    lines: list[str] = []
    mark = MARK.encode()
    reply = taken(
        in_pieces(noise + mark + b"\nout\n" + mark + b"\n", size),
        in_pieces(noise + mark + b" 4711\nerr\nlast", size),
        lines=lines,
    )
    outcome = reply.outcome(0)
    assert (outcome.stdout, outcome.stderr) == (b"out\n" + mark + b"\n", b"err\nlast")
    assert lines == ["err", "last"]
    assert (outcome.begun, reply.pid) == (True, 4711)


def test_the_bound_counts_for_the_output_alone() -> None:
    outcome = taken([b"n" * 1000, f"{MARK}\n".encode(), b"12345"], [], most=5).outcome(0)
    assert (outcome.stdout, outcome.truncated) == (b"12345", False)


def test_endless_noise_is_kept_within_bounds() -> None:
    reply = taken([b"n" * 1000 for _ in range(100)], [])
    outcome = reply.outcome(1)
    assert not outcome.begun
    assert len(outcome.noise) == NOISE_BOUND_BYTES
    assert outcome.stdout == b""


def test_a_host_that_runs_something_else_is_quoted() -> None:
    outcome = taken([b"This account is currently not available.\n"], []).outcome(1)
    error = not_begun("eagle", "`cat` (1 argument)", outcome)
    assert error.message == (
        "eagle: the host did not run `cat` (1 argument) but something else (exit 1); "
        "it said: This account is currently not available."
    )
    assert "SSH_ORIGINAL_COMMAND" in error.next_step
