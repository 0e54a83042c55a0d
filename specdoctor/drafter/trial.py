"""Could this drafter be tried on this target? Shapes allow a trial and prove nothing."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from specdoctor.core.model import Frozen
from specdoctor.drafter.pair import Pair

Answer = Literal["fits", "differs", "free", "not known"]
PROVES = "shapes that fit allow a trial; another target of the same shapes has other states, so they prove nothing"
TELLS = (
    "where it is known to be good for this very target, one launch with it is the first test to make: it separates the "
    "drafter from the system"
)


class Shape(Frozen):
    """One figure of both. `free`: the drafter may have its own."""

    name: str
    drafter: JsonValue
    target: JsonValue
    answer: Answer


class Trial(Frozen):
    """The table of shapes; `loads` is False where an engine would refuse the pair."""

    shapes: tuple[Shape, ...]
    loads: bool


def trial(pair: Pair) -> Trial:
    """Hidden size, intermediate size, heads, vocabulary, RoPE and layers of both, and what must be equal."""
    draft, target = pair.draft, pair.target
    head = draft.is_eagle3
    hidden = draft.whole("target_hidden_size") or draft.whole("hidden_size") if head else draft.whole("hidden_size")
    shapes = [
        _row("hidden size" + (" it expects" if head else ""), hidden, target.whole("hidden_size"), bound=head),
        _row("vocabulary", draft.whole("vocab_size"), target.whole("vocab_size"), bound=True),
        _row("intermediate size", draft.whole("intermediate_size"), target.whole("intermediate_size"), bound=False),
        _row("attention heads", draft.whole("num_attention_heads"), target.whole("num_attention_heads"), bound=False),
        _row("layers", draft.whole("num_hidden_layers"), target.whole("num_hidden_layers"), bound=False),
        _row("rope_theta", draft.text.get("rope_theta"), target.text.get("rope_theta"), bound=False),
        _row(
            "positions",
            draft.whole("max_position_embeddings"),
            target.whole("max_position_embeddings"),
            bound=False,
        ),
    ]
    return Trial(shapes=tuple(shapes), loads=all(row.answer != "differs" for row in shapes))


def _row(name: str, mine: JsonValue, theirs: JsonValue, *, bound: bool) -> Shape:
    answer: Answer = "fits" if mine == theirs else "differs" if bound else "free"
    if mine is None or theirs is None:
        answer = "not known"
    return Shape(name=name, drafter=mine, target=theirs, answer=answer)
