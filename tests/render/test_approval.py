"""Asking on a terminal: no answer means no."""

from __future__ import annotations

import io

import pytest

from specdoctor.core.model import Risk
from specdoctor.core.ports import Answer, Batch
from specdoctor.render.approval import NobodyToAsk, TerminalApprover

BATCH = Batch(
    id="B1",
    risk=Risk.RESTART,
    hypotheses=("H1",),
    text="H1 needs one restart.\n\n  stop      pid 7",
    commands=("kill -TERM 7", "python3 -m sglang.launch_server"),
)


def asked(answers: str) -> tuple[Answer | None, str]:
    screen = io.StringIO()
    return TerminalApprover(asked=screen, answers=io.StringIO(answers)).ask(BATCH), screen.getvalue()


@pytest.mark.parametrize(
    ("answers", "granted", "scope"),
    [
        ("y\n", True, "once"),
        ("YES\n", True, "once"),
        ("a\n", True, "run"),
        ("n\n", False, "once"),
        ("\n", False, "once"),
        ("", False, "once"),
        ("perhaps\n", False, "once"),
        ("perhaps\ny\n", True, "once"),
        ("c\nn\n", False, "once"),
    ],
)
def test_only_a_yes_is_a_yes(answers: str, granted: bool, scope: str) -> None:
    answer, _ = asked(answers)
    assert answer == Answer(granted=granted, scope=scope, by="terminal")


def test_the_question_says_all_and_commands_are_shown_when_asked_for() -> None:
    _, screen = asked("c\nn\n")
    assert screen.startswith("\nH1 needs one restart.\n\n  stop      pid 7\n")
    assert screen.count("Restart?  [y] this one  [a] all of this run  [n] no  [c] show commands") == 2
    assert "  kill -TERM 7\n  python3 -m sglang.launch_server\n" in screen
    assert "kill" not in asked("n\n")[1]


def test_without_a_terminal_there_is_no_answer() -> None:
    assert NobodyToAsk().ask(BATCH) is None
