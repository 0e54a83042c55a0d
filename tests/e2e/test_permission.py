"""Nothing beyond reading happens without a yes: not without a terminal, not on a no, not in a dry run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator

import pytest

from tests.e2e.client import Client, started
from tests.e2e.practice import KIMI_KEY, Practice, check_put_back
from tests.e2e.terminal import END_OF_INPUT, Terminal

SYMPTOM = ("--symptom", "slower than without speculation")
FEW = ("--requests", "4")


@pytest.fixture
def at_terminal(client: Client) -> Iterator[Callable[..., Terminal]]:
    """Type a command at a terminal, with plain questions; it is ended with the test if it does not end by itself."""
    open_ones: list[Terminal] = []

    def typed(*words: str) -> Terminal:
        open_ones.append(client.at_terminal(*words, "--plain"))
        return open_ones[-1]

    yield typed
    for terminal in open_ones:
        if terminal.process.poll() is None:
            terminal.process.kill()
            terminal.process.wait()


def answers(client: Client) -> list[tuple[bool, str]]:
    return [(e["granted"], e["scope"]) for e in client.events() if e["kind"] == "approval.answered"]


def test_without_terminal_and_permission_it_waits_and_can_go_on(lab: Practice, client: Client) -> None:
    found, files = lab.running(), lab.files_at_home()
    waiting = client.run("investigate", *lab.target, *SYMPTOM, *FEW, "--max-restarts", "2", "--json")
    assert waiting.code == 4, waiting.err
    assert waiting.document["restored"] is None
    going_on = f"specdoctor investigate --resume {client.run_id}"
    assert going_on in waiting.err
    assert lab.running() == found
    assert (started(client.events(), "bench"), started(client.events(), "relaunch")) == (0, 0)
    ended = client.shell(f"{going_on} --allow restart --json", within_s=200.0)
    assert ended.code == 0, ended.err
    assert ended.document["cost"]["restarts"] == 2
    check_put_back(lab, found, files)
    (snapshots,) = [e for e in client.events() if e["kind"] == "action.started" and e["what"] == "snapshot"]
    assert snapshots["action"] == "A1"


def test_answers_at_a_terminal(lab: Practice, client: Client, at_terminal: Callable[..., Terminal]) -> None:
    found, files = lab.running(), lab.files_at_home()
    terminal = at_terminal("investigate", *lab.target, *SYMPTOM, *FEW, "--json")
    assert terminal.answer(b"y\n") == "load"
    assert terminal.answer(b"c\n") == "restart"
    assert terminal.answer(b"n\n") == "restart"
    code, out = terminal.end()
    assert code == 3
    assert out.startswith("{")
    assert "the way back" not in out
    assert f"stop      pid {found.pid}" in terminal.text
    assert f"kill -TERM {found.pid}" in terminal.text
    assert KIMI_KEY not in terminal.text
    assert lab.running() == found
    assert lab.files_at_home() == files
    assert answers(client) == [(True, "once"), (False, "once")]
    assert started(client.events(), "relaunch") == 0


def test_after_a_no_a_resume_asks_for_what_it_was_not_allowed(
    lab: Practice, client: Client, at_terminal: Callable[..., Terminal]
) -> None:
    found, files = lab.running(), lab.files_at_home()
    refusing = at_terminal("investigate", *lab.target, *SYMPTOM, *FEW)
    assert refusing.answer(b"n\n") == "load"
    assert refusing.end()[0] == 3
    resuming = at_terminal("investigate", "--resume", client.run_id, "--allow", "load")
    assert resuming.answer(b"y\n") == "restart"
    code, out = resuming.end()
    assert code == 0
    assert "2 restarts" in out
    assert answers(client) == [(False, "once"), (True, "once")]
    assert (started(client.events(), "relaunch"), started(client.events(), "restore")) == (1, 1)
    check_put_back(lab, found, files)


def test_the_end_of_the_input_is_a_no(lab: Practice, client: Client, at_terminal: Callable[..., Terminal]) -> None:
    found = lab.running()
    terminal = at_terminal("investigate", *lab.target, *SYMPTOM)
    assert terminal.answer(END_OF_INPUT) == "load"
    code, out = terminal.end()
    assert code == 3, terminal.text
    assert "not allowed (terminal)" in out
    assert answers(client) == [(False, "once")]
    assert started(client.events(), "bench") == 0
    assert lab.running() == found


def test_the_investigation_that_the_lab_tells_to_type_as_a_dry_run_changes_nothing(
    lab: Practice, client: Client
) -> None:
    found, files = lab.running(), lab.files_at_home()
    generated = lab.server_log.read_text().count("POST /")
    program, *words = shlex.split(lab.told("investigate"))
    assert program == "specdoctor"
    assert words[-2:] == ["--allow", "restart"]
    ended = client.run(*words, "--dry-run")
    assert ended.code == 3, ended.err
    said = re.sub(r"\s+", " ", ended.err)
    assert "dry run, would do: POST /generate on port" in said
    launches = re.findall(r"would then start \(([^)]+)\): python3 -m sglang.launch_server --model-path \S+", said)
    assert launches == ["without speculation", "15 steps, 16 draft tokens as asked"]
    assert KIMI_KEY not in ended.err + ended.out
    assert {e["risk"] for e in client.events() if e["kind"] == "action.started"} == {0}
    assert lab.running() == found
    assert lab.files_at_home() == files
    assert lab.server_log.read_text().count("POST /") == generated
