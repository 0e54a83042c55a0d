"""The screen of a session: prompt_toolkit in a thread of its own, fed with events, giving wishes to the desk."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from specdoctor.cli.session.desk import QueueDesk
from specdoctor.cli.session.news import news
from specdoctor.cli.session.region import LEAST_ABOVE, fragments, hint, region
from specdoctor.core.errors import SpecdoctorError
from specdoctor.core.events import ActionEnded, ActionStarted, Event
from specdoctor.core.ledger import Ledger
from specdoctor.core.operations import Progress
from specdoctor.core.wishes import Hold
from specdoctor.render.clean import clean
from specdoctor.render.screen import Step, frame, picture_of
from specdoctor.session.command import Outcome
from specdoctor.session.table import completions_of, outcome_of
from specdoctor.session.view import View

if TYPE_CHECKING:
    from prompt_toolkit.application import Application
    from prompt_toolkit.buffer import Buffer

FLUSH_S = 0.15
TAKEN_S = 0.8
"""A wish that the run has not taken within this is said to wait."""
JOIN_S = 5.0
WIDEST = 132


class Screen:
    """An onlooker that shows the run and reads commands, from `start` to `close`.

    `interrupt` asks the run to stop as Ctrl-C does, `report` writes the report and says where. All drawing is done in
    the thread that `start` makes; the other methods may be called from any.
    """

    def __init__(
        self,
        *,
        stream: TextIO,
        who: str,
        checks: Sequence[str] = (),
        history: Iterable[Event] = (),
        typed_before: Path | None = None,
        report: Callable[[], str] = lambda: "",
        interrupt: Callable[[], None] = lambda: os.kill(os.getpid(), signal.SIGINT),
    ) -> None:
        self.desk = QueueDesk(who=who, say=self.tell)
        self._stream = stream
        self._view = View(checks=checks, history=history)
        self._typed_before = typed_before
        self._report = report
        self._interrupt = interrupt
        self._inbox: deque[Event | Progress | str] = deque()
        self._lines: list[str] = []
        self._step: Step | None = None
        self._leaving = ""
        self._app: Application[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="session", daemon=True)
        self._closing = False
        self._asked_to_pause = False

    @property
    def run_id(self) -> str:
        """The run that is shown; empty before it has begun."""
        started = self._view.ledger.started
        return started.run if started is not None else ""

    # called from the run's thread

    def start(self) -> None:
        self._thread.start()

    def event(self, event: Event, ledger: Ledger) -> None:
        """Take one event in; the ledger of the run is left alone, for it is another thread's."""
        self._inbox.append(event)
        self._wake()

    def progress(self, action: str, progress: Progress) -> None:
        self._inbox.append(progress)
        self._wake()

    def tell(self, text: str) -> None:
        """Words that are no event: above the list while it is drawn, else as they come."""
        if self._thread.is_alive():
            self._inbox.append(text)
            self._wake()
        else:
            self._write(clean(text).splitlines())

    def interrupted(self, words: str) -> None:
        """The run stops; `words` say what that means for the server. Safe in a signal handler."""
        self._leaving = words
        self.tell(words)

    def close(self) -> None:
        """Leave the terminal as it was, with the last state of the list on it. May be called twice."""
        if self._closing:
            return
        self._closing = True
        self._wake()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(JOIN_S)
        self._take_in()
        last = [] if self._view.ledger.started is None else self._last_picture()
        self._write([*self._lines, *last])

    # in the screen's thread

    def _run(self) -> None:
        try:
            asyncio.run(self._session())
        except (OSError, EOFError):  # the terminal is gone
            os.kill(os.getpid(), signal.SIGHUP)
        finally:
            self.desk.close()

    async def _session(self) -> None:
        from specdoctor.cli.session.terminal import application

        self._loop = asyncio.get_running_loop()
        self._app = application(self, stream=self._stream, typed_before=self._typed_before)
        beside = asyncio.create_task(self._flush())
        beside.add_done_callback(self._broken)
        self._lines += hint(shutil.get_terminal_size().columns - 1)
        try:
            if not self._closing:
                await self._app.run_async(handle_sigint=False)
        finally:
            beside.cancel()
            self._loop = None

    def _broken(self, task: asyncio.Task[None]) -> None:
        """A fault of ours while events are taken in ends the session, and gives the terminal back first."""
        error = None if task.cancelled() else task.exception()
        if error is not None and self._app is not None and self._app.is_running:
            self._app.exit(exception=error)

    async def _flush(self) -> None:
        """Write what came in above the region, a few times a second, and end when the run has."""
        while True:
            await asyncio.sleep(FLUSH_S)
            app = self._app
            if app is None or not app.is_running:
                continue
            changed = self._take_in()
            if self._closing:
                app.exit()
                return
            changed = changed or bool(self._lines)
            if self._lines:
                app.renderer.erase()
                lines, self._lines = self._lines, []
                app.output.write_raw("".join(f"{line}\r\n" for line in lines))
                app.output.flush()
            if changed:
                app.invalidate()

    def _take_in(self) -> bool:
        changed = bool(self._inbox)
        while self._inbox:
            item = self._inbox.popleft()
            if isinstance(item, str):
                self._lines += clean(item).splitlines()
            elif isinstance(item, Progress):
                self._step = Step(item, time.time())
            else:
                if isinstance(item, ActionStarted | ActionEnded):
                    self._step = None
                self._view.take(item)
                self._lines += [clean(line) for line in news(item, self._view)]
        return changed

    def drawn(self) -> list[tuple[str, str]]:
        """The region as prompt_toolkit takes it."""
        size = shutil.get_terminal_size() if self._app is None else self._app.output.get_size()
        width, rows = int(size.columns), int(getattr(size, "rows", 0) or getattr(size, "lines", 24))
        self._view.width, self._view.height = max(min(width, WIDEST) - 1, 40), rows
        height = max(rows - LEAST_ABOVE - 1, 10)
        lines = region(
            self._view, now=time.time(), width=self._view.width, height=height, step=self._step, leaving=self._leaving
        )
        return fragments(lines, _style)

    def completions(self, line: str) -> list[str]:
        return completions_of(self._view, line)

    def typed(self, buffer: Buffer) -> bool:
        """A line was entered: show it, do what it says. True keeps the text, which nobody wants."""
        line = buffer.text
        if not line.strip():
            return False
        self._lines.append(f"> {clean(line)}")
        try:
            self._done(outcome_of(self._view, line))
        except SpecdoctorError as error:
            self._lines += [f"  {part}" for part in clean(error.message).splitlines()]
            self._lines += [f"  {clean(error.next_step)}"] if error.next_step else []
        return False

    def _done(self, outcome: Outcome) -> None:
        if outcome.text:
            self._lines += clean(outcome.text).splitlines()
        if outcome.request is not None:
            self.desk.put(outcome.request)
            if self._loop is not None:
                self._loop.call_later(TAKEN_S, self._still_waiting)
        if outcome.do == "leave":
            self.leave()
        elif outcome.do == "report":
            self._lines.append(f"  {self._report()}")

    def _still_waiting(self) -> None:
        doing = self._view.doing
        if self.desk.waiting and doing is not None:
            self._lines.append(f"  taken up when {doing.action} ({doing.what}) is over")

    def pause_or_leave(self) -> None:
        """Ctrl-C: once pauses the run, once more puts the server back and leaves, a third time leaves at once."""
        if self._view.ledger.started is None or self._view.ledger.paused or self._pausing():
            self.leave()
            return
        self._asked_to_pause = True
        self._lines.append("  pausing before the next move; Ctrl-C again puts the server back and leaves")
        self.desk.put(Hold(on=True))

    def _pausing(self) -> bool:
        """Whether a pause was asked for that the run has not taken yet."""
        if self._asked_to_pause and not self.desk.waiting:
            self._asked_to_pause = False
        return self._asked_to_pause

    def leave(self) -> None:
        self._leaving = self._leaving or "leaving: what goes on is stopped, and the server put back"
        self._interrupt()

    # anywhere

    def _wake(self) -> None:
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop has just been closed
                loop.call_soon_threadsafe(lambda: None)

    def _write(self, lines: Sequence[str]) -> None:
        self._lines = []
        if lines:
            self._stream.write("\n".join(lines) + "\n")
            self._stream.flush()

    def _last_picture(self) -> list[str]:
        width = self._view.width
        lines = frame(picture_of(self._view.ledger), now=time.time(), width=width, height=10_000)
        return ["", *(line.plain.rstrip() for line in lines)]


def _style(style: str) -> str:
    """A style of rich in the words of prompt_toolkit."""
    words = {"green": "ansigreen", "red": "ansired", "bold": "bold", "dim": ""}
    return " ".join(filter(None, (words.get(word, "") for word in style.split())))
