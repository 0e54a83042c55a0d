"""What a verdict is made of: causes, the line to paste, what a repair is expected to bring."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from specdoctor.core.estimate import Estimate
from specdoctor.core.model import Frozen, Role


class CauseNamed(Frozen):
    """One cause of a verdict. `supported` needs evidence; `suspected` names what would decide it."""

    cause: str
    status: Literal["supported", "suspected"]
    role: Role
    claim: str
    evidence: tuple[str, ...] = ()
    decides: str = ""


class Recommendation(Frozen):
    """A line to paste, the way back, and what it is expected to bring, with where that comes from.

    `first` is a command of its own that makes what the launch needs, where that is not there; `where` says of which
    image's container the line is. `then`: what would have to come true for something better, in order.
    """

    launch: str
    rollback: str
    expected: dict[str, JsonValue]
    basis: Literal["measured", "predicted", "typed"]
    why: str
    then: tuple[str, ...] = ()
    first: str = ""
    where: str = ""


class ExpectedAfterRepair(Frozen):
    """One client with a chain of `steps` drafts once the drafter is fed as it was trained: predicted, not measured."""

    steps: int
    accept_length: float
    throughput: Estimate
