from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdoctor.core import events as ev
from specdoctor.core.events import Event
from specdoctor.core.hypothesis import TodoItem, TodoStatus
from specdoctor.core.ledger import Ledger, fold
from specdoctor.core.model import Status
from specdoctor.core.operations import Progress
from specdoctor.render.layout import width_of
from specdoctor.render.screen import Step, frame, picture_of
from tests.render.snapshots import check_snapshot
from tests.render.story import hypothesis, story, until


def drawn(ledger: Ledger, *, width: int = 80, height: int = 24, step: Step | None = None) -> list[str]:
    lines = frame(picture_of(ledger), now=ledger.last_at + 5, width=width, height=height, step=step)
    return [line.plain.rstrip() for line in lines]


def restoring() -> tuple[Ledger, Step]:
    ledger = fold(until("action.started", nth=6))
    return ledger, Step(Progress(phase="loading weights", done=62, total=64, eta_s=45), at=ledger.last_at)


def test_the_screen_while_it_restores() -> None:
    ledger, step = restoring()
    check_snapshot("screen-restoring.txt", "\n".join(drawn(ledger, step=step)))


def test_the_screen_on_a_narrow_terminal() -> None:
    check_snapshot("screen-narrow.txt", "\n".join(drawn(fold(until("todo.changed")), width=48, height=20)))


def test_the_screen_on_a_wide_terminal() -> None:
    ledger, step = restoring()
    check_snapshot("screen-wide.txt", "\n".join(drawn(ledger, width=120, step=step)))


def test_the_screen_of_a_run_that_has_just_begun() -> None:
    lines = drawn(fold(story()[:1]))
    assert lines[0] == "eagle-a   server not looked at yet" + " " * 38 + "run 7f3c"
    assert lines[1].startswith("budget    0 of 3 restarts, 0:00 down   traffic not looked at yet")
    assert "no hypothesis yet" in lines


@settings(max_examples=40)
@given(st.integers(0, len(story())), st.integers(40, 140), st.integers(7, 40))
def test_no_line_is_too_wide_and_no_screen_too_high(length: int, width: int, height: int) -> None:
    lines = drawn(fold(story()[:length]), width=width, height=height)
    assert len(lines) <= height
    assert max(width_of(line) for line in lines) <= width


def crowd(decided: int, still_open: int) -> Ledger:
    events: list[Event] = [story()[0]]
    events.append(ev.EvidenceRecorded(evidence="E1", action=None, source="log", summary="x"))
    for number in range(1, decided + still_open + 1):
        todo = (TodoItem(id="T1", content="read it", status=TodoStatus.IN_PROGRESS), TodoItem(id="T2", content="think"))
        h = hypothesis(f"H{number}", "CFG-3", f"claim {number}", todo=todo)
        events.append(ev.HypothesisOpened(hypothesis=h))
        if number <= decided:
            closed = ev.HypothesisClosed(hypothesis=h.id, status=Status.SUPPORTED, because="seen", evidence=("E1",))
            events.append(closed)
    return fold(events)


def test_the_oldest_decided_ones_give_way_first() -> None:
    lines = drawn(crowd(decided=4, still_open=2), height=16)
    assert "earlier: H1 supported, H2 supported" in lines
    assert not any(line.startswith("H2") for line in lines)
    assert any(line.startswith("H3") for line in lines)
    assert "now     read it" in "\n".join(lines)


def test_then_todo_items_give_way_then_the_end_of_the_list() -> None:
    few = drawn(crowd(decided=4, still_open=5), height=12)
    assert "earlier: H1 supported, H2 supported, H3 supported, H4 supported" in few
    assert [line[:2] for line in few if line.startswith("H")] == ["H5", "H6", "H7", "H8", "H9"]
    assert "read it" not in "\n".join(few)
    many = drawn(crowd(decided=0, still_open=30), height=12)
    assert "and 24 more lines; the list is in the transcript" in many


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        (Progress(phase="warming up"), "restoring the original launch   warming up"),
        (Progress(phase="requests", done=3), "restoring the original launch   requests   3 so far"),
        (Progress(phase="waiting", eta_s=3), "restoring the original launch   waiting   longer than estimated"),
        (Progress(phase="\x1b[31mred", eta_s=605), "restoring the original launch   red   about 10:00 left"),
    ],
)
def test_the_progress_line_says_what_of_what(progress: Progress, words: str) -> None:
    ledger, _ = restoring()
    assert drawn(ledger, step=Step(progress, at=ledger.last_at))[-1] == words


def test_what_the_summary_repeats_is_said_once() -> None:
    seen = ev.ServerSeen(
        engine="sglang",
        ref=None,
        state="running",
        version="0.5.12",
        version_range=None,
        summary="sglang 0.5.12, /models/a, 1 step",
        evidence="E1",
    )
    assert drawn(fold([story()[0], seen]))[0].startswith("eagle-a   sglang 0.5.12, running   /models/a, 1 step")


def test_without_progress_the_line_says_how_long_it_has_gone_on() -> None:
    ledger, _ = restoring()
    assert drawn(ledger)[-1] == "restoring the original launch   for 0:05"


def test_escape_sequences_of_the_host_do_not_reach_the_screen() -> None:
    events = story()[:1]
    events.append(
        ev.ServerSeen(
            engine="sg\x1b[2Jlang",
            ref=None,
            state="down",
            version="0.5\u202e",
            version_range=None,
            summary="model\x07\nname",
            evidence="E1",
        )
    )
    events.append(ev.HypothesisOpened(hypothesis=hypothesis("H1", "CFG-3", "claim \x1b]0;x\x07 here")))
    text = "\n".join(drawn(fold(events)))
    assert "sglang 0.5, down   model name" in text
    assert "claim here" in text
    assert "\x1b" not in text
