"""Small tables for the terminal: runs, checks, playbooks, and what was asked for against what is in force."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from specdoctor.core import events as ev
from specdoctor.core import person_events as pe
from specdoctor.core.errors import EXIT_APPROVAL, EXIT_INCONCLUSIVE
from specdoctor.core.ports import Check
from specdoctor.core.server import Rewrite
from specdoctor.render.figures import clock, place_words
from specdoctor.render.layout import columns, labelled, stacked, wrap

RUN_ROW_KINDS = (
    "run.started",
    "run.resumed",
    "action.started",
    "action.ended",
    "server.relaunched",
    "server.restored",
    "approval.asked",
    "approval.answered",
    "move.refused",
    "pause.set",
    "verdict.reached",
    "run.ended",
)
"""The kinds of events that `run_row` looks at; reading only these makes a long list of runs quick."""


AT_WORK = "at work"
_DOING = {"restore": "puts the server back", "relaunch": "restarts the server", "bench": "measures"}
_SUMMARY = 40
"""Columns that a summary needs beside the rest of its run; with less it stands below."""


_LEAST_TARGET = 12


class RunRow(NamedTuple):
    """One run in a list. `state` says how it ended, that it did not, or that it is at work; `warning` what must not be
    overlooked; `waits` who is waited for, and for what; `named` the target's name in the targets file, "" without one;
    `doing` what is done to the server now.
    """

    run: str
    target: str
    started_at: float
    lasted_s: float
    state: str
    summary: str
    warning: str
    waits: str = ""
    named: str = ""
    doing: str = ""

    @property
    def place(self) -> str:
        """The target as it was named, with its address where that is another word."""
        return place_words(self.target, self.named)


class PlaybookRow(NamedTuple):
    """One playbook in a list."""

    name: str
    source: str
    summary: str


def run_row(events: Iterable[ev.Event], *, at_work: bool = False) -> RunRow | None:
    """A run's line from its events (of RUN_ROW_KINDS at least); None if it never started.

    `at_work`: a process drives it now. Then nothing is said of a server that it has changed and will put back.
    """
    started: ev.RunStarted | None = None
    verdict: ev.VerdictReached | None = None
    ended: ev.RunEnded | None = None
    changed = before = False
    last_at = 0.0
    waiting = _Waiting()
    for event in events:
        last_at = event.at
        waiting.take(event)
        match event:
            case ev.RunStarted():
                started = event
            case ev.RunResumed():
                ended = None
            case ev.ActionStarted(what="relaunch"):
                before, changed = changed, True
            case ev.ServerRelaunched(outcome=outcome):
                changed = before if outcome.status == "refused" else True
            case ev.ServerRestored(outcome=restored):
                changed = not restored.proved
            case ev.VerdictReached():
                verdict = event
            case ev.RunEnded():
                ended = event
            case _:
                continue
    if started is None:
        return None
    if at_work and ended is None:
        state, changed = AT_WORK, False
    else:
        state = _state(verdict, ended)
    return RunRow(
        run=started.run,
        target=started.target,
        started_at=started.at,
        lasted_s=last_at - started.at,
        state=state,
        summary=verdict.headline if verdict else ended.reason if ended else started.settings.symptom,
        warning="server may not be as it was" if changed else "",
        waits=waiting.words(started, ended),
        named=started.settings.named,
        doing=waiting.doing if at_work and ended is None else "",
    )


class _Waiting:
    """Whom a run waits for: a yes, the end of a pause, or a launch by hand."""

    def __init__(self) -> None:
        self._asked: ev.ApprovalAsked | None = None
        self._pause: pe.PauseSet | None = None
        self._by_hand: ev.MoveRefused | None = None
        self._open: dict[str, str] = {}

    @property
    def doing(self) -> str:
        """What is done to the server now; "" for nothing that it would notice."""
        return next((_DOING[what] for what in reversed(self._open.values()) if what in _DOING), "")

    def take(self, event: ev.Event) -> None:
        match event:
            case ev.ApprovalAsked():
                self._asked = event
            case ev.ApprovalAnswered():
                self._asked = None
            case pe.PauseSet():
                self._pause = event if event.paused else None
            case ev.MoveRefused(start=str(start)) if start:
                self._by_hand = event
            case ev.RunResumed():
                self._asked = None
                self._open = {}
            case ev.ActionStarted():
                self._open[event.action] = event.what
            case ev.ActionEnded():
                self._open.pop(event.action, None)
            case _:
                pass

    def words(self, started: ev.RunStarted, ended: ev.RunEnded | None) -> str:
        """`ann@laptop: permission to restart (B2)`; nothing where nobody is waited for."""
        who = started.by or "somebody"
        if ended is None and self._open:
            return ""  # what goes on, or was cut off, comes first
        if self._pause is not None and (ended is None or ended.exit_code == EXIT_APPROVAL):
            return f"{self._pause.by}: paused"
        if self._asked is not None and (ended is None or ended.exit_code == EXIT_APPROVAL):
            return f"{who}: permission to {self._asked.risk.word} ({self._asked.batch})"
        undecided = ended is not None and ended.exit_code in (EXIT_APPROVAL, EXIT_INCONCLUSIVE)
        if undecided and self._by_hand is not None and self._by_hand.change is not None:
            return f"{who}: a launch by hand ({self._by_hand.change.label})"
        return ""


def _state(verdict: ev.VerdictReached | None, ended: ev.RunEnded | None) -> str:
    """How a run stands, in few words."""
    if ended is not None and ended.exit_code == EXIT_APPROVAL:
        return "waits for permission"
    if verdict is not None:
        return verdict.verdict.value
    return f"ended, {ended.exit_code}" if ended is not None else "unfinished"


def runs_table(rows: Iterable[RunRow], *, width: int = 80) -> str:
    """Each run with its start in universal time: in a line where there is room, else with its summary below."""
    heads = ("RUN", "BEGUN", "LASTED", "STATE", "TARGET")
    listed = list(rows)
    cells = [
        (
            r.run,
            datetime.fromtimestamp(r.started_at, UTC).strftime("%m-%d %H:%M"),
            clock(r.lasted_s),
            r.state,
            r.place,
        )
        for r in listed
    ]
    sizes = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    if sum(sizes) + 2 * len(sizes) + _SUMMARY <= width:
        wide = [(*cell, _told(r)) for cell, r in zip(cells, listed, strict=True)]
        return columns((*heads, "SUMMARY"), wide, width=width)
    if sum(sizes[:-1]) + 2 * len(sizes) + _LEAST_TARGET > width:
        return stacked((*heads, ""), [(*cell, _told(r)) for cell, r in zip(cells, listed, strict=True)], width=width)
    # A target is as wide as it is: one that has no room beside the rest is wrapped, and never cut.
    lines = []
    for cell, told in zip((heads, *cells), ("", *map(_told, listed)), strict=True):
        lead = "  ".join(text.ljust(size) for text, size in zip(cell[:-1], sizes[:-1], strict=True))
        lines += labelled(lead, cell[-1], label_width=len(lead) + 2, width=width)
        lines += [f"  {line}" for line in wrap(told, width - 2)] if told else []
    return "\n".join(lines)


def _told(row: RunRow) -> str:
    waits = f"waits for {row.waits}" if row.waits else ""
    return "; ".join(part for part in (row.warning.upper(), row.doing, waits, row.summary) if part)


def checks_table(checks: Iterable[Check], *, width: int = 80) -> str:
    """Each check with the causes it can see."""
    cells = [(c.name, " ".join(c.causes), c.summary) for c in checks]
    return columns(("CHECK", "CAUSES", "ASKS"), cells, width=width)


def playbooks_table(rows: Iterable[PlaybookRow], *, width: int = 80) -> str:
    """Each playbook with where it comes from."""
    return columns(("PLAYBOOK", "FROM", "SUMMARY"), list(rows), width=width)


def rewrites_table(rewrites: Iterable[Rewrite], *, width: int = 80) -> str:
    """What was asked for against what is in force, with the rule that made the difference."""
    cells = [(r.key, _or_dash(r.asked), _or_dash(r.effective), r.kind, r.rule) for r in rewrites]
    return columns(("ARGUMENT", "ASKED", "IN FORCE", "HOW", "RULE"), cells, width=width)


def _or_dash(value: str | None) -> str:
    return "-" if value is None else value
