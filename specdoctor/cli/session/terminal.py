"""prompt_toolkit's part: the layout, the keys, the line with history and completion."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, TextIO

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.history import History, InMemoryHistory
from prompt_toolkit.input.defaults import create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.bindings.completion import display_completions_like_readline
from prompt_toolkit.layout import HSplit, Layout, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output

from specdoctor.cli.session.history import KeptHistory

SMALL = Size(rows=24, columns=80)
REFRESH_S = 1.0
PROMPT = "> "


class Drawn(Protocol):
    """What the terminal shows and whom its keys reach."""

    def drawn(self) -> list[tuple[str, str]]: ...

    def completions(self, line: str) -> list[str]: ...

    def typed(self, buffer: Buffer) -> bool: ...

    def pause_or_leave(self) -> None: ...

    def leave(self) -> None: ...


class _Words(Completer):
    def __init__(self, screen: Drawn) -> None:
        self._screen = screen

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        line = document.text_before_cursor
        last = line.rpartition(" ")[2]
        for word in self._screen.completions(line):
            yield Completion(word, start_position=-len(last))


def application(screen: Drawn, *, stream: TextIO, typed_before: Path | None) -> Application[None]:
    """The application of a session, ready to be run in any thread. It draws on `stream`, below what was printed."""
    history: History = KeptHistory(typed_before) if typed_before is not None else InMemoryHistory()
    line = Buffer(completer=_Words(screen), history=history, accept_handler=screen.typed, multiline=False)
    shown = Window(
        FormattedTextControl(lambda: [*screen.drawn()], show_cursor=False), wrap_lines=False, dont_extend_height=True
    )
    typed = Window(
        BufferControl(line, input_processors=[BeforeInput(PROMPT)]), height=1, dont_extend_height=True, wrap_lines=False
    )
    return Application(
        layout=Layout(HSplit([shown, typed]), focused_element=typed),
        key_bindings=_keys(screen),
        full_screen=False,
        erase_when_done=True,
        refresh_interval=REFRESH_S,
        input=create_input(),
        output=_output(stream),
        mouse_support=False,
    )


def _output(stream: TextIO) -> Vt100_Output:
    """Escape sequences to `stream`. The terminal is never asked where its cursor is: a slow line would show that."""

    def size() -> Size:
        try:
            columns, rows = os.get_terminal_size(stream.fileno())
        except OSError:
            return SMALL
        return Size(rows=rows or SMALL.rows, columns=columns or SMALL.columns)

    depth = ColorDepth.from_env() or ColorDepth.DEPTH_4_BIT
    return Vt100_Output(
        stream, size, term=os.environ.get("TERM"), default_color_depth=depth, enable_bell=False, enable_cpr=False
    )


def _keys(screen: Drawn) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("c-c")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.reset()
        screen.pause_or_leave()

    @keys.add("c-d")
    def _(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.delete()
        else:
            screen.leave()

    @keys.add("tab")
    def _(event: KeyPressEvent) -> None:
        display_completions_like_readline(event)

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return keys
