from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from specdoctor.core.ledger import Ledger
from specdoctor.core.operations import Progress
from specdoctor.core.ports import Onlooker
from specdoctor.render.live import LiveConsole
from specdoctor.render.plain import PlainConsole, Silence
from tests.render.snapshots import check_snapshot
from tests.render.story import START, story


def play(onlooker: Onlooker, until: int | None = None) -> Ledger:
    ledger = Ledger()
    for event in story()[:until]:
        ledger.apply(event)
        onlooker.event(event, ledger)
    return ledger


def terminal(**options: object) -> tuple[io.StringIO, Console]:
    out = io.StringIO()
    return out, Console(file=out, force_terminal=True, width=80, height=24, **options)  # type: ignore[arg-type]  # passed on


def test_plain_lines() -> None:
    out = io.StringIO()
    console = PlainConsole(stream=out)
    play(console)
    console.close()
    check_snapshot("plain.txt", out.getvalue())
    assert all(len(line) <= 80 for line in out.getvalue().splitlines())


def test_plain_progress_is_written_every_five_seconds_at_most() -> None:
    now = [0.0]
    out = io.StringIO()
    console = PlainConsole(stream=out, clock=lambda: now[0])
    play(console, until=1)
    out.truncate(0)
    out.seek(0)
    for second in range(12):
        now[0] = float(second)
        console.progress("A3", Progress(phase="requests", done=second, total=12, eta_s=12 - second))
    assert out.getvalue().splitlines() == [
        "0:00     A3 requests, 0 of 12, about 12 s left",
        "0:05     A3 requests, 5 of 12, about 7 s left",
        "0:10     A3 requests, 10 of 12, about 2 s left",
    ]


def test_the_live_screen_is_drawn_over_itself_and_stays_at_the_end() -> None:
    out, console = terminal()
    live = LiveConsole(console=console, clock=lambda: START + 60)
    play(live)
    live.progress("A6", Progress(phase="loading weights", done=1, total=2))
    live.close()
    live.close()
    written = out.getvalue()
    assert "\x1b[1A\x1b[2K" in written
    assert written.count("\x1b[?25h") == written.count("\x1b[?25l") == 2
    assert "H1 \x1b[1;31mfalsified\x1b[0m" in written
    last = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written).split("eagle-a   sglang")[-1]
    assert last.endswith("a cause was named\n")


def test_the_live_screen_needs_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    out, console = terminal()
    live = LiveConsole(console=console)
    play(live)
    live.close()
    assert "falsified" in out.getvalue()
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", out.getvalue())


def test_the_live_screen_rests_while_a_question_stands() -> None:
    out, console = terminal()
    live = LiveConsole(console=console)
    asked = next(i for i, e in enumerate(story()) if e.kind == "approval.asked")
    ledger = play(live, until=asked + 1)
    written = out.getvalue()
    assert written.endswith("\x1b[?25h")
    out.write("Restart? y\n")
    ledger.apply(story()[asked + 1])
    live.event(story()[asked + 1], ledger)
    live.close()
    after = out.getvalue().split("Restart? y\n")[1]
    assert "\x1b[2K" not in after.split("eagle-a")[0]
    assert "eagle-a" in after


def test_progress_of_one_action_is_not_shown_under_the_next() -> None:
    out, console = terminal()
    live = LiveConsole(console=console)
    ledger = play(live, until=3)
    live.progress("A1", Progress(phase="reading logs"))
    for event in story()[3:]:
        ledger.apply(event)
        live.event(event, ledger)
        if event.kind == "action.started":
            break
    out.truncate(0)
    out.seek(0)
    live.close()
    assert "reading logs" not in out.getvalue()


def test_silence_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    silence = Silence()
    play(silence)
    silence.progress("A1", Progress(phase="x"))
    silence.close()
    assert capsys.readouterr() == ("", "")
