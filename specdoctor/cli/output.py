"""Where a command's words go: its product to standard output, everything else to standard error."""

from __future__ import annotations

import json
import shutil
import sys
from typing import Any

from specdoctor.cli.failures import tell as say

__all__ = ["on_terminal", "print_json", "print_text", "say", "width"]


def print_text(text: str) -> None:
    """The product of a command, for people; cleaned of what a terminal would act on."""
    from specdoctor.render.clean import clean

    print(clean(text), flush=True)


def print_json(document: Any) -> None:
    """The product of a command as one JSON document."""
    print(json.dumps(document, indent=2, ensure_ascii=False), flush=True)


def on_terminal() -> bool:
    """Whether a person can see standard error and answer on standard input."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def width() -> int:
    """Columns to fill: those of the terminal, at most 120, at least 60."""
    return max(60, min(shutil.get_terminal_size((80, 24)).columns, 120))
