"""One row of a table as it stands in its file."""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """The cells of one row, with the number of its line and the line itself."""

    number: int
    text: str
    cells: tuple[str, ...]
