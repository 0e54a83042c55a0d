"""The run as an append-only list of typed events. Everything else (ledger, screen, report) is a fold over them.

Events are never edited: a correction is a new event. `at` is seconds since the epoch by the controller's clock.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter

from specdoctor.core.choice import Choice
from specdoctor.core.conclusions import CauseNamed, ExpectedAfterRepair, Recommendation
from specdoctor.core.estimate import Estimate
from specdoctor.core.hypothesis import Claim, Hypothesis, Observation, TodoStatus
from specdoctor.core.launch import LaunchChange, LaunchOutcome, RestoreOutcome
from specdoctor.core.measurement import Measurement
from specdoctor.core.model import Risk, Status, Timed, Verdict
from specdoctor.core.person_events import HypothesisTakenUp, MoveAnswered, MoveAsked, PauseSet, PriorSet, SymptomTold
from specdoctor.core.run_settings import RunSettings
from specdoctor.core.server import ServerRef, SpecSetting


class RunStarted(Timed):
    """A run begins on a target. `by`: who began it, as user@machine."""

    kind: Literal["run.started"] = "run.started"
    run: str
    target: str
    settings: RunSettings
    tool_version: str
    by: str = ""


class RunResumed(Timed):
    """A stopped or killed run goes on; `lost` names actions that had started and have no end.

    `allow`, where it is said, takes the place of what was allowed, answered or refused before.
    """

    kind: Literal["run.resumed"] = "run.resumed"
    lost: tuple[str, ...] = ()
    allow: Risk | None = None
    max_restarts: int | None = None
    max_minutes: float | None = None


class ClaimStated(Timed):
    """A number the user typed."""

    kind: Literal["claim.stated"] = "claim.stated"
    claim: Claim


class HypothesisOpened(Timed):
    """A claim goes on the list, with its prediction."""

    kind: Literal["hypothesis.opened"] = "hypothesis.opened"
    hypothesis: Hypothesis


class HypothesisClosed(Timed):
    """Evidence decides (supported, falsified), or the claim is parked; `because` names figures and evidence."""

    kind: Literal["hypothesis.closed"] = "hypothesis.closed"
    hypothesis: str
    status: Status
    because: str
    evidence: tuple[str, ...]


class TodoChanged(Timed):
    """A todo item moves on."""

    kind: Literal["todo.changed"] = "todo.changed"
    hypothesis: str
    todo: str
    status: TodoStatus


class MoveRefused(Timed):
    """A planner's move that policy did not accept, and why.

    A launch that is left to a person comes with its `change`, the line to paste (`start`), and the one to undo it.
    """

    kind: Literal["move.refused"] = "move.refused"
    move: str
    why: str
    change: LaunchChange | None = None
    start: str = ""
    back: str = ""


class ExperimentChosen(Timed):
    """Which launch comes next and why: what it and the others are expected to tell for a minute of the GPU's time."""

    kind: Literal["experiment.chosen"] = "experiment.chosen"
    choice: Choice


class ModelAsked(Timed):
    """One question to a language model, whatever came of it, and what it took.

    `outcome` used: at least one proposal was accepted (`accepted`, as JSON); refused: none of them; unreadable: no
    proposals could be read; failed: no answer (`error`). `counted` tells whether the server reported the tokens or they
    are estimated from the length. `cost` is None where the profile has no prices. `knew` marks the state of knowledge
    that was asked about.
    """

    kind: Literal["model.asked"] = "model.asked"
    model: str
    why: str
    outcome: Literal["used", "refused", "unreadable", "failed"]
    prompt_tokens: int
    completion_tokens: int
    counted: Literal["reported", "estimated"]
    cost: float | None = None
    duration_s: float
    accepted: tuple[str, ...] = ()
    error: str = ""
    knew: str = ""


class ProposalRefused(Timed):
    """What a language model proposed and code did not accept, shortened, and why."""

    kind: Literal["proposal.refused"] = "proposal.refused"
    proposal: str
    why: str


class ApprovalAsked(Timed):
    """A batch waits for a yes: what, how risky, how long down, which way back; `lines` are the command lines in it."""

    kind: Literal["approval.asked"] = "approval.asked"
    batch: str
    risk: Risk
    text: str
    lines: tuple[str, ...] = ()


class ApprovalAnswered(Timed):
    """The answer; no answer is a no. `scope` once: this batch; kind: every further one of the same tier in this run;
    run: those of lower tiers too.
    """

    kind: Literal["approval.answered"] = "approval.answered"
    batch: str
    granted: bool
    scope: Literal["once", "kind", "run"]
    by: str


class ActionStarted(Timed):
    """An action begins; logged before anything is done, so that a killed run knows what may have happened."""

    kind: Literal["action.started"] = "action.started"
    action: str
    what: str
    risk: Risk
    move: dict[str, JsonValue]
    why: str = ""
    hypotheses: tuple[str, ...] = ()


class ActionEnded(Timed):
    """An action is over. `failed`: it ended and did not give what it should; `unknown`: the link broke."""

    kind: Literal["action.ended"] = "action.ended"
    action: str
    outcome: Literal["done", "failed", "unknown"]
    summary: str
    duration_s: float
    evidence: tuple[str, ...] = ()


