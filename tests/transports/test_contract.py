"""The promises of a host, kept by every transport: in-process SSH, a real sshd, and this machine."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from specdoctor.core.errors import CommandTimeout, SpecdoctorError
from specdoctor.core.host import Host
from specdoctor.transports.local import LocalHost
from tests.transports.conftest import Keys, SshHome

PYTHON = sys.executable
FIVE_MB = 5_000_000

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


@pytest.fixture(scope="module", params=["in-process", "sshd", "local"])
def host(request: pytest.FixtureRequest, keys: Keys, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with ExitStack() as stack:
        if request.param == "local":
            yield stack.enter_context(LocalHost())
            return
        server = request.getfixturevalue("in_process" if request.param == "in-process" else "openssh").server
        home = SshHome(tmp_path_factory.mktemp("ssh"))
        home.add("target", server, key=keys.user)
        home.know(server.known_hosts())
        yield stack.enter_context(home.connect("target"))


def python(code: str, *arguments: str) -> tuple[str, ...]:
    return (PYTHON, "-c", code, *arguments)


def is_running(pid: int) -> bool:
    """Whether a process runs: one that waits to be reaped does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("argument", HOSTILE.values(), ids=HOSTILE.keys())
def test_each_argument_arrives_as_one(host: Host, argument: str) -> None:
    result = host.run((*ECHO_ARGUMENTS, "before", argument, "after"))
    assert result.exit_code == 0, result.error_text
    assert result.stdout == b"before\0" + os.fsencode(argument) + b"\0after\0"
    assert not result.truncated


def test_all_hostile_arguments_together(host: Host) -> None:
    result = host.run((*ECHO_ARGUMENTS, *HOSTILE.values()))
    assert result.stdout.split(b"\0")[:-1] == [os.fsencode(word) for word in HOSTILE.values()]


@pytest.mark.parametrize("program", ["no-such-program", "-x", "if", "A=b", "/no/such/program", "it's"])
def test_a_missing_program_is_exit_code_127(host: Host, program: str) -> None:
    result = host.run((program, "argument"))
    assert result.exit_code == 127
    assert result.stderr


