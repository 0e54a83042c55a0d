"""Where a command's words go: its product to standard output, everything else to standard error."""

from __future__ import annotations

import io
import json
import shutil
import sys
from typing import Any

from specdoctor.cli.failures import close_output, note_product
from specdoctor.cli.failures import tell as say
from specdoctor.core.errors import OutputError

__all__ = ["on_terminal", "print_json", "print_product", "print_text", "say", "width"]


def print_text(text: str) -> None:
    """The product of a command, for people; cleaned of what a terminal would act on."""
    from specdoctor.render.clean import clean

    print_product(clean(text))


def print_json(document: Any) -> None:
    """The product of a command as one JSON document."""
    print_product(json.dumps(document, indent=2, ensure_ascii=False))


def print_product(text: str, *, end: str = "\n") -> None:
    """A product as it is. Raises OutputError when standard output takes no more, as on a full disk."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    note_product()
    try:
        print(text, end=end, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        close_output()
        raise OutputError(
            f"standard output cannot be written: {error.strerror}", next_step="make room, or send it elsewhere"
        ) from error


def on_terminal() -> bool:
    """Whether a person can see standard error and answer on standard input."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def width() -> int:
    """Columns to fill: those of the terminal, at most 120, at least 20."""
    return max(20, min(shutil.get_terminal_size((80, 24)).columns, 120))
