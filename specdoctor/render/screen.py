"""The live screen as lines of text: a pure function of what is known, the time and the size of the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich.text import Text

from specdoctor.core.events import ActionStarted
from specdoctor.core.hypothesis import Hypothesis, TodoItem, TodoStatus
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import DECIDED, Status
from specdoctor.core.operations import Progress
from specdoctor.render.clean import one_line
from specdoctor.render.figures import TODO_WORDS, amount, clock, evidence_ids, prediction_and_result, server_words
from specdoctor.render.layout import GAP, clip, gapped, pad, width_of, wrap

STYLES = {
    Status.OPEN: "bold",
    Status.SUPPORTED: "bold green",
    Status.FALSIFIED: "bold red",
    Status.PARKED: "dim",
}
_WIDEST, _NARROWEST = 132, 40
_LABEL = 10
_MOST_LINES = 2
"""Lines of a claim, of its outcome and of the last event where not everything fits."""
_DOING = {
    "snapshot": "reading the server",
    "checks": "judging what was read",
    "compute": "working out bounds",
    "watch": "watching the traffic",
    "bench": "measuring",
    "relaunch": "restarting",
    "restore": "restoring the original launch",
}


@dataclass(frozen=True)
class Row:
    """A hypothesis as shown: with what was predicted and what came of it, in words."""

    hypothesis: Hypothesis
    outcome: str


@dataclass(frozen=True)
class Picture:
    """What the screen shows of a ledger, taken at one moment, so that it can be drawn from another thread."""

    target: str
    run: str
    server: tuple[str, ...]
    budget: str
    down_s: float
    restarting_since: float | None
    traffic: str
    rows: tuple[Row, ...]
    doing: str
    doing_since: float
    last: str
    first_at: float


@dataclass(frozen=True)
class Step:
    """The latest progress of an operation, and when it was heard of (seconds since the epoch)."""

    progress: Progress
    at: float


def picture_of(ledger: Ledger) -> Picture:
    """The picture of a ledger as it is now."""
    started = ledger.started
    running = ledger.open_actions()
    ended = [a.ended for a in ledger.actions.values() if a.ended is not None]
    last = f"{ended[-1].action} {ended[-1].outcome}: {ended[-1].summary}" if ended else ""
    if ledger.ended is not None:
        last = ledger.ended.reason
    return Picture(
        target=one_line(started.target) if started else "",
        run=one_line(started.run) if started else "",
        server=_server(ledger),
        budget=f"{ledger.restarts} of {ledger.settings.max_restarts} restarts" if started else "",
        down_s=ledger.downtime_s,
        restarting_since=ledger.restarting_since,
        traffic=_traffic(ledger),
        rows=tuple(Row(h, prediction_and_result(h, ledger)) for h in ledger.hypotheses.values()),
        doing=_doing(running[-1].started) if running else "",
        doing_since=running[-1].started.at if running else 0.0,
        last=last,
        first_at=ledger.first_at,
    )


def _server(ledger: Ledger) -> tuple[str, ...]:
    seen = ledger.server
    if seen is None:
        return ("server not looked at yet",)
    name, summary = server_words(seen)
    pid = f", pid {seen.ref.pid}" if seen.ref else f", {seen.state}"
    return (f"{name}{pid}", summary)


def _traffic(ledger: Ledger) -> str:
    """The last count of other people's requests that an evidence holds under `foreign_requests`."""
    for evidence in reversed(ledger.evidence.values()):
        if "foreign_requests" in evidence.data:
            count = evidence.data["foreign_requests"]
            if not isinstance(count, int | float):
                return "foreign traffic not visible"
            return f"{amount(count)} foreign requests seen" if count else "no foreign traffic"
    return "traffic not looked at yet"


def _doing(action: ActionStarted) -> str:
    change = action.move.get("change")
    label = change.get("label") if isinstance(change, dict) else None
    words = _DOING.get(action.what, action.what)
    return one_line(f"{words}, {label}" if label and action.what == "relaunch" else words)


