"""The exec line against real shells: each must read it the same way."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from specdoctor.core.errors import SpecdoctorError
from specdoctor.transports.exec_line import MAX_LINE_BYTES, exec_line, program_name
from tests.transports.host_contract import ECHO_ARGUMENTS, HOSTILE

TOKEN = "0123456789abcdef"
MARK = f"sd-begun-{TOKEN}\n".encode()
SHELLS = {
    "sh": ("sh",),
    "dash": ("dash",),
    "bash": ("bash",),
    "zsh": ("zsh",),
    "csh": ("tcsh", "-f"),
    "fish": ("fish", "--no-config"),
    "busybox": ("busybox", "sh"),
    "ksh": ("ksh",),
}


@pytest.fixture(params=SHELLS.values(), ids=SHELLS.keys())
def shell(request: pytest.FixtureRequest) -> tuple[str, ...]:
    if shutil.which(request.param[0]) is None:
        pytest.skip(f"no {request.param[0]} on this machine")
    argv: tuple[str, ...] = request.param
    return argv


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_every_shell_passes_on_every_argument(shell: tuple[str, ...], locale: str) -> None:
    line = exec_line((*ECHO_ARGUMENTS, *HOSTILE.values()), timeout_s=20, token=TOKEN)
    done = subprocess.run([*shell, "-c", line], capture_output=True, env={**os.environ, "LC_ALL": locale}, check=False)
    assert re.fullmatch(rb"sd-begun-0123456789abcdef [0-9]+\n", done.stderr)
    assert done.stdout.startswith(MARK)
    assert done.stdout.removeprefix(MARK).split(b"\0")[:-1] == [os.fsencode(word) for word in HOSTILE.values()]
    assert done.returncode == 0


@pytest.mark.parametrize("script", ["exit 7", "kill -9 $$"])
def test_every_shell_passes_on_the_exit_code(shell: tuple[str, ...], script: str) -> None:
    line = exec_line(("sh", "-c", script), timeout_s=20, token=TOKEN)
    done = subprocess.run([*shell, "-c", line], capture_output=True, check=False)
    assert done.returncode == (7 if script == "exit 7" else 128 + 9)


@pytest.mark.skipif(shutil.which("timeout") is None, reason="no timeout program on this machine")
def test_the_host_itself_ends_what_ignores_being_asked() -> None:
    line = exec_line(("sh", "-c", "trap '' TERM; sleep 20; sleep 20"), timeout_s=0, token=TOKEN)
    done = subprocess.run(["sh", "-c", line], capture_output=True, timeout=10, check=False, start_new_session=True)
    assert done.returncode != 0


def test_a_host_without_the_means_to_limit_still_runs_commands(tmp_path: Path) -> None:
    (tmp_path / "sh").symlink_to(shutil.which("sh") or "/bin/sh")
    line = exec_line(("sh", "-c", "exit 5"), timeout_s=20, token=TOKEN)
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, env={"PATH": str(tmp_path)}, check=False)
    assert (done.returncode, done.stdout) == (5, MARK)


def test_the_line_is_plain_ascii_on_one_line() -> None:
    line = exec_line(("echo", *HOSTILE.values()), timeout_s=20, token=TOKEN)
    assert line.isascii()
    assert line.isprintable()
    assert "!" not in line
    inside = line.split("'")
    assert len(inside) == 5  # two quoted words, no quote within them


def test_a_harmless_command_stays_readable() -> None:
    assert "'trap : TERM; nvidia-smi --query-gpu=name --format=csv,noheader; exit $?'" in exec_line(
        ("nvidia-smi", "--query-gpu=name", "--format=csv,noheader"), timeout_s=20, token=TOKEN
    )


def test_a_line_longer_than_hosts_accept_is_refused() -> None:
    exec_line(("echo", "x" * (MAX_LINE_BYTES - 1000)), timeout_s=20, token=TOKEN)
    with pytest.raises(SpecdoctorError, match="too long") as caught:
        exec_line(("echo", "x" * MAX_LINE_BYTES), timeout_s=20, token=TOKEN)
    assert caught.value.next_step == "Send the data on standard input."


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (("ls",), "`ls` (0 arguments)"),
        (("/usr/bin/curl", "-H"), "`curl` (1 argument)"),
        (("python3", "-m", "sglang.launch_server", "--api-key", "sk-1"), "`python3` (4 arguments)"),
    ],
)
def test_a_command_is_called_by_its_program_only(argv: tuple[str, ...], shown: str) -> None:
    assert program_name(argv) == shown
