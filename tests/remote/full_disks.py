"""State directories that take no more: small file systems of their own, and programs whose writes fail on demand."""

from __future__ import annotations

import errno
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from specdoctor.operations.programs import ProgramName
from tests.remote.workplace import Workplace

WRITES = "def write_whole(path: str, raw: bytes) -> None:\n"
SPARES = 'SPARE_PLACES = ("/dev/shm", "/tmp")\n'


@dataclass
class SmallDisk:
    """A file system of `mib` MiB and 200 files over a folder, which is made where it is not there."""

    folder: Path
    mib: int = 1
    mounts: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._mount("-t", "tmpfs", "-o", f"size={self.mib}m,nr_inodes=200,mode=700", "tmpfs", str(self.folder))

    def _mount(self, *words: str) -> None:
        done = subprocess.run(["mount", *words], check=False, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"no file system of its own can be mounted here: {done.stderr.strip()}")
        self.mounts += 1

    def use_up(self, kind: str) -> None:
        """Make it take no more, also not in the room that was kept: "room", "inodes" or "read-only"."""
        for reserve in self.folder.rglob("reserve"):
            reserve.unlink()
        if kind == "read-only":
            self._mount("--bind", str(self.folder), str(self.folder))
            subprocess.run(["mount", "-o", "remount,bind,ro", str(self.folder)], check=True)
        elif kind == "inodes":
            with suppress(OSError):
                for number in range(1000):
                    (self.folder / f"filler-{number}").touch()
        else:
            with suppress(OSError), (self.folder / "filler").open("ab", buffering=0) as stream:
                while True:
                    stream.write(b"\0" * 4096)

    def free(self) -> None:
        """Give room again."""
        for filler in self.folder.glob("filler*"):
            filler.unlink()

    def close(self) -> None:
        for _ in range(self.mounts):
            subprocess.run(["umount", "--lazy", str(self.folder)], check=False)


@dataclass
class FailingPlace(Workplace):
    """A host on which no record can be written anywhere from `fail` on, with an error of one's choice."""

    number: int = errno.ENOSPC

    @property
    def flag(self) -> Path:
        return self.root / "no-more-writes"

    def fail(self, number: int) -> None:
        self.flag.write_text(str(number))

    def mend(self) -> None:
        self.flag.unlink()

    def text(self, name: ProgramName, params: dict[str, Any]) -> str:
        text = super().text(name, params)
        if WRITES in text:
            fault = (
                f"    if os.path.exists({str(self.flag)!r}):\n"
                f"        number = int(open({str(self.flag)!r}).read())\n"
                "        raise OSError(number, os.strerror(number), path)\n"
            )
            head, tail = text.split(WRITES)
            docstring, rest = tail.split("\n", 1)
            text = (head + WRITES + docstring + "\n" + fault + rest).replace(SPARES, "SPARE_PLACES = ()\n")
        return text