def frame(picture: Picture, *, now: float, width: int, height: int, step: Step | None = None) -> list[Text]:
    """The screen's lines: never wider than `width` (40 at least) nor more than `height` (7 at least)."""
    width = max(min(width, _WIDEST), _NARROWEST)
    head = [_header(picture, width), _budget_line(picture, now, width), Text()]
    tail = [Text(), *_progress_lines(picture, step, now, width)]
    room = max(height, 7) - len(head) - len(tail)
    return [*head, *_fit(picture.rows, width, room), *tail]


def _header(picture: Picture, width: int) -> Text:
    right = f"run {picture.run}"
    target = clip(picture.target, 24)
    line = Text(target, style="bold")
    line.append(" " * max(_LABEL - width_of(target), GAP))
    room = width - width_of(line.plain) - width_of(right) - 2
    line.append(gapped(picture.server, room))
    return _right(line, right, width)


def _budget_line(picture: Picture, now: float, width: int) -> Text:
    line = Text(pad("budget", _LABEL))
    right = clock(now - picture.first_at) if picture.first_at else "0:00"
    room = width - _LABEL - width_of(right) - 2
    budget = f"{picture.budget}, {_down(picture, now)}" if picture.budget else ""
    line.append(gapped((budget, picture.traffic), room))
    return _right(line, right, width)


def _down(picture: Picture, now: float) -> str:
    """How long the server was down; of a restart under way all the time since its beginning counts, at most."""
    if picture.restarting_since is None:
        return f"{clock(picture.down_s)} down"
    return f"at most {clock(picture.down_s + max(now - picture.restarting_since, 0.0))} down"


def _right(line: Text, right: str, width: int) -> Text:
    line.append(" " * (width - width_of(line.plain) - width_of(right)) + right)
    return line


@dataclass(frozen=True)
class _Gutter:
    """Widths of the columns left of a claim: id, status word and cause."""

    id: int
    cause: int

    @property
    def total(self) -> int:
        return self.id + 1 + 9 + 2 + (self.cause + 2 if self.cause else 0)


def _gutter(rows: Sequence[Row], width: int) -> _Gutter:
    causes = max((width_of(one_line(r.hypothesis.cause or "")) for r in rows), default=0)
    gutter = _Gutter(id=max((width_of(r.hypothesis.id) for r in rows), default=2), cause=min(causes, 9))
    return gutter if width - gutter.total >= 30 else _Gutter(id=gutter.id, cause=0)


def _fit(rows: Sequence[Row], width: int, room: int) -> list[Text]:
    """The list in at most `room` lines: whole if it fits, else cut.

    Of a cut one the oldest decided claims give way first, then parked ones, then todo items.
    """
    gutter = _gutter(rows, width)
    if not rows:
        return [Text("no hypothesis yet", style="dim")]
    whole = [line for r in rows for line in _block(r, gutter, width, _all_todo, most=room)]
    if len(whole) <= room:
        return whole
    hidden: list[Row] = []
    for todo in (_all_todo, _ahead, _current, _none):
        blocks = {r.hypothesis.id: _block(r, gutter, width, todo) for r in rows}
        for row in (None, *_giving_way(rows)):
            if row is not None and row not in hidden:
                hidden.append(row)
            shown = [line for r in rows if r not in hidden for line in blocks[r.hypothesis.id]]
            summary = [_collapsed(hidden, width)] if hidden else []
            if len(summary) + len(shown) <= room:
                return summary + shown
    kept = (summary + shown)[: room - 1]
    left_out = len(summary) + len(shown) - len(kept)
    return [*kept, Text(clip(f"and {left_out} more lines; the list is in the transcript", width), style="dim")]


def _giving_way(rows: Sequence[Row]) -> list[Row]:
    decided = [r for r in rows if r.hypothesis.status in DECIDED]
    return decided + [r for r in rows if r.hypothesis.status is Status.PARKED]


def _collapsed(rows: Sequence[Row], width: int) -> Text:
    words = ", ".join(f"{r.hypothesis.id} {r.hypothesis.status}" for r in rows)
    if width_of(words) > width - width_of("earlier: "):
        by_status: dict[Status, list[str]] = {}
        for row in rows:
            by_status.setdefault(row.hypothesis.status, []).append(row.hypothesis.id)
        words = ", ".join(f"{' '.join(ids)} {status}" for status, ids in by_status.items())
    return Text(clip(f"earlier: {words}", width), style="dim")