def test_a_file_that_may_not_be_run_is_exit_code_126(host: Host, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("text")
    assert host.run((str(plain),)).exit_code == 126


@pytest.mark.parametrize("argv", [(), ("",), ("echo", "a\0b")])
def test_what_no_system_can_run_is_refused(host: Host, argv: tuple[str, ...]) -> None:
    with pytest.raises(SpecdoctorError):
        host.run(argv)


def test_exit_code_and_both_streams(host: Host) -> None:
    result = host.run(("sh", "-c", "echo out; echo err >&2; exit 3"))
    assert (result.exit_code, result.stdout, result.stderr) == (3, b"out\n", b"err\n")
    assert result.argv == ("sh", "-c", "echo out; echo err >&2; exit 3")
    assert result.duration_s > 0


def test_death_by_signal_is_128_and_more(host: Host) -> None:
    assert host.run(("sh", "-c", "kill -9 $$")).exit_code == 128 + 9


def test_binary_input_arrives_unchanged(host: Host) -> None:
    data = os.urandom(FIVE_MB)
    result = host.run(("sha256sum",), stdin=data)
    assert result.text.split()[0] == hashlib.sha256(data).hexdigest()


def test_input_and_output_at_once(host: Host) -> None:
    data = os.urandom(FIVE_MB)
    assert host.run(("cat",), stdin=data).stdout == data


def test_without_input_a_reader_sees_its_end(host: Host) -> None:
    assert host.run(("cat",)).stdout == b""


def test_input_that_nobody_reads_does_no_harm(host: Host) -> None:
    result = host.run(("sh", "-c", "exec <&-; echo done"), stdin=b"x" * FIVE_MB)
    assert (result.exit_code, result.stdout) == (0, b"done\n")


def test_big_output_on_both_streams(host: Host) -> None:
    code = f"import sys; sys.stderr.buffer.write(b'e' * {FIVE_MB}); sys.stdout.buffer.write(b'o' * {FIVE_MB})"
    result = host.run(python(code))
    assert (len(result.stdout), len(result.stderr)) == (FIVE_MB, FIVE_MB)
    assert not result.truncated


def test_output_beyond_the_bound_is_cut_and_marked(host: Host) -> None:
    code = "import sys; sys.stdout.write('o' * 300000); sys.stderr.write('e' * 10); sys.exit(4)"
    result = host.run(python(code), max_output_bytes=1000)
    assert result.stdout == b"o" * 1000
    assert result.stderr == b"e" * 10
    assert result.truncated
    assert result.exit_code == 4


def test_output_of_just_the_bound_is_not_marked(host: Host) -> None:
    result = host.run(("printf", "12345"), max_output_bytes=5)
    assert (result.stdout, result.truncated) == (b"12345", False)


def test_a_command_that_takes_too_long_is_stopped(host: Host, tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    started = time.monotonic()
    with pytest.raises(CommandTimeout) as caught:
        host.run(("sh", "-c", 'echo $$ > "$1"; sleep 30; echo "$2"', "sh", str(mark), "token"), timeout_s=0.3)
    assert time.monotonic() - started < 10
    assert not is_running(int(mark.read_text()))
    error = caught.value
    assert error.message == f"{host.name}: `sh` (5 arguments) did not end within 0.3 s and was stopped"
    assert error.next_step
    assert "token" not in f"{error.message}{error.tried}{error.next_step}"
    assert host.run(("echo", "still here")).text == "still here\n"


def test_a_command_that_never_stops_talking_is_stopped(host: Host) -> None:
    with pytest.raises(CommandTimeout, match="was stopped"):
        host.run(("yes",), timeout_s=0.3, max_output_bytes=1000)


def test_lines_of_standard_error_as_they_come(host: Host) -> None:
    seen: list[tuple[str, bool]] = []
    caller = threading.get_ident()
    code = "import sys, time; sys.stderr.write('one\\ntw'); sys.stderr.flush(); time.sleep(0.1); print('out'); "
    code += "sys.stderr.write('o\\nthree')"
    result = host.run(python(code), on_line=lambda line: seen.append((line, threading.get_ident() == caller)))
    assert seen == [("one", True), ("two", True), ("three", True)]
    assert result.stderr == b"one\ntwo\nthree"


def test_lines_arrive_before_the_end(host: Host) -> None:
    first_after_s: list[float] = []
    started = time.monotonic()
    code = "echo first >&2; sleep 0.4"
    result = host.run(("sh", "-c", code), on_line=lambda _: first_after_s.append(time.monotonic() - started))
    assert first_after_s[0] < result.duration_s - 0.2


def test_an_error_in_on_line_stops_the_command(host: Host, tmp_path: Path) -> None:
    mark = tmp_path / "pid"

    def object_to(line: str) -> None:
        raise TimeoutError(line)

    with pytest.raises(TimeoutError, match="first"):
        host.run(
            ("sh", "-c", 'echo $$ > "$1"; echo first >&2; sleep 5', "sh", str(mark)), timeout_s=0.8, on_line=object_to
        )
    assert not is_running(int(mark.read_text()))


def test_commands_in_parallel(host: Host) -> None:
    answers: dict[int, str] = {}

    def ask(number: int) -> None:
        answers[number] = host.run(("sh", "-c", "sleep 0.5; echo $1", "sh", str(number))).text

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: f"{number}\n" for number in range(6)}
    assert time.monotonic() - started < 6 * 0.5


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    path = tmp_path / "it's a file; -n $(x)"
    path.write_bytes(bytes(range(256)) * 1000)
    return path


@pytest.mark.parametrize(
    ("offset", "length"), [(0, None), (0, 10), (5, 300), (255_990, 100), (256_000, 5), (300_000, 5), (7, 0), (1, None)]
)
def test_a_part_of_a_file(host: Host, numbers: Path, offset: int, length: int | None) -> None:
    end = None if length is None else offset + length
    assert host.read_range(str(numbers), offset=offset, length=length) == numbers.read_bytes()[offset:end]


def test_a_file_that_claims_to_be_empty(host: Host) -> None:
    assert host.read_range("/proc/version") == Path("/proc/version").read_bytes()
    assert host.read_range("/proc/version", offset=6, length=7) == b"version"


@pytest.mark.parametrize(("name", "kind"), [("nothing", FileNotFoundError), (".", IsADirectoryError)])
def test_what_cannot_be_read_says_so_with_its_path(host: Host, tmp_path: Path, name: str, kind: type[OSError]) -> None:
    path = os.path.normpath(tmp_path / name)
    with pytest.raises(kind) as caught:
        host.read_range(path)
    assert caught.value.filename == path


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(host: Host, tmp_path: Path) -> None:
    path = tmp_path / "closed"
    path.write_text("secret")
    path.chmod(0)
    with pytest.raises(PermissionError) as caught:
        host.read_range(str(path))
    assert caught.value.filename == str(path)


def test_a_host_has_a_name(host: Host) -> None:
    assert host.name in {"target", "local"}


def conforms(make: Callable[[], Host]) -> Host:
    return make()


def test_implementations_fit_the_port() -> None:
    assert conforms(LocalHost).name == "local"
