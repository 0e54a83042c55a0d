"""The promises of a host as one suite, to be kept by every transport and on every kind of host."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from specdoctor.core.errors import CommandTimeout, SpecdoctorError
from specdoctor.core.host import Host

ECHO_ARGUMENTS = ("printf", "%s\\0")

HOSTILE = {
    "empty": "",
    "single quote": "it's",
    "double quote": 'say "hi"',
    "both quotes": "'\"'\"'",
    "newline": "two\nlines",
    "only newlines": "\n\n",
    "trailing newline": "end\n",
    "command substitution": "$(touch /tmp/never)",
    "backticks": "`touch /tmp/never`",
    "variable": "$HOME ${PATH}",
    "semicolon": "; false",
    "operators": "&& || | > /dev/full < /dev/null &",
    "exclamation": "wow! !! !x !$",
    "backslashes": "\\ \\\\ \\n \\",
    "backslash and quote": "\\' \\\" \\!",
    "leading dash": "-rf",
    "double dash": "--",
    "glob": "*",
    "brackets": "[a-z]? {a,b}",
    "tilde": "~ ~root",
    "equals": "=ls",
    "assignment": "A=b",
    "hash": "# comment",
    "caret": "^a^b^",
    "percent": "%s %d %%",
    "tab and control": "a\tb\x01\x7f",
    "carriage return": "a\r\nb",
    "spaces": "  a  b  ",
    "unicode": "żółć ✓ 日本",
    "not utf-8": b"\xff\xfe".decode("utf-8", errors="surrogateescape"),
    "long": "x" * 20_000,
}


@dataclass(frozen=True)
class Subject:
    """A host to be tried. `interpreter` is a Python there; `big_bytes` is much for the line to it.

    `pace` stretches what the tests expect of its speed; `one_at_a_time` says that commands may have to queue,
    `as_root` that they may read everything.
    """

    host: Host
    interpreter: str = sys.executable
    big_bytes: int = 5_000_000
    pace: float = 1.0
    one_at_a_time: bool = False
    as_root: bool = field(default_factory=lambda: os.getuid() == 0)

    def python(self, code: str, *arguments: str) -> tuple[str, ...]:
        return (self.interpreter, "-c", code, *arguments)


def is_running(pid: int) -> bool:
    """Whether a process runs: one that waits to be reaped does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


