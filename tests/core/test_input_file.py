"""Whatever is named as an input: it is read, or said not to be one, and nothing hangs."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from specdoctor.core.input_file import InputRefused, is_there, open_input, read_input

SHORT_S = 0.05


def special(folder: Path) -> dict[str, Path]:
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(folder / "socket"))
    return {
        "pipe": folder / "pipe",
        "socket": folder / "socket",
        "folder": folder,
        "device": Path("/dev/zero"),
        "noise": Path("/dev/urandom"),
        "terminal": Path("/dev/ptmx"),
    }


def test_what_is_no_file_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    for path in special(Path()).values():
        with pytest.raises(InputRefused, match="it is a"):
            read_input(path, limit=100, silence_s=SHORT_S)
        with pytest.raises(InputRefused, match="it is a"):
            open_input(path, pipes=False)


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"x" * 200_000,))
    writer.start()
    assert read_input(tmp_path / "pipe", limit=1 << 20) == b"x" * 200_000
    writer.join()


def test_a_pipe_that_nobody_ends_is_given_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    handle = os.open(tmp_path / "pipe", os.O_RDWR)
    os.write(handle, b"begun")
    with pytest.raises(InputRefused, match=r"nothing was written to it for 0\.05 s"):
        read_input(tmp_path / "pipe", limit=100, silence_s=SHORT_S)
    os.close(handle)


def test_files_are_read_up_to_their_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read_input(tmp_path / "a", limit=5) == b"12345"
    with pytest.raises(InputRefused, match="larger than 4 bytes"):
        read_input(tmp_path / "a", limit=4)
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(InputRefused, match="larger than 1 MiB"):
        read_input(tmp_path / "sparse", limit=1 << 20)
    assert read_input("/dev/null", limit=1) == b""
    assert read_input("/proc/self/stat", limit=1 << 20)
    with pytest.raises(FileNotFoundError):
        read_input(tmp_path / "gone", limit=1)


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "gone"])
def test_what_can_be_no_name_is_nothing(name: str) -> None:
    assert not is_there(name)
