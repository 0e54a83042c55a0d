"""The parts of a session's screen that need no terminal."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from specdoctor.cli.going_on import going_on_words
from specdoctor.cli.session.desk import QueueDesk
from specdoctor.cli.session.history import KeptHistory
from specdoctor.cli.session.news import news
from specdoctor.cli.session.opening import possible
from specdoctor.cli.session.region import fragments, region
from specdoctor.core import events as ev
from specdoctor.core import person_events as pe
from specdoctor.core.ledger import fold
from specdoctor.core.wishes import Hold
from specdoctor.session.view import View
from tests.render.story import story, until


@pytest.mark.parametrize(("width", "height"), [(79, 17), (132, 42), (40, 10)])
def test_the_region_fits_at_every_moment(width: int, height: int) -> None:
    view = View(width=width)
    for event in story():
        view.take(event)
        lines = region(view, now=event.at, width=width, height=height)
        assert len(lines) <= height + 1
        if view.question is None:
            assert max(len(line.plain) for line in lines) <= width
        told = "".join(text for _, text in fragments(lines))
        assert told.splitlines() == [line.plain for line in lines] or told.endswith("\n")


def test_the_region_says_what_is_waited_for() -> None:
    asked = View(history=until("approval.asked"), width=79)
    words = "\n".join(line.plain for line in region(asked, now=0.0, width=79, height=17))
    assert "[y] this one" in words
    asked.take(pe.PauseSet(paused=True, by="ann@desk"))
    words = "\n".join(line.plain for line in region(asked, now=0.0, width=79, height=17))
    assert "paused by ann@desk: /go lets it go on" in words
    words = "\n".join(line.plain for line in region(asked, now=0.0, width=79, height=17, leaving="putting it back"))
    assert "putting it back" in words
    assert "/go" not in words


def test_news_are_few_and_fit() -> None:
    view, told = View(width=79), []
    for event in story():
        view.take(event)
        told += news(event, view)
    assert max(map(len, told)) <= 79
    assert len(told) < 4 * len(story())
    assert not news(ev.TodoChanged.model_construct(hypothesis="H1", todo="H1.1"), view)


def test_what_was_typed_is_kept_for_its_owner_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "typed"
    history = KeptHistory(path)
    for line in ("/why H1", "the key is --api-key abc123def", "/note password hunter2x", "two\nlines"):
        history.append_string(line)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "abc123def" not in path.read_text()
    assert "hunter2x" not in path.read_text()
    assert list(KeptHistory(path).load_history_strings())[-1] == "/why H1"
    assert list(KeptHistory(tmp_path / "none").load_history_strings()) == []
    KeptHistory(tmp_path / "no" / "folder").store_string("x")


def test_an_empty_chair_keeps_nobody_waiting() -> None:
    desk = QueueDesk(who="ann", say=lambda text: None)
    desk.put(Hold(on=True))
    assert (desk.attended, desk.waiting) == (True, 1)
    assert desk.next(within_s=0.0) == Hold(on=True)
    assert desk.next(within_s=0.01) is None
    desk.close()
    assert not desk.attended


def test_no_session_without_a_terminal() -> None:
    assert not possible(plain=False)


def test_the_last_line_of_an_interrupted_run_says_how_to_go_on() -> None:
    left = ev.RunEnded(exit_code=130, reason="interrupted by the user")
    whole = [e for e in story() if not isinstance(e, ev.RunEnded)]
    run = fold(whole).run
    going_on = f"go on with:  specdoctor investigate --resume {run}"
    early = whole[: next(i for i, e in enumerate(whole) if isinstance(e, ev.ActionStarted) and e.what == "relaunch")]
    assert going_on_words(fold([*early, left])) == f"the server was not changed; {going_on}"
    changed = until("server.relaunched")
    cut_off = f"{going_on} --max-restarts 5"
    assert going_on_words(fold(changed)) == f"the server may NOT be as it was; {cut_off}"
    assert going_on_words(fold([*whole, left])) == f"the server is as it was; {going_on}"
    waits = ev.RunEnded(exit_code=4, reason=f"waits; go on with: specdoctor investigate --resume {run}")
    assert going_on_words(fold([*early, waits])).endswith(going_on)
    assert going_on_words(fold([*whole, ev.RunEnded(exit_code=0, reason="finished")])) == ""