class HostContract:
    """To be inherited by a class whose module has a fixture `subject`; `place` is a folder that its account may use."""

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        return tmp_path

    def test_all_hostile_arguments_together(self, subject: Subject) -> None:
        result = subject.host.run((*ECHO_ARGUMENTS, *HOSTILE.values()))
        assert result.stdout.split(b"\0")[:-1] == [os.fsencode(word) for word in HOSTILE.values()]

    @pytest.mark.parametrize("program", ["no-such-program", "-x", "if", "A=b", "/no/such/program", "it's"])
    def test_a_missing_program_is_exit_code_127(self, subject: Subject, program: str) -> None:
        result = subject.host.run((program, "argument"))
        assert result.exit_code == 127
        assert result.stderr

    def test_a_file_that_may_not_be_run_is_exit_code_126(self, subject: Subject, place: Path) -> None:
        plain = place / "plain"
        plain.write_text("text")
        assert subject.host.run((str(plain),)).exit_code == 126

    @pytest.mark.parametrize("argv", [(), ("",), ("echo", "a\0b")])
    def test_what_no_system_can_run_is_refused(self, subject: Subject, argv: tuple[str, ...]) -> None:
        with pytest.raises(SpecdoctorError):
            subject.host.run(argv)

    def test_exit_code_and_both_streams(self, subject: Subject) -> None:
        result = subject.host.run(("sh", "-c", "echo out; echo err >&2; exit 3"))
        assert (result.exit_code, result.stdout, result.stderr) == (3, b"out\n", b"err\n")
        assert result.argv == ("sh", "-c", "echo out; echo err >&2; exit 3")
        assert result.duration_s > 0

    def test_death_by_signal_is_128_and_more(self, subject: Subject) -> None:
        assert subject.host.run(("sh", "-c", "kill -9 $$")).exit_code == 128 + 9

    def test_binary_input_arrives_unchanged(self, subject: Subject) -> None:
        data = os.urandom(subject.big_bytes)
        result = subject.host.run(("sha256sum",), stdin=data)
        assert result.text.split()[0] == hashlib.sha256(data).hexdigest()

    def test_input_and_output_at_once(self, subject: Subject) -> None:
        data = os.urandom(subject.big_bytes)
        assert subject.host.run(("cat",), stdin=data).stdout == data

    def test_without_input_a_reader_sees_its_end(self, subject: Subject) -> None:
        assert subject.host.run(("cat",)).stdout == b""

    def test_input_that_nobody_reads_does_no_harm(self, subject: Subject) -> None:
        result = subject.host.run(("sh", "-c", "exec <&-; echo done"), stdin=b"x" * subject.big_bytes)
        assert (result.exit_code, result.stdout) == (0, b"done\n")

    def test_big_output_on_both_streams(self, subject: Subject) -> None:
        code = f"import sys; n = {subject.big_bytes}; sys.stderr.write('e' * n); sys.stdout.write('o' * n)"
        result = subject.host.run(subject.python(code))
        assert (len(result.stdout), len(result.stderr)) == (subject.big_bytes, subject.big_bytes)
        assert not result.truncated

    def test_output_beyond_the_bound_is_cut_and_marked(self, subject: Subject) -> None:
        code = "import sys; sys.stdout.write('o' * 300000); sys.stderr.write('e' * 10); sys.exit(4)"
        result = subject.host.run(subject.python(code), max_output_bytes=1000)
        assert result.stdout == b"o" * 1000
        assert result.stderr == b"e" * 10
        assert result.truncated
        assert result.exit_code == 4

    def test_output_of_just_the_bound_is_not_marked(self, subject: Subject) -> None:
        result = subject.host.run(("printf", "12345"), max_output_bytes=5)
        assert (result.stdout, result.truncated) == (b"12345", False)

    def test_a_command_that_takes_too_long_is_stopped(self, subject: Subject, place: Path) -> None:
        mark = place / "pid"
        started = time.monotonic()
        limit_s = 0.3 * subject.pace
        with pytest.raises(CommandTimeout) as caught:
            subject.host.run(
                ("sh", "-c", 'echo $$ > "$1"; sleep 60; echo "$2"', "sh", str(mark), "token"), timeout_s=limit_s
            )
        assert time.monotonic() - started < 10 * subject.pace
        assert not is_running(int(mark.read_text()))
        error = caught.value
        name = subject.host.name
        assert error.message == f"{name}: `sh` (5 arguments) did not end within {limit_s:g} s and was stopped"
        assert error.next_step
        assert "token" not in f"{error.message}{error.tried}{error.next_step}"
        assert subject.host.run(("echo", "still here")).text == "still here\n"

    def test_a_command_that_never_stops_talking_is_stopped(self, subject: Subject) -> None:
        # On a slow line what was said until then is still under way, and hides the answer.
        told = "was stopped" if subject.pace == 1 else "was stopped|was asked to stop"
        with pytest.raises(CommandTimeout, match=told):
            subject.host.run(("yes",), timeout_s=0.3 * subject.pace, max_output_bytes=1000)

    def test_lines_of_standard_error_as_they_come(self, subject: Subject) -> None:
        seen: list[tuple[str, bool]] = []
        caller = threading.get_ident()
        code = "import sys, time; sys.stderr.write('one\\ntw'); sys.stderr.flush(); time.sleep(0.1); print('out'); "
        code += "sys.stderr.write('o\\nthree')"
        result = subject.host.run(
            subject.python(code), on_line=lambda line: seen.append((line, threading.get_ident() == caller))
        )
        assert seen == [("one", True), ("two", True), ("three", True)]
        assert result.stderr == b"one\ntwo\nthree"

    def test_lines_arrive_before_the_end(self, subject: Subject) -> None:
        first_after_s: list[float] = []
        started = time.monotonic()
        code = f"echo first >&2; sleep {0.4 * subject.pace}"
        result = subject.host.run(
            ("sh", "-c", code), on_line=lambda _: first_after_s.append(time.monotonic() - started)
        )
        assert first_after_s[0] < result.duration_s - 0.2 * subject.pace

    def test_an_error_in_on_line_stops_the_command(self, subject: Subject, place: Path) -> None:
        mark = place / "pid"

        def object_to(line: str) -> None:
            raise TimeoutError(line)

        with pytest.raises(TimeoutError, match="first"):
            subject.host.run(
                ("sh", "-c", 'echo $$ > "$1"; echo first >&2; sleep 60', "sh", str(mark)),
                timeout_s=0.8 * subject.pace,
                on_line=object_to,
            )
        assert not is_running(int(mark.read_text()))

    def test_commands_in_parallel(self, subject: Subject) -> None:
        answers: dict[int, str] = {}

        def ask(number: int) -> None:
            answers[number] = subject.host.run(("sh", "-c", "sleep 0.5; echo $1", "sh", str(number))).text

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
        started = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == {number: f"{number}\n" for number in range(6)}
        assert subject.one_at_a_time or time.monotonic() - started < 6 * 0.5 * subject.pace

    @pytest.fixture
    def numbers(self, place: Path) -> Path:
        path = place / "it's a file; -n $(x)"
        path.write_bytes(bytes(range(256)) * 1000)
        return path

    @pytest.mark.parametrize(
        ("offset", "length"),
        [(0, None), (0, 10), (5, 300), (255_990, 100), (256_000, 5), (300_000, 5), (7, 0), (1, None)],
    )
    def test_a_part_of_a_file(self, subject: Subject, numbers: Path, offset: int, length: int | None) -> None:
        end = None if length is None else offset + length
        assert subject.host.read_range(str(numbers), offset=offset, length=length) == numbers.read_bytes()[offset:end]

    def test_a_file_that_claims_to_be_empty(self, subject: Subject) -> None:
        assert subject.host.read_range("/proc/version") == Path("/proc/version").read_bytes()
        assert subject.host.read_range("/proc/version", offset=6, length=7) == b"version"

    @pytest.mark.parametrize(("name", "kind"), [("nothing", FileNotFoundError), (".", IsADirectoryError)])
    def test_what_cannot_be_read_says_so_with_its_path(
        self, subject: Subject, place: Path, name: str, kind: type[OSError]
    ) -> None:
        path = os.path.normpath(place / name)
        with pytest.raises(kind) as caught:
            subject.host.read_range(path)
        assert caught.value.filename == path

    def test_a_file_that_may_not_be_read(self, subject: Subject, place: Path) -> None:
        if subject.as_root:
            pytest.skip("root may read everything")
        path = place / "closed"
        path.write_text("secret")
        path.chmod(0)
        with pytest.raises(PermissionError) as caught:
            subject.host.read_range(str(path))
        assert caught.value.filename == str(path)


class EachArgument:
    """The same with each hostile argument by itself, which takes longer and says more when it fails."""

    @pytest.mark.parametrize("argument", HOSTILE.values(), ids=HOSTILE.keys())
    def test_each_argument_arrives_as_one(self, subject: Subject, argument: str) -> None:
        result = subject.host.run((*ECHO_ARGUMENTS, "before", argument, "after"))
        assert result.exit_code == 0, result.error_text
        assert result.stdout == b"before\0" + os.fsencode(argument) + b"\0after\0"
        assert not result.truncated

    def test_each_hostile_path_names_one_file(self, subject: Subject, tmp_path: Path) -> None:
        names = [name for name in HOSTILE.values() if name and "/" not in name and len(os.fsencode(name)) < 200]
        assert len(names) >= 20
        for number, name in enumerate(names):
            (tmp_path / name).write_text(str(number))
        read = [subject.host.read_range(str(tmp_path / name)) for name in names]
        assert read == [str(number).encode() for number in range(len(names))]
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
