"""The command line as its user has it: a home, a working folder and a process of its own."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.practice import PROGRAM, eventually
from tests.e2e.terminal import Terminal

RUN_S = 200.0
Event = Mapping[str, Any]
Events = Sequence[Event]


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on standard output."""
        parsed = json.loads(self.out)
        assert isinstance(parsed, dict)
        return parsed

    @property
    def lines(self) -> list[str]:
        """What was said on standard error, without empty lines."""
        return [line for line in self.err.splitlines() if line.strip()]


class Command:
    """A command under way, its output in files."""

    def __init__(self, argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str], place: Path) -> None:
        self._out, self._err = place.with_suffix(".out"), place.with_suffix(".err")
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                argv, cwd=cwd, env=dict(environment), stdin=subprocess.DEVNULL, stdout=out, stderr=err
            )

    def kill(self) -> None:
        """SIGKILL: the process gets no chance to do anything."""
        self.process.kill()
        assert self.process.wait() == -signal.SIGKILL

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    @property
    def said(self) -> str:
        """Standard error so far."""
        return self._err.read_text(encoding="utf-8", errors="replace")

    def end(self, *, within_s: float = RUN_S) -> Ended:
        """Wait for the end; a command that does not come to it in time is killed and fails the test."""
        try:
            code = self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"no end after {within_s:.0f} s:\n{self.said}") from None
        return Ended(code, self._out.read_text(encoding="utf-8"), self.said)


class Client:
    """Somebody at the keyboard. `folder` holds all that specdoctor leaves on this side."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.work = folder / "work"
        for place in (self.home, self.work):
            place.mkdir(parents=True)
        self._count = 0
        self.besides: dict[str, str] = {}
        """What else stands in its environment."""

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "COLUMNS": "100",
            **self.besides,
        }

    def start(self, *words: str) -> Command:
        """`specdoctor WORDS`, without waiting."""
        return self._started([str(PROGRAM), *words])

    def run(self, *words: str, within_s: float = RUN_S) -> Ended:
        """`specdoctor WORDS` to its end."""
        return self.start(*words).end(within_s=within_s)

    def python(self, program: str, *words: str, within_s: float = RUN_S) -> Ended:
        """A Python program with the words of a command line, to its end."""
        return self._started([sys.executable, "-c", program, *words]).end(within_s=within_s)

    def at_terminal(self, *words: str) -> Terminal:
        """`specdoctor WORDS`, typed at a terminal."""
        return Terminal(
            [str(PROGRAM), *words], cwd=self.work, environment=self.environment, out=self._place().with_suffix(".out")
        )

    def shell(self, line: str, *, within_s: float = 60.0) -> Ended:
        """A line as it would be typed, with `specdoctor` on the path."""
        return self._started(["/bin/sh", "-c", line]).end(within_s=within_s)

    def _started(self, argv: Sequence[str]) -> Command:
        return Command(argv, cwd=self.work, environment=self.environment, place=self._place())

    def _place(self) -> Path:
        """Where the next command's output goes."""
        self._count += 1
        return self.folder / f"command-{self._count}"

    @property
    def transcripts(self) -> list[Path]:
        return sorted((self.work / "transcripts").glob("*"))

    @property
    def run_id(self) -> str:
        """The id of the only run there is."""
        (transcript,) = self.transcripts
        return transcript.name

    def events(self) -> list[dict[str, Any]]:
        """The events of the only run, as far as they are written whole."""
        if not self.transcripts:
            return []
        path = self.transcripts[0] / "events.jsonl"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        whole, _, _ = text.rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]

    def await_events(self, condition: Callable[[Events], bool], command: Command, *, within_s: float = 90.0) -> None:
        """Wait until the transcript shows a moment; a command that ends before it fails the test."""
        reached = eventually(
            lambda: condition(self.events()) or command.process.poll() is not None, within_s=within_s
        ) and condition(self.events())
        assert reached, f"the moment did not come:\n{command.said}"

    def files_with(self, secret: bytes) -> list[str]:
        """Files of this side that hold these bytes, packed contents of databases included."""
        return [str(path.relative_to(self.folder)) for path in self._files() if any(secret in b for b in _bytes(path))]

    def _files(self) -> Iterator[Path]:
        return (path for path in sorted(self.folder.rglob("*")) if path.is_file())


def _bytes(path: Path) -> Iterator[bytes]:
    content = path.read_bytes()
    yield content
    if content.startswith(b"SQLite format 3\0"):
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                for row in db.execute(f'SELECT * FROM "{table}"'):
                    yield from (unpacked for value in row if (unpacked := _unpacked(value)))


def _unpacked(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, bytes):
        return b""
    try:
        return zlib.decompress(value)
    except zlib.error:
        return value


def under_way(events: Events) -> str | None:
    """What the action without an end does: snapshot, watch, bench, relaunch, restore, ..."""
    ended = {e["action"] for e in events if e["kind"] == "action.ended"}
    open_ones = [e["what"] for e in events if e["kind"] == "action.started" and e["action"] not in ended]
    return open_ones[-1] if open_ones else None


def started(events: Events, what: str) -> int:
    """How many actions of a kind began."""
    return sum(1 for e in events if e["kind"] == "action.started" and e["what"] == what)