class EvidenceRecorded(Timed):
    """Something seen or computed, with where it lies (artefact name and SHA-256) when it is more than a sentence."""

    kind: Literal["evidence.recorded"] = "evidence.recorded"
    evidence: str
    action: str | None
    source: str
    summary: str
    artefact: str | None = None
    sha256: str | None = None
    data: dict[str, JsonValue] = Field(default_factory=dict)


class Observed(Timed):
    """A check's judgement of what was read."""

    kind: Literal["check.observed"] = "check.observed"
    evidence: str
    observation: Observation


class Measured(Timed):
    """A measurement folded from a bench or from a log."""

    kind: Literal["measured"] = "measured"
    measurement: Measurement


class BoundComputed(Timed):
    """What arithmetic says before a launch. `speaks_of`: the hypotheses it is about; `refutes`: those it excludes."""

    kind: Literal["bound.computed"] = "bound.computed"
    evidence: str
    basis: Literal["typed", "measured"]
    about: str
    text: str
    assumptions: tuple[str, ...]
    metric: str
    low: float
    value: float
    high: float
    claim: float
    refuted: bool
    speaks_of: tuple[str, ...] = ()
    refutes: tuple[str, ...] = ()


class ServerRelaunched(Timed):
    """A start that specdoctor made (ready, failed or timed out).

    `software`: engine and packages that were read back from it, by fact name, where it runs from another installation.
    """

    kind: Literal["server.relaunched"] = "server.relaunched"
    change: LaunchChange
    spec: SpecSetting | None
    software: dict[str, str] = Field(default_factory=dict)
    outcome: LaunchOutcome
    evidence: str


class ServerRestored(Timed):
    """The original put back, and what was compared.

    `by` guard: the host did it itself at `acted_at` (its clock), after it had not heard from us for the grace time.
    `by` hand: it was found put back, with nothing of the run left on the host; nobody measured how long it was down.
    """

    kind: Literal["server.restored"] = "server.restored"
    outcome: RestoreOutcome
    evidence: str
    started: bool = True
    by: Literal["specdoctor", "guard", "hand"] = "specdoctor"
    acted_at: float | None = None


class ControlCompared(Timed):
    """The original measured again after it was put back (`after`), against the measurement `before` its first stop.

    `ratio` is throughput after over before, its interval with the spread between two starts. `equal` is None when
    nothing could be measured.
    """

    kind: Literal["control.compared"] = "control.compared"
    before: str
    after: str
    equal: bool | None
    ratio: Estimate | None = None
    text: str
    evidence: str


class ServerSeen(Timed):
    """The server under study, chosen among those found on the host; `surroundings` says who keeps it and since when.

    `start_s` is how long its last start took, where its log shows one.
    """

    kind: Literal["server.seen"] = "server.seen"
    engine: str
    ref: ServerRef | None
    state: Literal["running", "starting", "down"]
    version: str | None
    version_range: str | None
    summary: str
    evidence: str
    surroundings: str = ""
    start_s: float | None = None


class ServerRecognised(Timed):
    """The server runs as a launch that this run had left to a person, or as it was found again."""

    kind: Literal["server.recognised"] = "server.recognised"
    change: LaunchChange
    spec: SpecSetting | None
    server: ServerRef
    evidence: str
    summary: str = ""


class HostReleased(Timed):
    """Nothing of this run is left on the host."""

    kind: Literal["host.released"] = "host.released"
    removed: tuple[str, ...]


class NoteAdded(Timed):
    """A remark, by a person or by the planner; `lines` are the command lines in its text, to be pasted as they are."""

    kind: Literal["note.added"] = "note.added"
    text: str
    by: str
    lines: tuple[str, ...] = ()


class VerdictReached(Timed):
    """The end of an investigation, computed from the ledger."""

    kind: Literal["verdict.reached"] = "verdict.reached"
    verdict: Verdict
    headline: str
    causes: tuple[CauseNamed, ...]
    ruled_out: tuple[str, ...]
    missing: tuple[str, ...]
    recommendation: Recommendation | None
    after_repair: tuple[ExpectedAfterRepair, ...] = ()
    lines: tuple[tuple[str, str], ...]


class RunEnded(Timed):
    """The run is over; `exit_code` is what the command returns."""

    kind: Literal["run.ended"] = "run.ended"
    exit_code: int
    reason: str


Event = Annotated[
    RunStarted
    | RunResumed
    | ClaimStated
    | HypothesisOpened
    | HypothesisClosed
    | TodoChanged
    | MoveRefused
    | ExperimentChosen
    | ModelAsked
    | ProposalRefused
    | ApprovalAsked
    | ApprovalAnswered
    | ActionStarted
    | ActionEnded
    | EvidenceRecorded
    | Observed
    | Measured
    | BoundComputed
    | ServerRelaunched
    | ServerRestored
    | ControlCompared
    | ServerSeen
    | ServerRecognised
    | HostReleased
    | NoteAdded
    | SymptomTold
    | PriorSet
    | HypothesisTakenUp
    | PauseSet
    | MoveAsked
    | MoveAnswered
    | VerdictReached
    | RunEnded,
    Field(discriminator="kind"),
]
event_adapter: TypeAdapter[Event] = TypeAdapter(Event)


def event_to_json(event: Event) -> str:
    """One line of JSON for the store and the transcript."""
    return event_adapter.dump_json(event).decode()


def event_from_json(text: str) -> Event:
    """Inverse of event_to_json; raises pydantic.ValidationError on anything else."""
    return event_adapter.validate_json(text)
