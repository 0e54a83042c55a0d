"""The port to a person who may type while a run goes on: what was typed comes in here, one wish at a time."""

from __future__ import annotations

from typing import Protocol

from specdoctor.core.wishes import Request


class Desk(Protocol):
    """Where a run looks for words of a person. Its other end may be in another thread."""

    @property
    def attended(self) -> bool:
        """Whether somebody sits there who can be asked and can let a paused run go on."""
        ...

    @property
    def who(self) -> str:
        """The person's name in the record."""
        ...

    def next(self, *, within_s: float) -> Request | None:
        """The next wish, waiting for one at most `within_s`; None where none came."""
        ...

    def say(self, text: str) -> None:
        """Tell the person something that is no event: why a wish could not be granted."""
        ...


class EmptyDesk:
    """Nobody is there."""

    attended = False
    who = "nobody"

    def next(self, *, within_s: float) -> Request | None:
        return None

    def say(self, text: str) -> None:
        """Nobody hears it."""
