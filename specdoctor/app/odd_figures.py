"""Figures that cannot be what they are said to be: left out before anything is judged, each named with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import JsonValue

from specdoctor.analysis.figure import MOST_STEPS
from specdoctor.core.material import Material, Row, Table
from specdoctor.core.server import DecodeWindow, LogReading, ServerView, Source, SpecSetting

_LENGTHS = re.compile(
    r"(?:spec|draft)\w*.*(?:num_steps|topk|draft_tokens|speculative_tokens|n_max)$|^draft_(?:n_)?max$"
)
_WHOLE = re.compile(r"-?0*(\d+)", re.ASCII)
_MOST_DIGITS = 9
_PRINTED = 0.005
"""Half of the last digit that engines print of an accept length."""


class Odd:
    """What was left out, by file and line."""

    def __init__(self) -> None:
        self._said: dict[str, list[str]] = {}

    def add(self, source: Source | None, what: str) -> None:
        where = source.where if source is not None else "launch line"
        line = f":{source.line}" if source is not None and source.line else ""
        self._said.setdefault(f"{where}{line}", []).append(what)

    @property
    def found(self) -> dict[str, str]:
        return {place: f"{', '.join(said)}: not possible, left out" for place, said in self._said.items()}


def without_odd(view: ServerView, material: Material) -> tuple[ServerView, Material, dict[str, str]]:
    """Both without impossible figures, and what was left out, by place."""
    odd = Odd()
    kept = _setting(view, odd)
    if kept.log is not None:
        kept = kept.model_copy(update={"log": _log(kept.log, kept.spec or kept.asked_spec, odd)})
    spec = kept.spec or kept.asked_spec
    tables = tuple(_table(table, spec, odd) for table in material.tables)
    return kept, material.model_copy(update={"tables": tables}), odd.found


def _setting(view: ServerView, odd: Odd) -> ServerView:
    """Numbers of steps, branches and draft tokens beyond any engine's are not known."""
    wrong: set[str] = set()
    for values, source in ((view.effective, view.effective_source), (view.asked, view.asked_source)):
        for key, value in _wrong(values):
            wrong.add(key)
            odd.add(source, f"{key}={str(value)[:40]}")
    if not wrong:
        return view
    log = view.log
    if log is not None and log.server_args is not None:
        log = log.model_copy(update={"server_args": {k: v for k, v in log.server_args.items() if k not in wrong}})
    return view.model_copy(
        update={
            "effective": {k: v for k, v in view.effective.items() if k not in wrong},
            "asked": {k: v for k, v in view.asked.items() if k not in wrong},
            "rewrites": tuple(r for r in view.rewrites if r.key not in wrong),
            "spec": _plausible(view.spec),
            "asked_spec": _plausible(view.asked_spec),
            "log": log,
        }
    )


def _wrong(values: dict[str, JsonValue] | dict[str, str]) -> Iterator[tuple[str, JsonValue]]:
    for key, value in values.items():
        digits = _WHOLE.fullmatch(str(value)) if _LENGTHS.search(key) else None
        if digits is not None and (len(digits[1]) > _MOST_DIGITS or not -1 <= int(digits[0]) <= MOST_STEPS + 1):
            yield key, value


def _plausible(spec: SpecSetting | None) -> SpecSetting | None:
    if spec is None:
        return None
    fields = {"draft_steps": MOST_STEPS, "topk": MOST_STEPS, "draft_tokens": MOST_STEPS + 1}
    return spec.model_copy(update={name: 0 for name, most in fields.items() if not 0 <= getattr(spec, name) <= most})


def _most(spec: SpecSetting | None) -> float:
    """The longest that an accept length can be: all drafts and the bonus token."""
    known = spec is not None and spec.on and spec.draft_tokens > 0
    return spec.draft_tokens + 1.0 if known and spec is not None else MOST_STEPS + 1.0


def _log(log: LogReading, spec: SpecSetting | None, odd: Odd) -> LogReading:
    """Decode lines without accept lengths and rates that no cycle has; nothing drafted is printed as 0."""
    most = _most(spec)
    bad: list[tuple[DecodeWindow, str]] = []
    for window in log.decode:
        what = _of_window(window, most)
        if what:
            bad.append((window, what))
    if not bad:
        return log
    first, what = bad[0]
    more = f" (and {len(bad) - 1} such line{'s' if len(bad) > 2 else ''} after it)" if len(bad) > 1 else ""
    odd.add(Source(where=log.where, line=first.shows_acceptance), what + more)
    lines = {window.line for window, _ in bad}
    nothing = {"accept_length": None, "accept_rate": None, "strict_rate": None, "counts": None}
    decode = tuple(w.model_copy(update=nothing) if w.line in lines else w for w in log.decode)
    return log.model_copy(update={"decode": decode})


def _of_window(window: DecodeWindow, most: float) -> str:
    length, rate = window.accept_length, window.accept_rate
    if length is not None and length != 0 and not 1 - _PRINTED <= length <= most + _PRINTED:
        return _length(length, most)
    if rate is not None and not 0 <= rate <= 1 + _PRINTED:
        return f"an accept rate of {rate:g}, above 1"
    return ""


def _length(length: float, most: float) -> str:
    if length < 1:
        return f"an accept length of {length:g}, below the bonus token's 1"
    return f"an accept length of {length:g}, where at most {most:g} are possible"


def _table(table: Table, spec: SpecSetting | None, odd: Odd) -> Table:
    swapped = any(_swapped(row) for row in table.rows)
    rows = tuple(_row(row, spec, odd, swapped=swapped) for row in table.rows)
    return table.model_copy(update={"rows": rows})


def _swapped(row: Row) -> bool:
    """Whether a row without speculation has the accept length 1 as its speed, and a speed as its accept length."""
    return row.speculative is False and (row.accept_length or 0) > 1 and row.throughput_tok_s == 1


def _row(row: Row, spec: SpecSetting | None, odd: Odd, *, swapped: bool) -> Row:
    if swapped and row.accept_length is not None and row.throughput_tok_s is not None:
        said = f"an accept length of {row.accept_length:g} and {row.throughput_tok_s:g} tok/s (columns swapped?)"
        odd.add(row.source, said)
        return row.model_copy(update={"accept_length": None, "throughput_tok_s": None})
    most = float(row.draft_tokens or (row.draft_steps + 1 if row.draft_steps and not row.topk else 0))
    most = most + 1 if most else _most(spec)
    if row.accept_length is None or 1 - _PRINTED <= row.accept_length <= most + _PRINTED:
        return row
    odd.add(row.source, _length(row.accept_length, most))
    return row.model_copy(update={"accept_length": None})
