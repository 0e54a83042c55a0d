"""A drafter and its target as read, and how they are served: what a checkpoint check may see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from specdoctor.core.hypothesis import ConfigEdit, Observation
from specdoctor.core.server import Source
from specdoctor.drafter.capture import TargetShape
from specdoctor.drafter.checkpoint import Checkpoint
from specdoctor.drafter.comparison import Column, EngineChoice
from specdoctor.drafter.records.record import TrainingRecord


@dataclass(frozen=True)
class Pair:
    """`choice` is the engine and version asked about, None if nobody said; `method` the algorithm asked of it."""

    draft: Checkpoint
    target: Checkpoint
    shape: TargetShape | None
    choice: EngineChoice | None = None
    column: Column | None = None
    record: TrainingRecord | None = None
    method: str | None = None

    @property
    def engine(self) -> str:
        return self.choice.name if self.choice is not None else ""

    @property
    def release(self) -> tuple[int, ...]:
        """The engine's version as numbers; empty if not known."""
        from specdoctor.drafter.rules.table import ENGINES

        read = ENGINES[self.choice.name].release(self.choice.version) if self.choice is not None else None
        return read[0] if read is not None else ()

    @property
    def reduced(self) -> bool:
        """Whether the drafter proposes from a smaller vocabulary than the target's."""
        drafted, vocabulary = self.draft.whole("draft_vocab_size"), self.target.whole("vocab_size")
        return drafted is not None and vocabulary is not None and drafted < vocabulary


class DrafterCheck(Protocol):
    """One question to a drafter's files. `judge` is a pure function; an empty answer means nothing to say."""

    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str: ...

    @property
    def causes(self) -> tuple[str, ...]: ...

    def judge(self, pair: Pair) -> tuple[Observation, ...]: ...


def fault(
    check: str, cause: str, claim: str, *sources: Source, fix: str = "", edits: tuple[ConfigEdit, ...] = ()
) -> Observation:
    """A fault that stands in the files and takes acceptance with it."""
    return Observation(
        check=check,
        cause=cause,
        stance="supports",
        claim=claim,
        binds=True,
        explains=True,
        unmeasured=True,
        about="accept_length",
        sources=sources,
        fix=fix,
        edits=edits,
    )


def doubt(check: str, cause: str, claim: str, *sources: Source, decides: str, fix: str = "") -> Observation:
    """Something in the files that may cost acceptance; `decides` is the test that tells."""
    return Observation(
        check=check,
        cause=cause,
        stance="suggests",
        claim=claim,
        about="accept_length",
        sources=sources,
        decides=decides,
        decided_by="load",
        fix=fix,
    )
