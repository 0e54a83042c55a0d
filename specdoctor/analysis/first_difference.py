"""Where two greedy answers part, and how sure the target was of its token there."""

from __future__ import annotations

from collections.abc import Sequence

from specdoctor.core.answer_sets import AnswerSet, GivenAnswer
from specdoctor.core.model import Frozen


class Difference(Frozen):
    """The first place where an answer is another one: character, and the gap of the two best tokens there (nats).

    `gap` is None where the server told none. A character may belong to the token before, so that the smaller gap of
    both counts.
    """

    prompt: str
    at: int
    gap: float | None = None


def differences(answers: AnswerSet, plain: Sequence[AnswerSet]) -> tuple[Difference, ...]:
    """The answers that are none of what a launch gave to the same prompt, each with its first difference.

    The gap is that of the set which tells one.
    """
    out: list[Difference] = []
    for given in answers.answers:
        others = [a for one in plain for a in one.answers if a.prompt == given.prompt]
        if not others or any(a.text == given.text for a in others):
            continue
        told = next((a for a in others if a.choices), others[0])
        at = _parting(told.text, given.text)
        out.append(Difference(prompt=given.prompt, at=at, gap=_gap(told, at)))
    return tuple(out)


def compared(answers: AnswerSet, plain: Sequence[AnswerSet]) -> int:
    """How many answers have one to be compared with."""
    known = {a.prompt for one in plain for a in one.answers}
    return sum(a.prompt in known for a in answers.answers)


def _parting(one: str, other: str) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _gap(told: GivenAnswer, at: int) -> float | None:
    """The smaller gap of the token that holds this character and the one before; None where the tokens do not fit."""
    begin, before = 0, None
    for text, gap in told.choices:
        end = begin + len(text)
        if not told.text.startswith(text, begin):
            return None
        if begin <= at < end:
            known = [g for g in (before, gap) if g is not None]
            return min(known) if known else None
        begin, before = end, gap
    return None
