"""Opening a session where there is a terminal that can show one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from specdoctor.cli.output import on_terminal

if TYPE_CHECKING:
    from specdoctor.cli.session.screen import Screen
    from specdoctor.core.events import Event
    from specdoctor.store.mirrored import MirroredStore

TYPED = "session_history"
"""The file with what was typed before, beside the run database."""


def possible(*, plain: bool) -> bool:
    """Whether a person sits at a terminal that moves its cursor, and wants more than plain questions."""
    return not plain and on_terminal() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")


@contextmanager
def opened(store: MirroredStore, *, who: str, history: Sequence[Event] = ()) -> Iterator[Screen]:
    """A session on the terminal until the end of the block. `history`: what a run that is resumed has behind it."""
    from specdoctor.assembly.catalogue import all_checks
    from specdoctor.cli.driving import write_report
    from specdoctor.cli.session.aside import standard_error_aside
    from specdoctor.cli.session.screen import Screen

    def report() -> str:
        run = screen.run_id
        written = write_report(run, store) if run else None
        return f"report {written}" if written is not None else "no report yet"

    screen = Screen(
        stream=sys.stderr,
        who=who,
        checks=[check.name for check in all_checks()],
        history=history,
        typed_before=store.store.path.with_name(TYPED),
        report=report,
    )
    screen.start()
    try:
        with standard_error_aside(screen.tell):
            yield screen
    finally:
        screen.close()