def _all_todo(hypothesis: Hypothesis) -> Iterable[TodoItem]:
    return () if hypothesis.status in DECIDED else hypothesis.todo


def _ahead(hypothesis: Hypothesis) -> Iterable[TodoItem]:
    live = (TodoStatus.IN_PROGRESS, TodoStatus.PENDING)
    return [t for t in _all_todo(hypothesis) if t.status in live][:2]


def _current(hypothesis: Hypothesis) -> Iterable[TodoItem]:
    return [t for t in _all_todo(hypothesis) if t.status is TodoStatus.IN_PROGRESS][:1]


def _none(hypothesis: Hypothesis) -> Iterable[TodoItem]:
    return ()


def _block(
    row: Row,
    gutter: _Gutter,
    width: int,
    todo: Callable[[Hypothesis], Iterable[TodoItem]],
    *,
    most: int = _MOST_LINES,
) -> list[Text]:
    h = row.hypothesis
    room = width - gutter.total
    claim = h.claim if gutter.cause or not h.cause else f"{h.cause} {h.claim}"
    claims = _at_most(most, claim, room)
    first = Text(pad(h.id, gutter.id + 1))
    first.append(pad(h.status.value, 9), style=STYLES[h.status])
    first.append("  " + (pad(clip(h.cause or "", gutter.cause), gutter.cause + 2) if gutter.cause else ""))
    first.append(claims[0])
    indent = " " * gutter.total
    lines = [first, *(Text(indent + c) for c in claims[1:])]
    lines += _outcome_lines(row, indent, room, most)
    for item in todo(h):
        words = _at_most(most - 1, item.content, room - 8)
        lines += [Text(indent + pad(TODO_WORDS[item.status], 8) + words[0])]
        lines += [Text(indent + " " * 8 + more) for more in words[1:]]
    return lines


def _at_most(most: int, text: str, room: int) -> list[str]:
    """A text in at most so many lines; what is cut of the last one is marked."""
    lines = wrap(text, room, cut_words=True)
    if len(lines) <= max(most, 1):
        return lines
    return [*lines[: max(most, 1) - 1], clip(" ".join(lines[max(most, 1) - 1 :]), room)]


def _outcome_lines(row: Row, indent: str, room: int, most: int) -> list[Text]:
    cited = evidence_ids(row.hypothesis.evidence)
    if not row.outcome and not cited:
        return []
    words = _at_most(most, row.outcome, room)
    if cited and width_of(words[-1]) + 2 + width_of(cited) <= room:
        words[-1] = pad(words[-1], room - width_of(cited)) + cited
    elif cited:
        words.append(" " * max(room - width_of(cited), 0) + clip(cited, room))
    return [Text(indent + w) for w in words]


def _progress_lines(picture: Picture, step: Step | None, now: float, width: int) -> list[Text]:
    if not picture.doing:
        return [Text(line) for line in _at_most(_MOST_LINES, picture.last, width)]
    since = f"for {clock(now - picture.doing_since)}"
    parts = [picture.doing, *(progress_parts(step.progress, age_s=now - step.at) if step else [since])]
    if sum(width_of(p) + GAP for p in parts) > width + GAP:
        parts = parts[1:]
    return [Text(gapped(parts, width))]


def progress_parts(progress: Progress, *, age_s: float = 0.0) -> list[str]:
    """Phase, how much of how much, how fast, and the time left, as far as they are known."""
    parts = [progress.phase]
    if progress.done is not None:
        unit = f" {progress.unit}" if progress.unit else ""
        total = f" of {amount(progress.total)}{unit}" if progress.total is not None else f"{unit} so far"
        parts.append(f"{amount(progress.done)}{total}")
    if progress.tok_s is not None:
        parts.append(f"{progress.tok_s:.4g} tok/s so far")
    if progress.eta_s is not None:
        left = progress.eta_s - age_s
        words = f"{max(round(left), 1)} s" if left < 59.5 else clock(round(left))
        parts.append(f"about {words} left" if left > 0 else "longer than estimated")
    return parts
