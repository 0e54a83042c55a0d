"""The session on a terminal, driven by keys in a real tmux, at a small and at a large size."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import Client, under_way
from tests.e2e.practice import PROGRAM, Practice, check_put_back
from tests.e2e.tmux import Tmux

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here"),
]
SYMPTOM = ("--symptom", "slower than without speculation", "--requests", "4")
SIZES = [(80, 24), (200, 50)]
PICTURES = "SESSION_PICTURES"
"""Names a folder in which the screens are drawn, as docs/ shows them."""

Opened = Callable[..., Tmux]


@pytest.fixture
def opened(lab: Practice, client: Client, tmp_path: Path) -> Iterator[Opened]:
    """A session in a tmux of its own, gone with the test."""
    panes: list[Tmux] = []

    def begun(*words: str, columns: int = 80, rows: int = 24, **environment: str) -> Tmux:
        place = tmp_path / f"pane-{len(panes)}"
        panes.append(
            Tmux(
                [str(PROGRAM), "investigate", *words],
                cwd=client.work,
                environment={**client.environment, **environment},
                place=place,
                columns=columns,
                rows=rows,
            )
        )
        return panes[-1]

    yield begun
    for pane in panes:
        pane.close()


def draw(pane: Tmux, name: str, columns: int) -> None:
    """The screen as a picture, where somebody wants one."""
    folder = os.environ.get(PICTURES)
    if not folder:
        return
    import io

    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(pane.coloured.rstrip("\n")))
    console.save_svg(str(Path(folder) / f"session-{name}.svg"), title="specdoctor investigate", unique_id=name)


def check_fits(screen: str, columns: int, rows: int) -> None:
    lines = screen.rstrip("\n").splitlines()
    assert len(lines) <= rows
    assert max(map(len, lines)) <= columns


def kinds(client: Client) -> list[str]:
    return [str(e["kind"]) for e in client.events()]


def the(client: Client, kind: str) -> list[dict[str, Any]]:
    return [e for e in client.events() if e["kind"] == kind]


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_a_whole_session_by_keys(lab: Practice, client: Client, opened: Opened, columns: int, rows: int) -> None:
    found, files = lab.running(), lab.files_at_home()
    pane = opened(*lab.target, *SYMPTOM, columns=columns, rows=rows)

    def shown(name: str, screen: str) -> str:
        check_fits(screen, columns, rows)
        if columns == 80:
            draw(pane, name, columns)
        return screen

    pane.until("Load?  [y] this one")
    pane.enter("/prior H1 2")
    pane.until("must be 1 or less")
    pane.enter("/why H2")
    why = shown("why", pane.until("evidence   E"))
    assert "H2         " in why
    assert "Load?" in why
    pane.enter("y")
    pane.until("measuring")
    pane.press("C-c")
    pane.enter("/note the fans are loud")
    paused = shown("paused", pane.until("paused by"))
    assert "Ctrl-C again puts the server back" in " ".join(paused.split())
    pane.until("note by", everywhere=True)
    deadline = time.monotonic() + 20
    while under_way(client.events()) is not None and time.monotonic() < deadline:
        time.sleep(0.2)
    before = len(the(client, "action.started"))
    time.sleep(3.0)
    assert len(the(client, "action.started")) == before, "a paused run does nothing"
    pane.enter("/go")
    pane.until("Restart?")
    assert the(client, "pause.set")[-1]["paused"] is False
    question = shown("approval", pane.until("  way back  "))
    assert "needs a restart of the server" in question, "all of it is in sight, and what can be answered"
    assert "Restart?  [y] this one" in question
    whole = pane.scrolled
    assert "python3 -m sglang.launch_server" in whole
    assert "  stop      " in question
    for word in (f"kill -TERM {found.pid}", "  down      ", "  way back  ", "  stop      ", "would run"):
        assert word in whole
    assert "[k] all restarts" in " ".join(question.split())
    pane.enter("a")
    listed = shown("list", pane.until("restarting, without speculation"))
    for word in ("H1 supported", "H2 supported", "budget ", "now     launch without speculation", "why: "):
        assert word in listed
    pane.press("/ev", "Tab")
    pane.until("> /evidence")
    pane.press("C-u")
    assert pane.end() == 0
    verdict = shown("verdict", pane.screen)
    assert "server     as it was" in verdict
    assert "verdict    cause: WIRE-1" in pane.scrolled
    check_put_back(lab, found, files)
    assert [(a["granted"], a["scope"]) for a in the(client, "approval.answered")] == [(True, "once"), (True, "run")]
    assert [n["text"] for n in the(client, "note.added") if "fans" in n["text"]] == ["the fans are loud"]


def test_twice_ctrl_c_puts_the_server_back_and_leaves(lab: Practice, client: Client, opened: Opened) -> None:
    found, files = lab.running(), lab.files_at_home()
    pane = opened(*lab.target, *SYMPTOM, "--allow", "restart", NO_COLOR="1")
    pane.until("restarting, without speculation")
    pane.press("C-c")
    pane.until("pausing before the next move")
    pane.press("C-c")
    pane.until("interrupted: putting the server back", everywhere=True)
    assert pane.end() == 130
    assert "Traceback" not in pane.scrolled
    check_put_back(lab, found, files)
    assert client.events()[-1]["kind"] == "run.ended"
    assert "[3" not in pane.coloured, "no colours where nobody wants any"


def test_what_was_said_outlives_a_kill_and_a_paused_run_waits(lab: Practice, client: Client, opened: Opened) -> None:
    found = lab.running()
    pane = opened(*lab.target, *SYMPTOM)
    pane.until("Load?  [y] this one")
    for line in (
        "/prior H2 0.9",
        "/drop H2 later",
        "/run watch seconds=2",
        "with 3 steps it should give 80 tok/s",
        "/pause",
    ):
        pane.enter(line)
    pane.until("paused by")
    (begun,) = the(client, "run.started")
    _kill(client)
    listed = client.run("runs", "--json").document["runs"]
    assert [(row["run"], row["waits"]) for row in listed] == [(begun["run"], f"{begun['by']}: paused")]
    unattended = client.run("investigate", "--resume", client.run_id)
    assert unattended.code == 4
    assert "paused by" in unattended.err
    again = opened("--resume", client.run_id)
    again.until("/go lets it go on")
    assert "Q1 waits for its turn: /run watch" in again.screen
    again.enter("/go")
    again.until("Load?")
    again.enter("n")
    assert again.end() == 3
    asked = [e for e in the(client, "action.started") if e["why"] == "asked for by a person (Q1)"]
    assert len(asked) == 1
    assert lab.running() == found


def test_a_question_about_a_wish_and_quit(lab: Practice, client: Client, opened: Opened) -> None:
    found, files = lab.running(), lab.files_at_home()
    pane = opened(*lab.target, *SYMPTOM, columns=100, rows=40)
    pane.until("Load?  [y] this one")
    pane.enter("k")
    pane.enter("/relaunch draft_steps=5")
    question = pane.until("Restart?  [y] this one")
    assert "5 steps" in pane.scrolled
    assert question
    pane.enter("/quit")
    assert pane.end() == 130
    assert lab.running() == found
    assert lab.files_at_home() == files
    assert "relaunch" not in [e["what"] for e in the(client, "action.started")]


def test_the_first_line_comes_at_once(client: Client) -> None:
    """In processor time, the whole of a command that finds no host: machines that run these tests are busy."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = client.run("investigate", "ssh://127.0.0.1:1", "--symptom", "slow")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert ended.lines[0] == "specdoctor: logging in to ssh://127.0.0.1:1"
    took_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert took_s < 1.0


def test_a_slow_line_is_enough(lab: Practice, client: Client) -> None:
    """Only what changes is sent: a paused session with its clock needs less than a modem of old gave."""
    terminal = client.at_terminal("investigate", *lab.target, *SYMPTOM)
    try:
        terminal.type(b"/pause\r", after="Load?")
        terminal.type(b"", after="paused by")
        time.sleep(2.0)
        sent = terminal.read_for(10.0)
        assert len(sent) < 10 * 300, f"{len(sent)} bytes in 10 s"
        assert b"\x1b[6n" not in sent, "the terminal is asked nothing"
        terminal.type(b"/quit\r", after="paused by")
        assert terminal.end()[0] == 130
    finally:
        if terminal.process.poll() is None:
            terminal.process.kill()


def _kill(client: Client) -> None:
    """kill -9 of the specdoctor that drives the client's run."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                argv = (entry / "cmdline").read_bytes().split(b"\0")
                home = f"HOME={client.home}".encode() in (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if home and b"investigate" in argv and str(PROGRAM).encode() in argv:
                os.kill(int(entry.name), signal.SIGKILL)
