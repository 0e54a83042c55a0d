"""What programs see of a command: a document on standard output whatever happens, and exit codes of its streams."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from specdoctor.cli.failures import Guarded
from specdoctor.core import errors
from tests.cli.conftest import Command, document

pytestmark = pytest.mark.thorough

PROGRAM = str(Path(sys.executable).with_name("specdoctor"))
KEYS = ["schema", "error", "tried", "next", "exit_code"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("investigate", "--json"), 2, "no target was named"),
        (("investigate", "ssh://nobody@127.0.0.1:1", "--json"), 5, "127.0.0.1:1"),
        (("tune", "ssh://nobody@127.0.0.1:1", "--json"), 5, "127.0.0.1:1"),
        (("replay", "none.yaml", "--target", "ssh://x", "--json"), 2, "there is no file none.yaml"),
        (("restore", "ssh://nobody@127.0.0.1:1", "--json"), 5, "127.0.0.1:1"),
        (("status", "ssh://nobody@127.0.0.1:1", "--json"), 5, "127.0.0.1:1"),
        (("doctor", "ssh://nobody@127.0.0.1:1", "--json"), 5, "127.0.0.1:1"),
        (("review", "7f3c", "--json"), 2, "7f3c"),
        (("triage", "none.log", "--json"), 2, "there is no none.log"),
        (("compare", "a.json", "b.json", "--json"), 2, "a.json"),
        (("runs", "--nothing", "--json"), 2, "No such option"),
        (("causes", "XYZ-9", "--json"), 2, "XYZ-9"),
    ],
)
def test_an_error_is_a_document_for_programs(specdoctor: Command, words: tuple[str, ...], code: int, said: str) -> None:
    result = specdoctor(*words)
    told = document(result)
    assert list(told) == KEYS
    assert (told["schema"], told["exit_code"], result.exit_code) == ("specdoctor.error/1", code, code)
    assert said in str(told["error"])
    assert said in result.stderr, "people are told as before"
    without = specdoctor(*[word for word in words if word != "--json"])
    assert (without.exit_code, without.stdout) == (code, "")


def failing(error: BaseException) -> typer.Typer:
    one = typer.Typer(cls=Guarded, rich_markup_mode=None, pretty_exceptions_enable=False)

    @one.callback()
    def root() -> None:
        """A command line that fails."""

    @one.command()
    def work(json: bool = False) -> None:
        raise error

    return one


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ApprovalNeeded("waits", tried="ask", next_step="allow it"), 4),
        (errors.HostUnreachable("no route"), 5),
        (errors.OutputError("no room"), 74),
        (RuntimeError("never thought of"), 70),
        (KeyboardInterrupt(), 130),
        (typer.Exit(4), 4),
        (typer.Exit(0), 0),
        (typer.Abort(), 1),
    ],
)
def test_every_end_but_a_good_one_has_its_document(error: BaseException, code: int, home: Path) -> None:
    result = CliRunner().invoke(failing(error), ["work", "--json"])
    assert result.exit_code == code
    assert (json.loads(result.stdout)["exit_code"] == code) if code else result.stdout == ""
    if isinstance(error, errors.ApprovalNeeded):
        assert json.loads(result.stdout) == {
            "schema": "specdoctor.error/1", "error": "waits", "tried": "ask", "next": "allow it", "exit_code": 4,
        }  # fmt: skip


def test_no_secret_is_in_the_document(specdoctor: Command) -> None:
    told = document(specdoctor("check", "layer-wiring", "--api-key sk-abcdefghijklmnop1234", "--json"))
    assert "sk-abcdefghijklmnop1234" not in json.dumps(told)


@pytest.mark.parametrize("words", [("causes",), ("lab", "schema"), ("--help",), ("causes", "--help"), ("--version",)])
def test_a_reader_who_has_left_is_told_by_the_usual_code(words: tuple[str, ...], home: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run([PROGRAM, *words], stdout=writer, stderr=subprocess.PIPE, check=False, timeout=60)
    finally:
        os.close(writer)
    assert ended.returncode == 141
    assert b"Traceback" not in ended.stderr
    assert b"specdoctor failed" not in ended.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", [("causes",), ("checks", "--json"), ("lab", "schema")])
def test_output_that_finds_no_room_is_not_a_server_that_is_down(words: tuple[str, ...], home: Path) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, check=False, timeout=60)
    assert ended.returncode == 74
    assert b"standard output cannot be written" in ended.stderr
