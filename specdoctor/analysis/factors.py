"""Rows that differ in one thing: which switch of a table goes with what came out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from specdoctor.analysis.measured_rows import accept_length_of, ms_per_token
from specdoctor.core.material import Row, Table
from specdoctor.core.model import Frozen

QUALITY = re.compile(
    r"(?:^|_)(?:accuracy|acc|score|reward|pass|passed|pass_rate|correct|exact_match|em|f1|solved|success|resolved|quality)"
    r"(?:_|$)"
)
FAILURES = re.compile(r"broken|garbage|gibberish|error|fail|wrong|garbled|corrupt|looped|repeat|invalid|empty")
OUTCOMES = re.compile(
    r"latency|ttft|tpot|itl|throughput|tok_?s|tokens_s|tps|speed|accept|(?:^|_)al(?:_|$)|step_ms|mean_steps|turns|wall|"
    r"duration|count|drafted|drafts|predicted|p50|p9\d|power|util|temp(?:erature)?_c|memory|requests|prompts?$|answers|"
    r"per_pos|position|rate_by|questions|samples|note|comment|(?:^|_)run(?:_|$)|(?:^|_)id(?:_|$)|index|seed|date|time"
)


class Contrast(Frozen):
    """Two rows that differ in one switch alone: `heading` with two values, and what came out."""

    heading: str
    first: Row
    second: Row

    @property
    def values(self) -> tuple[str, str]:
        return cell(self.first, self.heading), cell(self.second, self.heading)


def cell(row: Row, heading: str) -> str:
    return row.columns.get(heading, "").strip()


def plain(heading: str) -> str:
    """A heading in lower case with underscores."""
    return re.sub(r"[^a-z0-9]+", "_", heading.lower()).strip("_")


def quality_of(table: Table, row: Row) -> float | None:
    """How good the answers were, larger is better, 0 to 1 or in the table's own unit; None where no column says."""
    for heading in table.header:
        name = plain(heading)
        bad = bool(FAILURES.search(name))
        if bad or QUALITY.search(name):
            value = _number(cell(row, heading))
            if value is not None:
                return -value if bad else value
    return None


def switches(table: Table) -> tuple[str, ...]:
    """Headings of a table that say how a row was run, and that take more than one value."""
    return tuple(
        heading
        for heading in table.header
        if not _is_outcome(heading) and len({cell(row, heading) for row in table.rows}) > 1
    )


def contrasts(table: Table) -> tuple[Contrast, ...]:
    """Pairs of rows measured here that differ in one switch and in nothing else that the table says."""
    names = [h for h in switches(table) if not _only_names(h)]
    labels = [h for h in switches(table) if _only_names(h)]
    rows = [row for row in table.rows if not row.elsewhere]
    out: list[Contrast] = []
    for first, second in combinations(rows, 2):
        differ = [h for h in names if cell(first, h) != cell(second, h)]
        differ = _without_names(differ, first, second)
        if len(differ) == 1:
            out.append(Contrast(heading=differ[0], first=first, second=second))
        elif not differ and len(labels) == 1 and cell(first, labels[0]) != cell(second, labels[0]):
            out.append(Contrast(heading=labels[0], first=first, second=second))
    return tuple(out)


def _without_names(differ: list[str], first: Row, second: Row) -> list[str]:
    """The switches without a model's name that only says again what another of them does (Qwen3-8B, Qwen3-8B-FP8)."""
    if len(differ) < 2:
        return differ
    return [h for h in differ if plain(h) not in _MODELS or not _one_stem(cell(first, h), cell(second, h))]


_MODELS = frozenset({"target", "target_model", "model", "checkpoint"})


def _one_stem(one: str, other: str) -> bool:
    short, long = sorted((one.lower(), other.lower()), key=len)
    return bool(short) and long.startswith(short)


def fell(first: Row, second: Row, *, clear: float) -> tuple[str, float] | None:
    """The first of accept length, acceptance and speed that differs by more than `clear`, as second / first."""
    pairs = (
        ("accept length", accept_length_of(first), accept_length_of(second)),
        ("acceptance", first.acceptance, second.acceptance),
        ("speed", _speed(first), _speed(second)),
    )
    ratios = [(name, b / a) for name, a, b in pairs if a and b is not None]
    return next(((name, r) for name, r in ratios if min(r, 1 / r if r else 0.0) <= 1 - clear), None)


def best_of(rows: Sequence[Row]) -> Row:
    """The quickest row."""
    return max(rows, key=lambda row: _speed(row) or 0.0)


def _speed(row: Row) -> float | None:
    token = ms_per_token(row)
    return 1000.0 / token if token else None


def _is_outcome(heading: str) -> bool:
    name = plain(heading)
    return bool(OUTCOMES.search(name) or QUALITY.search(name) or FAILURES.search(name))


def _only_names(heading: str) -> bool:
    """A column that gives each row its name."""
    return plain(heading) in {
        "config",
        "configuration",
        "name",
        "label",
        "what",
        "variant",
        "case",
        "scenario",
        "setup",
        "node",
        "client",
        "frontend",
        "ui",
        "server",
        "host",
        "machine",
    }


def _number(text: str) -> float | None:
    match = re.match(r"-?\d+(?:\.\d+)?", text)
    return float(match[0]) if match else None
