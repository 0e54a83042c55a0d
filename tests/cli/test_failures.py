"""Every way to fail: its message, its exit code, and no traceback unless it is our own fault."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from specdoctor.cli.failures import Guarded, hung_up, message
from specdoctor.cli.output import print_text
from specdoctor.core import errors
from tests.cli.conftest import Command


def failing(error: BaseException) -> typer.Typer:
    app = typer.Typer(cls=Guarded, rich_markup_mode=None, pretty_exceptions_enable=False)

    @app.callback()
    def root() -> None:
        """A command line that fails."""

    @app.command()
    def work() -> None:
        raise error

    return app


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UsageError("no such file", tried="open it", next_step="name another"), 2),
        (errors.HostUnreachable("no route", tried="connect", next_step="check the name"), 5),
        (errors.StoreError("damaged"), 5),
        (errors.ApprovalNeeded("waits"), 4),
        (errors.LedgerError("twice"), 70),
        (KeyboardInterrupt(), 130),
    ],
)
def test_expected_failures_have_their_code_and_no_traceback(error: BaseException, code: int) -> None:
    result = CliRunner().invoke(failing(error), ["work"])
    assert result.exit_code == code
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    if isinstance(error, errors.SpecdoctorError):
        assert error.message in result.stderr


def test_a_message_says_what_was_tried_and_what_is_next() -> None:
    told = message(errors.UsageError("cannot read it", tried="cat a\ncat b", next_step="give another"))
    assert told.split("\n") == [
        "cannot read it",
        "  tried    cat a",
        "           cat b",
        "  next     give another",
    ]


def test_a_failure_of_ours_is_a_bug_with_its_traceback_in_a_file(home: Path) -> None:
    result = CliRunner().invoke(failing(ZeroDivisionError("1 / 0 with --api-key sk-abcdefghijklmnop1234")), ["work"])
    assert result.exit_code == 70
    assert "Traceback" not in result.stderr
    assert "a bug of specdoctor" in result.stderr
    found = re.search(r"traceback is in (\S+);", result.stderr)
    assert found is not None
    trace = Path(found.group(1))
    assert trace.is_relative_to(home)
    assert "ZeroDivisionError" in trace.read_text()
    assert "sk-abcdefghijklmnop1234" not in trace.read_text()


def test_a_terminal_that_was_closed_is_told_from_a_full_disk(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    try:
        assert not hung_up((theirs,))
        os.close(ours)
        assert hung_up((theirs,))
        with (tmp_path / "plain").open("w") as plain:
            assert not hung_up((plain.fileno(),))
    finally:
        os.close(theirs)


def test_a_message_cannot_steer_the_terminal() -> None:
    result = CliRunner().invoke(failing(errors.UsageError("bad \x1b[31mname\x1b]0;x\x07")), ["work"])
    assert "\x1b" not in result.stderr
    assert "bad name" in result.stderr


def test_a_secret_in_an_argument_is_not_repeated(specdoctor: Command) -> None:
    result = specdoctor("doctor", "ssh://me:Pa55word-77@gpu-7")
    assert result.exit_code == 2
    assert "a password in an address is not accepted" in result.stderr
    assert "Pa55word-77" not in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told_and_is_no_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(errors.OutputError, match="standard output cannot be written: No space left on device"):
            print_text("a line")
        full.flush()


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device", "events.jsonl"),
        OSError(errno.EROFS, "Read-only file system", "events.jsonl"),
        sqlite3.OperationalError("disk I/O error"),
        sqlite3.OperationalError("database or disk is full"),
        sqlite3.OperationalError("attempt to write a readonly database"),
    ],
    ids=str,
)
def test_no_room_for_what_a_run_learns_is_no_bug(error: Exception) -> None:
    around = RuntimeError("while a step was kept")
    around.__cause__ = error
    for each in (error, around):
        result = CliRunner().invoke(failing(each), ["work"])
        assert result.exit_code == 74
        assert "can no longer be kept" in result.stderr
        assert "investigate --resume" in result.stderr


def test_another_fault_of_the_database_is_a_bug(home: Path) -> None:
    assert CliRunner().invoke(failing(sqlite3.OperationalError("no such column: x")), ["work"]).exit_code == 70


def test_an_unreachable_host_is_one_message(specdoctor: Command) -> None:
    result = specdoctor("investigate", "ssh://nobody@127.0.0.1:1", "--symptom", "slow")
    assert result.exit_code == 5
    assert result.stdout == ""
    assert "127.0.0.1:1" in result.stderr
    assert "\n  next " in result.stderr
    assert not Path("transcripts").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("investigate",), "no target was named"),
        (("investigate", "eagle-a"), 'no target is named "eagle-a"'),
        (("investigate", ""), "the target is empty"),
        (("doctor", "../../etc/passwd"), "no way to a host"),
        (("doctor", "a\nb"), "no way to a host"),
        (("investigate", "--from", "f.json", "ssh://x"), "no target beside it"),
        (("investigate", "--resume", "7f3c", "--symptom", "slow", "--log", "/a"), "--symptom, --log cannot be given"),
        (("investigate", "--resume", "7f3c", "--from", "f.json"), "--from cannot be given"),
        (("investigate", "ftp://x"), "ftp"),
        (("investigate", "ssh://x", "--prompts", "poems"), "no built-in prompt set 'poems'"),
        (("investigate", "--resume", "7f3c"), "7f3c"),
        (("investigate", "--from", "none.json"), "none.json"),
        (("check", "layer-wirng", "ssh://x"), 'did you mean "layer-wiring"?'),
        (("replay", "read-only-chekup", "--target", "ssh://x"), 'did you mean "read-only-checkup"?'),
        (("replay", "none.yaml", "--target", "ssh://x"), "there is no file none.yaml"),
        (("review", "7f3c"), "7f3c"),
        (("triage", "none.log"), "there is no none.log"),
        (("probe", "ssh://x", "--print"), "takes no target"),
        (("demo", "--world", "atlantis"), "atlantis"),
    ],
)
def test_a_wrong_command_line_says_what_would_be_right(specdoctor: Command, words: tuple[str, ...], said: str) -> None:
    result = specdoctor(*words)
    assert result.exit_code == 2, result.stderr
    assert said in result.stderr
    assert "\n  next " in result.stderr
    assert result.stdout == ""
