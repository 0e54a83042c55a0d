"""Tables with a column for each side ("plain tok/s", "spec tok/s"): each line is two runs, written as two rows."""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.readers.columns import column_of, normalised
from specdoctor.readers.line import Line

_PLAIN = frozenset({"plain", "base", "baseline", "off", "nospec", "vanilla", "without", "no", "non", "ar", "target"})
_SPEC = frozenset(
    {"spec", "speculative", "speculation", "eagle", "eagle3", "mtp", "with", "ngram", "draft", "on", "nextn"}
)
_SPEEDS = frozenset({"throughput_tok_s", "tpot_ms"})
_OF_DRAFTS = frozenset(
    {
        "accept_length",
        "acceptance",
        "accepted_tokens",
        "drafted_tokens",
        "drafts",
        "draft_steps",
        "topk",
        "draft_tokens",
    }
)


def two_sides(heads: Sequence[str], lines: Sequence[Line]) -> tuple[tuple[str, ...], list[Line]] | None:
    """Header and rows with one column of speed and a name for each run; None for a table of another form."""
    sides = [_side(head) for head in heads]
    off = [n for n, side in enumerate(sides) if side is not None and not side[0]]
    on = [n for n, side in enumerate(sides) if side is not None and side[0]]
    if len(off) != 1 or len(on) != 1:
        return None
    (_, field, rest), (_, same, _) = sides[off[0]] or (False, "", ""), sides[on[0]] or (False, "", "")
    if field != same:
        return None
    shared = [n for n in range(len(heads)) if n not in (*off, *on)]
    header = ("config", *(heads[n] for n in shared), rest)
    out: list[Line] = []
    for line in lines:
        cells = (*line.cells, *([""] * (len(heads) - len(line.cells))))
        bare = ["" if column_of(heads[n]).field in _OF_DRAFTS else cells[n] for n in shared]
        out.append(Line(line.number, line.text, ("baseline", *bare, cells[off[0]])))
        out.append(Line(line.number, line.text, ("spec", *(cells[n] for n in shared), cells[on[0]])))
    return header, out


def _side(head: str) -> tuple[bool, str, str] | None:
    """Whether a heading is a speed with (True) or without speculation, its field, and the heading without its side."""
    name, unit = normalised(head)
    words = name.split("_")
    rest = [w for w in words if w not in _PLAIN and w not in _SPEC]
    if len(rest) == len(words):
        return None
    bare = "_".join(rest) + (f" ({unit})" if unit else "")
    field = column_of(bare).field
    return (not set(words) & _PLAIN, field, bare) if field in _SPEEDS else None
