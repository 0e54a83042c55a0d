"""What a drafter gets right on stored texts: step by step under the text's own tokens, and in chains as in service.

Indices: a chain at *base* c knows the tokens up to c (c is the bonus token of the cycle before) and drafts those at
c + 1, c + 2, ... In service the first base is the first token of the answer, which the prefill gives, and each further
one the bonus token of the cycle before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from specdoctor.drafter.alone.arrays import Bools, Floats, Ints
from specdoctor.drafter.alone.drafting import Chains, Drafting
from specdoctor.drafter.alone.layer import Memory

Ending = Literal["past", "cut"]
"""Drafts that reach beyond the answer: made and judged all the same (vLLM), or not made (llama.cpp)."""


@dataclass(frozen=True)
class Text:
    """One sequence: all `tokens`, the index where the answer begins, how many tokens of it were served.

    Tokens beyond the answer are what the target would have gone on with. `greedy` is the target's first choice for
    each index, None where it is not known; `states` are named arrays [tokens, hidden].
    """

    name: str
    tokens: Ints
    answer_at: int
    answer_tokens: int
    greedy: Ints | None = None
    states: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def wanted(self) -> Ints:
        """What a draft should have been, by index: the target's first choice, else the token that stands there."""
        return self.tokens if self.greedy is None else self.greedy


@dataclass(frozen=True)
class Judged:
    """All chains over one text. Row i is base `bases[i]`, column j the draft of step j + 1.

    `right` were equal to the text, drafted from own tokens; `forced` were the target's first choice, drafted from the
    text's tokens; `judged` tells where the text is long enough to tell. `covered` is where the drafter's vocabulary has
    the wanted token at all.
    """

    text: Text
    bases: Ints
    right: Bools
    forced: Bools
    judged: Bools
    covered: Bools

    @property
    def steps(self) -> int:
        return int(self.right.shape[1])

    def accepted(self, row: int, most: int) -> int:
        """Drafts accepted at one base if at most `most` are made: those right before the first wrong one."""
        wrong = np.flatnonzero(~self.right[row, :most])
        return int(wrong[0]) if len(wrong) else most


@dataclass(frozen=True)
class Counts:
    """Cycles of one text by how many drafts were accepted in them; `unjudged` cycles had drafts beyond the text."""

    name: str
    histogram: tuple[int, ...]
    unjudged: int = 0

    @property
    def cycles(self) -> int:
        return sum(self.histogram)

    @property
    def accepted(self) -> int:
        return sum(number * count for number, count in enumerate(self.histogram))


def judge(drafter: Drafting, text: Text, features: Floats | None, *, steps: int, known: Bools | None = None) -> Judged:
    """Draft `steps` tokens from every base of the answer, once from own tokens and once from the text's.

    `known` [target vocabulary] marks the tokens that the drafter can say; None: all.
    """
    count = len(text.tokens)
    first = text.answer_at
    own = drafter.begin(text.tokens, features)
    offset = drafter.ahead - 1
    bases = own.starts + offset
    kept = np.flatnonzero((bases >= first) & (bases < count - 1))
    # The first draft is the same in both; then the chains part.
    own = _only(own, kept)
    forced = Chains(starts=own.starts, hidden=own.hidden.copy(), memories=[_again(m) for m in own.memories])
    bases = bases[kept]
    shape = (len(bases), steps)
    right, agreed = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    judged, covered = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    wanted = text.wanted
    for step in range(steps):
        at = bases + 1 + step
        inside = at < count
        at = np.minimum(at, count - 1)
        drafted = drafter.proposed(own)
        right[:, step] = (drafted == text.tokens[at]) & inside
        agreed[:, step] = (drafter.proposed(forced) == wanted[at]) & inside
        judged[:, step] = inside
        covered[:, step] = inside if known is None else inside & known[wanted[at]]
        if step + 1 < steps:
            drafter.go_on(own, drafted)
            drafter.go_on(forced, text.tokens[at])
    return Judged(text=text, bases=bases, right=right, forced=agreed, judged=judged, covered=covered)


def _only(chains: Chains, kept: Ints) -> Chains:
    return Chains(starts=chains.starts[kept], hidden=chains.hidden[kept], memories=chains.memories)


def _again(memory: Memory) -> Memory:
    """The same text, no drafts yet: the two kinds of chain share what they read."""
    return Memory(keys=memory.keys, values=memory.values)


def in_service(judged: Judged, *, steps: int, ending: Ending) -> Counts:
    """Replay the cycles of one answer: a new chain begins after each bonus token, until the answer is complete.

    With "past" a cycle always drafts `steps` tokens, also beyond the answer; with "cut" at most as many as are still
    wanted after the bonus token, and a cycle without a draft is not counted.
    """
    text = judged.text
    histogram = [0] * (steps + 1)
    unjudged = 0
    base, end = text.answer_at, text.answer_at + text.answer_tokens - 1
    row_of = {int(b): row for row, b in enumerate(judged.bases)}
    while base < end:
        most = steps if ending == "past" else min(steps, end - base - 1)
        if most <= 0 or base not in row_of:
            base += 1
            continue
        row = row_of[base]
        accepted = judged.accepted(row, most)
        if accepted < most and not judged.judged[row, accepted]:
            unjudged += 1  # the text ends before this draft could be told right or wrong
        else:
            histogram[accepted] += 1
        base += accepted + 1
    return Counts(name=text.name, histogram=tuple(histogram), unjudged=unjudged)


def over_all(judged: Judged, *, steps: int) -> Counts:
    """A chain at every base of the answer, as if each token were a bonus token: another quantity than in service."""
    histogram = [0] * (steps + 1)
    end = judged.text.answer_at + judged.text.answer_tokens
    for row, base in enumerate(judged.bases):
        if base < end and judged.judged[row, steps - 1]:
            histogram[judged.accepted(row, steps)] += 1
    return Counts(name=judged.text.name, histogram=tuple(histogram))
