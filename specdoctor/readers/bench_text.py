"""Results as load generators print them: names and numbers, one pair on each line."""

from __future__ import annotations

import re
from typing import NamedTuple

from specdoctor.core.material import Material
from specdoctor.core.reader import Reading
from specdoctor.core.server import Source
from specdoctor.readers.cells import number_of
from specdoctor.readers.columns import MEASURES, column_of
from specdoctor.readers.line import Line
from specdoctor.readers.rows import table_of

_PAIR = re.compile(
    r"^\s*([A-Za-z\u03c4][\w \t().,/%#+-]{1,60}?)\s*[:=]\s*(\S{1,40}(?: (?:ms|s|%|tok/s|tokens/s))?)\s*$"
)
_POSITION = re.compile(r"\b(?:token|position|pos)\s*(\d+)(?:\s*\(%\))?$", re.IGNORECASE)
_RESULT = re.compile(
    r"Benchmark Result|num_accepted_tokens|acceptance length|Output token throughput|total_num_output_tokens",
    re.IGNORECASE,
)
_MOST_CHARS = 256 * 1024
_SHARE = 0.4


class _Reader(NamedTuple):
    name: str = "bench_text"
    summary: str = "printed results of bench_serving, vllm bench serve and the offline examples"
    rank: int = 28

    def read(self, text: str, *, where: str) -> Reading | None:
        if len(text) > _MOST_CHARS or not _RESULT.search(text):
            return None
        pairs: list[tuple[int, str, str]] = []
        positions: dict[int, float] = {}
        shown = 0
        for number, line in enumerate(text.split("\n"), start=1):
            shown += bool(line.strip())
            match = _PAIR.match(line) if len(line) < 200 else None
            if match is None or (value := number_of(match[2])) is None:
                continue
            position = _POSITION.search(match[1])
            if position is not None:
                share = value.value / 100 if "%" in match[1] or value.value > 1 else value.value
                positions[int(position[1])] = share
            pairs.append((number, match[1], match[2]))
        fields = {column_of(name).field for _, name, _ in pairs}
        if len(pairs) < _SHARE * shown or not fields & MEASURES:
            return None
        return Reading(kind="bench result", pieces=_table(where, text, pairs, positions))


def _table(where: str, text: str, pairs: list[tuple[int, str, str]], positions: dict[int, float]) -> Material:
    """One row, cited by the line of its accept length or throughput."""
    kept = [pair for pair in pairs if not _POSITION.search(pair[1])]
    told = [
        p for field in ("accept_length", "throughput_tok_s", "tpot_ms") for p in kept if column_of(p[1]).field == field
    ]
    number = (told or kept)[0][0]
    words = text.split("\n")[number - 1]
    table = table_of(where, [name for _, name, _ in kept], [Line(number, words, tuple(value for _, _, value in kept))])
    row = table.rows[0].model_copy(
        update={
            "source": Source(where=where, line=number, quote=words.strip()),
            "per_position": tuple(positions[i] for i in sorted(positions)),
        }
    )
    return Material(tables=(table.model_copy(update={"rows": (row,)}),))


reader = _Reader()
