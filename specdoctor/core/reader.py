"""The port of a reader: one kind of file that people send, told by its content, made into pieces of `Material`."""

from __future__ import annotations

from typing import Protocol

from specdoctor.core.material import FileKind, Material
from specdoctor.core.model import Frozen


class Reading(Frozen):
    """What a reader made of a text. `rest` is what it did not take, on lines of the same numbers; None: it took all.

    `problem` says what in the file could not be read, for the person who sent it; `engine` whose log it is.
    """

    kind: FileKind
    pieces: Material = Material()
    rest: str | None = None
    problem: str = ""
    engine: str | None = None


class Reader(Protocol):
    """Knows one kind of file. `read` is a pure function; it answers None, and quickly, for a text of another kind.

    Readers with a lower `rank` are asked first: those of strict forms before those that take nearly anything.
    """

    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str: ...

    @property
    def rank(self) -> int: ...

    def read(self, text: str, *, where: str) -> Reading | None: ...
