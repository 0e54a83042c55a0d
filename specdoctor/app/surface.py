"""Accept length of one server under several conditions: temperature, place in the answer, structured output."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specdoctor.analysis.pooling import RequestCounts
from specdoctor.analysis.surface import Cell, Row, later_part, surface
from specdoctor.app.benching import BenchSettings, Load, Side
from specdoctor.app.measuring import counts_by_request
from specdoctor.core.errors import TargetError, UsageError
from specdoctor.core.measurement import BenchRecord
from specdoctor.core.operations import OnProgress
from specdoctor.core.reach import spoken

BEGINNING = 48
"""Tokens that count as the beginning of an answer (named heuristic)."""
RECORDS = "records"
"""The built-in prompts that ask for what `SCHEMA` describes."""
SCHEMA = (
    '{"type": "object", "properties": {"title": {"type": "string"}, "items": {"type": "array", "items": {"type": '
    '"object", "properties": {"name": {"type": "string"}, "note": {"type": "string"}, "count": {"type": "integer"}}, '
    '"required": ["name", "note", "count"]}}}, "required": ["title", "items"]}'
)
GREEDY = "0 (greedy)"
TEMPERATURE, PLACE, OUTPUT = "temperature", "position", "output"


def conditions(
    side: Side,
    settings: BenchSettings,
    temperatures: Sequence[float],
    *,
    on_block: Callable[[str], None],
    on_progress: OnProgress,
) -> tuple[Row, ...]:
    """Measure each condition once and compare it with its reference. Raises TargetError where nothing is counted."""
    if not side.spec.on:
        raise TargetError(f"{spoken(side.label)}: no speculation is in force", next_step="measure a server that drafts")
    if settings.max_new_tokens < 2 * BEGINNING:
        raise UsageError(
            f"--max-new-tokens {settings.max_new_tokens}: too short to tell the beginning of an answer from the rest",
            next_step=f"give {2 * BEGINNING} or more",
        )

    def counted(what: str, temperature: float = 0.0, **more: object) -> tuple[RequestCounts, ...]:
        on_block(what)
        plan = side.plan(settings.model_copy(update=more), Load(temperature=temperature))
        return _counts(side.operations.bench(plan, on_progress))

    greedy = counted("greedy, whole answers")
    begun = counted(f"greedy, the first {BEGINNING} tokens", max_new_tokens=BEGINNING)
    cells = [Cell(along=TEMPERATURE, value=GREEDY, requests=greedy)]
    for heat in temperatures:
        requests = counted(f"temperature {heat:g}", temperature=heat)
        cells.append(Cell(along=TEMPERATURE, value=f"{heat:g}", requests=requests))
    cells.append(Cell(along=PLACE, value=f"1 to {BEGINNING}", requests=begun))
    rest = f"{BEGINNING + 1} to {settings.max_new_tokens}"
    cells.append(Cell(along=PLACE, value=rest, requests=later_part(greedy, begun)))
    free = counted("records in free text", prompts=RECORDS, categories=())
    bound = counted("the same records by a JSON schema", prompts=RECORDS, categories=(), json_schema=SCHEMA)
    cells += [
        Cell(along=OUTPUT, value="free text", requests=free),
        Cell(along=OUTPUT, value="JSON schema", requests=bound),
    ]
    if not greedy:
        raise TargetError(
            f"{spoken(side.label)}: its answers do not say how many drafts were accepted in each",
            next_step="for pooled counters use specdoctor bench --temperature 0,0.7,1",
        )
    return surface(cells, steps=side.spec.draft_steps)


def _counts(record: BenchRecord) -> tuple[RequestCounts, ...]:
    return tuple(counts_by_request([r for r in record.requests if r.ok]))
