"""The scripted host: answers what it was told to, and fails loudly on anything else."""

from __future__ import annotations

import pytest

from specdoctor.core.errors import ConnectionLost
from specdoctor.core.host import CommandResult, Host
from specdoctor.transports.recorded import RecordedHost

LS = ("ls", "-l")
UNAME = ("uname",)


def test_an_unscripted_command_names_what_is_known() -> None:
    host = RecordedHost({LS: "", UNAME: "Linux\n"})
    with pytest.raises(AssertionError, match=r"unscripted \('ls', '-a'\); known: \[\('ls', '-l'\), \('uname',\)\]"):
        host.run(("ls", "-a"))


def test_an_unscripted_file_names_what_is_known() -> None:
    host = RecordedHost({}, files={"/etc/hostname": b"eagle\n"})
    with pytest.raises(AssertionError, match=r"unscripted file '/etc/passwd'; known: \['/etc/hostname'\]"):
        host.read_range("/etc/passwd")


def test_replies_are_text_bytes_or_results() -> None:
    result = CommandResult(argv=LS, exit_code=2, stderr=b"no such file\n")
    host: Host = RecordedHost({UNAME: "Linux\n", LS: result, ("cat",): b"\xff"}, name="eagle-a")
    assert host.run(UNAME).text == "Linux\n"
    assert host.run(["cat"]).stdout == b"\xff"
    assert host.run(LS) == result
    assert host.name == "eagle-a"


def test_an_error_is_raised() -> None:
    host = RecordedHost({LS: ConnectionLost("eagle-a: the connection was lost")})
    with pytest.raises(ConnectionLost):
        host.run(LS)


def test_several_replies_come_in_order_and_the_last_one_stays() -> None:
    host = RecordedHost({UNAME: ["one", "two"]})
    assert [host.run(UNAME).text for _ in range(3)] == ["one", "two", "two"]


def test_what_was_asked_is_kept() -> None:
    host = RecordedHost({UNAME: "", LS: ""})
    host.run(LS, stdin=b"data")
    host.run(UNAME)
    assert host.calls == [LS, UNAME]
    assert host.stdins == [b"data", b""]


def test_a_transcript_is_replayed() -> None:
    results = [
        CommandResult(argv=UNAME, exit_code=0, stdout=b"Linux\n"),
        CommandResult(argv=LS, exit_code=0, stdout=b"first"),
        CommandResult(argv=LS, exit_code=1, stdout=b"second"),
    ]
    host = RecordedHost.from_transcript(results)
    assert [host.run(argv) for argv in (LS, UNAME, LS)] == [results[1], results[0], results[2]]


def test_output_is_bounded_and_lines_are_told() -> None:
    lines: list[str] = []
    host = RecordedHost({LS: CommandResult(argv=LS, exit_code=0, stdout=b"12345", stderr=b"a\nb")})
    result = host.run(LS, max_output_bytes=2, on_line=lines.append)
    assert (result.stdout, result.stderr, result.truncated) == (b"12", b"a\n", True)
    assert lines == ["a", "b"]


@pytest.mark.parametrize(
    ("offset", "length", "expected"), [(0, None, b"0123456789"), (3, 4, b"3456"), (8, 10, b"89"), (20, 1, b"")]
)
def test_parts_of_files(offset: int, length: int | None, expected: bytes) -> None:
    host = RecordedHost({}, files={"/f": b"0123456789"})
    assert host.read_range("/f", offset=offset, length=length) == expected


def test_a_file_can_be_missing() -> None:
    host = RecordedHost({}, files={"/f": FileNotFoundError(2, "No such file or directory", "/f")})
    with pytest.raises(FileNotFoundError):
        host.read_range("/f")
