"""docs/keepers.md: what may be restarted, one row for each kind of keeper."""

from __future__ import annotations

from collections.abc import Iterable

from specdoctor.keepers.row import Row

_HEAD = """\
# Who keeps a server

A server is restarted only where the restart can be undone without asking anybody. What that takes depends on who keeps
the server alive; `specdoctor doctor TARGET` names the keeper. The kinds are looked for in this order, and the first
that is found counts: those that forbid a restart come before those that allow one.

| kept by | recognised by | restart | way back | refused | by hand |
|---|---|---|---|---|---|
"""


def keepers_page(rows: Iterable[Row]) -> str:
    """The page with its table, in the order in which the kinds are looked for."""
    lines = [(row.title, row.recognised_by, row.restart, row.way_back, row.refused_when, row.by_hand) for row in rows]
    return _HEAD + "".join(f"| {' | '.join(_cell(text) for text in line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
