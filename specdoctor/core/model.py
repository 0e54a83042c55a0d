"""The base of all specdoctor types: frozen, strict about unknown fields."""

from __future__ import annotations

from enum import IntEnum, StrEnum

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Immutable value; unknown fields are refused, so a typo in a file is an error, not silence."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Timed(Frozen):
    """Something of a run that happened at a time: `at` is seconds since the epoch, by the controller's clock."""

    at: float = 0.0


class Risk(IntEnum):
    """What an action can do to the server under study; ordered, so tiers can be compared."""

    READ = 0
    LOAD = 1
    RESTART = 2

    @property
    def word(self) -> str:
        return self.name.lower()


class Status(StrEnum):
    """State of a hypothesis. `supported` and `falsified` are decided on evidence; `parked` is not decided."""

    OPEN = "open"
    SUPPORTED = "supported"
    FALSIFIED = "falsified"
    PARKED = "parked"


DECIDED = frozenset({Status.SUPPORTED, Status.FALSIFIED})


class Role(StrEnum):
    """What a real fault has to do with the symptom."""

    EXPLAINS = "explains"
    CONTRIBUTES = "contributes"
    PRESENT = "present"


class Verdict(StrEnum):
    """How an investigation ends. `answered`: a search for the fastest setting, or two
    launches in turns, have their answer.
    """

    CAUSE = "cause"
    HEALTHY = "healthy"
    NOT_ENOUGH_EVIDENCE = "not-enough-evidence"
    ANSWERED = "answered"
