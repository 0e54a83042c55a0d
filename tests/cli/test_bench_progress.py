"""What a block of a benchmark says of itself while it runs."""

from __future__ import annotations

import io

from specdoctor.cli.bench_progress import BlockProgress
from specdoctor.core.operations import Progress
from specdoctor.operations.jobs import _progress

STEP = Progress(phase="measure", done=3, total=12, eta_s=27.2, tok_s=57.31)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, times: list[float]) -> str:
    """A block that begins at 0 s, with a step at each of these times."""
    now = [0.0]
    told = BlockProgress(stream=stream, clock=lambda: now[0])
    told.block("block 1 of 2")
    for now[0] in times:
        told.step(STEP)
    told.end()
    return stream.getvalue()


def test_a_short_block_says_nothing() -> None:
    assert shown(io.StringIO(), [0.5, 1.9]) == "block 1 of 2\n"


def test_a_longer_one_says_requests_speed_and_time_left_now_and_then() -> None:
    line = "  measure, 3 of 12, 57.31 tok/s so far, about 27 s left\n"
    assert shown(io.StringIO(), [1.0, 2.1, 3.0, 6.9, 7.2]) == "block 1 of 2\n" + 2 * line


def test_on_a_terminal_one_line_changes_and_is_taken_away() -> None:
    text = shown(Terminal(), [2.1, 2.4])
    assert text.count("\n") == 1
    assert text.count("\r  measure, 3 of 12") == 2
    assert text.endswith(" \r")


def test_the_time_left_follows_the_pace_of_the_present_stage() -> None:
    state = {"stage": "measure", "done": 4, "total": 12, "passed_s": 8.0, "tokens": 400.0}
    found = _progress(state, 60.0)
    assert (found.eta_s, found.tok_s) == (16.0, 50.0)
    older = _progress({"stage": "measure", "done": 4, "total": 12}, 60.0)
    assert (older.eta_s, older.tok_s) == (120.0, None)
