"""Asking a person for a yes, on the terminal."""

from __future__ import annotations

import sys
import textwrap
from typing import TextIO

from specdoctor.core.ports import Answer, Batch
from specdoctor.render.clean import clean

LABEL = 12
"""Columns before the text of a question."""
CHOICES = "[y] this one  [a] all of this run  [n] no  [c] show commands"


class NobodyToAsk:
    """No terminal, so no question: the run waits, and can be resumed."""

    def ask(self, batch: Batch) -> Answer | None:
        return None


class TerminalApprover:
    """Prints the batch on standard error and reads one word. No answer, or the end of the input, is a no."""

    def __init__(self, *, asked: TextIO | None = None, answers: TextIO | None = None, name: str = "terminal") -> None:
        self._asked = asked or sys.stderr
        self._answers = answers or sys.stdin
        self._name = name

    def ask(self, batch: Batch) -> Answer | None:
        self._say("\n" + "\n".join(beside_labels(batch.text, 80)) + "\n")
        verb = batch.risk.word.capitalize()
        while True:
            self._say(f"{verb}?  {CHOICES} ", end="")
            line = self._answer()
            match line.strip().lower():
                case "y" | "yes":
                    return Answer(granted=True, scope="once", by=self._name)
                case "a" | "all":
                    return Answer(granted=True, scope="run", by=self._name)
                case "c":
                    self._say("\n".join(f"  {command}" for command in batch.commands) or "  no command")
                case "" | "n" | "no":
                    if not line:
                        self._say("")
                    return Answer(granted=False, by=self._name)
                case _:
                    self._say("  y, a, n or c; nothing is a no")

    def _answer(self) -> str:
        try:
            return self._answers.readline()
        except OSError:  # the terminal is gone
            return ""

    def _say(self, text: str, *, end: str = "\n") -> None:
        self._asked.write(clean(text) + end)
        self._asked.flush()


def beside_labels(text: str, width: int) -> list[str]:
    """The lines of a question at word ends, what goes on of each under the text after its label. Flags stay whole."""
    lines: list[str] = []
    for line in clean(text).splitlines():
        lines += textwrap.wrap(
            line, width, subsequent_indent=" " * LABEL, break_long_words=False, break_on_hyphens=False
        ) or [""]
    return lines
