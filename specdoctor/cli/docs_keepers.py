"""docs/keepers.md: what may be restarted, one row for each kind of keeper."""

from __future__ import annotations

from collections.abc import Iterable

from specdoctor.keepers.row import Row

_HEAD = """\
# Who keeps a server

A server is restarted only where the restart can be undone without asking anybody. What that takes depends on who keeps
the server alive; `specdoctor doctor TARGET` names the keeper. The kinds are looked for in this order, and the first
that is found counts: those that forbid a restart come before those that allow one. What guards a restart is told in
[restarts.md](restarts.md).

| kept by | recognised by | restart | way back | refused | by hand |
|---|---|---|---|---|---|
"""


_TAIL = """
## By hand

Where a server is not restarted, the run ends with the line to paste on the host, and the line that undoes it. Secrets
stand in it as `$NAME`. Once the server is up, `specdoctor investigate --resume RUN --allow load` looks what runs: a
server whose flags are those of an awaited launch counts as that launch and is measured. What you start by hand you put
back by hand; the verdict says how.

## Your own commands

Start, stop and status commands in the [targets file](targets.md) count before all of this: with them a server is
restarted whoever keeps it, under the same guard and with the same comparison afterwards.

## What a restart through a keeper brings with it

- systemd: `daemon-reload` makes systemd read all unit files again. A unit whose own files differ from what systemd has
  read is refused. The test writes its log to a file of its own. `ExecStartPre=` and its like run at each start, and are
  named in the question.
- docker, podman: a restart policy does not start a container that was stopped by hand; with `always` the daemon does
  when it starts again itself. Labels are not copied to the sibling, so a proxy that follows labels sends it nothing.
  Health checks are off in it.
- After a restart through a keeper the comparison covers the process as for a plain one, and the unit (its files,
  drop-ins, type and restart setting) or the container (id, image, command, configuration). Pipes and sockets to the
  keeper, and the variables in which systemd numbers each start, are new each time.
"""


def keepers_page(rows: Iterable[Row]) -> str:
    """The page with its table, in the order in which the kinds are looked for."""
    lines = [(row.title, row.recognised_by, row.restart, row.way_back, row.refused_when, row.by_hand) for row in rows]
    return _HEAD + "".join(f"| {' | '.join(_cell(text) for text in line)} |\n" for line in lines) + _TAIL


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
