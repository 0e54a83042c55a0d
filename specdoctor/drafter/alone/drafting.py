"""What every drafter that is calculated here can do: read a text, then go on from many places of it side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from specdoctor.drafter.alone.arrays import Floats, Ints
from specdoctor.drafter.alone.layer import Memory, Place


@dataclass
class Chains:
    """Chains of drafts begun at `starts`, indices of the text's inputs; `hidden` [chains, hidden] is fed on."""

    starts: Ints
    hidden: Floats
    memories: list[Memory]
    steps: int = 1

    def place(self) -> Place:
        return Place(positions=self.starts + self.steps, last=self.starts)


class Drafting(Protocol):
    """A drafter over one text. An input of index t foretells the token of index t + `ahead`.

    `ahead` is 2 for EAGLE-3 (the state at t goes with the token at t + 1), 1 for a standalone model.
    """

    @property
    def ahead(self) -> int: ...

    def begin(self, tokens: Ints, features: Floats | None) -> Chains:
        """Read the text; one chain begins at each of its inputs, with the first draft made."""
        ...

    def proposed(self, chains: Chains) -> Ints:
        """The target's ids of the tokens that the chains propose now."""
        ...

    def go_on(self, chains: Chains, tokens: Ints) -> None:
        """One step more in each chain, fed with these tokens."""
        ...
