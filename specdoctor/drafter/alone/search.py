"""Which states was this head trained on? Every ordered choice of those at hand is fed to it, and ranked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import perm

from specdoctor.drafter.alone.arrays import Bools
from specdoctor.drafter.alone.head import Head, Slot
from specdoctor.drafter.alone.replay import Counts, Judged, Text, judge, over_all

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Tried:
    """One ordered choice: cycles over all positions of each text, and how often its first draft was right."""

    states: tuple[str, ...]
    counts: tuple[Counts, ...]
    first_right: int
    first_judged: int

    @property
    def accept_length(self) -> float:
        """1 + accepted / chains, a chain at every position: what ranks the choices."""
        cycles = sum(count.cycles for count in self.counts)
        return 1.0 + sum(count.accepted for count in self.counts) / cycles if cycles else 1.0


def choices(names: Sequence[str], slots: int) -> int:
    """How many ordered choices there are, no state twice."""
    return perm(len(names), slots)


def search(
    head: Head, texts: Sequence[Text], names: Sequence[str], *, steps: int, known: Bools | None, progress: Progress
) -> list[Tried]:
    """All ordered choices, the best first. A state's share of fc is calculated once for each place it can take."""
    slots = head.fusion.slots
    shares: list[dict[tuple[int, str], Slot]] = [
        {(place, name): head.fusion.slot(place, text.states[name]) for place in range(slots) for name in names}
        for text in texts
    ]
    total = choices(names, slots)
    found = []
    for number, choice in enumerate(permutations(names, slots)):
        judged: list[Judged] = []
        for text, share in zip(texts, shares, strict=True):
            features = head.fusion.joined([share[place, name] for place, name in enumerate(choice)])
            judged.append(judge(head, text, features, steps=steps, known=known))
        found.append(
            Tried(
                states=choice,
                counts=tuple(over_all(one, steps=steps) for one in judged),
                first_right=sum(int(one.forced[:, 0].sum()) for one in judged),
                first_judged=sum(int(one.judged[:, 0].sum()) for one in judged),
            )
        )
        progress(number + 1, total)
    return sorted(found, key=lambda tried: -tried.accept_length)
