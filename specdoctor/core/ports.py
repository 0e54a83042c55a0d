"""Ports of the application itself: checks, planners, approvers, the store, whoever looks on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, Protocol, runtime_checkable

from specdoctor.core.answer_sets import AnswerSet
from specdoctor.core.engine import Engine
from specdoctor.core.events import Event, ModelAsked, ProposalRefused, RunStarted
from specdoctor.core.facts import CommandFacts, Facts
from specdoctor.core.hypothesis import Observation
from specdoctor.core.launch import LaunchChange
from specdoctor.core.ledger import Ledger
from specdoctor.core.material import Material
from specdoctor.core.model import Frozen, Risk, Verdict
from specdoctor.core.moves import Move
from specdoctor.core.operations import Progress
from specdoctor.core.person_events import MoveAnswered
from specdoctor.core.policy import Situation
from specdoctor.core.server import ServerView


class Scene(Frozen):
    """What a check may see: the server as read, the raw facts, and how the user says it is used.

    `under_load` is the table of GPUs that was read while a benchmark ran. `material` is what was given beside the
    server's own files: tables, counters, notes. `answers` are those asked of it to be compared.
    """

    view: ServerView
    facts: Facts
    others: tuple[ServerView, ...] = ()
    concurrency: int = 1
    complaints: tuple[str, ...] = ()
    under_load: CommandFacts | None = None
    material: Material = Material()
    answers: tuple[AnswerSet, ...] = ()


class Check(Protocol):
    """One question to what was read. `judge` is a pure function; a check never fetches anything."""

    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str: ...

    @property
    def causes(self) -> tuple[str, ...]: ...

    def judge(self, scene: Scene) -> tuple[Observation, ...]: ...


class Briefing:
    """What a planner is given each round: the ledger and the scene, never a way to the server.

    `situation` is what policy will judge its moves by. `tell` keeps what a planner asked elsewhere in the run's record.
    """

    def __init__(
        self,
        *,
        ledger: Ledger,
        scene: Scene | None,
        engine: Engine | None,
        situation: Situation | None = None,
        tell: Callable[[ModelAsked | ProposalRefused | MoveAnswered], None] | None = None,
    ) -> None:
        self.ledger = ledger
        self.scene = scene
        self.engine = engine
        self.situation = situation or Situation()
        self.tell = tell or (lambda event: None)


class Planner(Protocol):
    """Proposes the next moves; an empty answer means it has nothing more to propose."""

    @property
    def name(self) -> str: ...

    def propose(self, briefing: Briefing) -> Sequence[Move]: ...


class Advice(Frozen):
    """A launch that was measured (`evidence`) and is recommended."""

    change: LaunchChange
    evidence: str
    why: str


class Conclusion(Frozen):
    """What a planner's own question came to; `exit_code` is what the command returns for it.

    Where it has a `verdict` it stands in place of that on a cause: `headline` and `lines` say the answer, `missing`
    what would make it sure.
    """

    exit_code: int
    verdict: Verdict | None = None
    headline: str = ""
    lines: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    advice: Advice | None = None


@runtime_checkable
class Concluding(Protocol):
    """A planner with a question of its own, whose answer is not the verdict on a cause."""

    def conclude(self, briefing: Briefing) -> Conclusion | None:
        """The answer as the evidence stands; None where nothing was read that could tell."""
        ...


class Batch(Frozen):
    """A question to a person: everything needed to say yes or no."""

    id: str
    risk: Risk
    hypotheses: tuple[str, ...]
    text: str
    commands: tuple[str, ...]


class Answer(Frozen):
    """`scope` once: this batch; kind: all of this tier in this run; run: lower tiers too."""

    granted: bool
    scope: Literal["once", "kind", "run"] = "once"
    by: str = "nobody"


class Approver(Protocol):
    """Asks a person. Returns None when nobody can be asked (then the run waits, resumable)."""

    def ask(self, batch: Batch) -> Answer | None: ...


class Store(Protocol):
    """Keeps runs: events in order, artefacts by name with their hash."""

    def append(self, run: str, event: Event) -> None: ...

    def events(self, run: str) -> Iterator[Event]: ...

    def runs(self) -> list[RunStarted]: ...

    def put_artefact(self, run: str, name: str, content: bytes) -> str:
        """Store redacted content; returns its SHA-256 in hex."""
        ...

    def artefact(self, run: str, name: str) -> bytes: ...


class Onlooker(Protocol):
    """Whoever shows the run while it goes: the live screen, plain lines, or nobody."""

    def event(self, event: Event, ledger: Ledger) -> None: ...

    def progress(self, action: str, progress: Progress) -> None: ...

    def close(self) -> None: ...
