"""The parts of the JSON document of a run."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from specdoctor.core.model import Frozen, Role, Status

Interval = tuple[float, float]


class CauseEntry(Frozen):
    """A cause that the verdict names. `supported` cites evidence; `decides` says what would settle a suspected one."""

    cause: str
    status: Literal["supported", "suspected"]
    role: Role
    claim: str
    evidence: tuple[str, ...]
    decides: str


class HypothesisEntry(Frozen):
    """A claim of the run, what it predicted before the test, and what came of it."""

    id: str
    cause: str | None
    claim: str
    predicts: str | None
    status: Status
    because: str
    evidence: tuple[str, ...]


class MeasurementEntry(Frozen):
    """Figures of one launch: tok/s, tokens per target forward with the bonus token, ms per target forward.

    Without speculation `draft_steps` is 0 and `accept_length` 1.0. Intervals are at 95 %. `throughput_tok_s` of one
    client is decode alone, `request_throughput_tok_s` has prefill in its clock; `identity_gap` is how far the latter
    misses accept length over cycle. `software`: engine version and commit that were measured.
    """

    id: str
    launch: str
    launch_key: str
    draft_steps: int
    topk: int
    draft_tokens: int
    concurrency: int
    throughput_tok_s: float | None
    throughput_interval: Interval | None
    request_throughput_tok_s: float | None
    request_throughput_interval: Interval | None
    identity_gap: float | None
    accept_length: float | None
    accept_length_interval: Interval | None
    step_ms: float | None
    step_interval: Interval | None
    requests: int
    failed: int
    source: Literal["bench", "traffic", "log", "control", "prompts", "earlier", "wide", "answers"]
    estimator: str
    flags: tuple[str, ...]
    software: str
    evidence: str


class RecommendationEntry(Frozen):
    """The launch line to paste, the way back, and what it is expected to bring (`basis` says from where).

    `first` is a command of its own that makes the folder which the launch names, empty where none is needed; `where`
    says of which image's container the line is. `then`: what would have to come true for something better, in order.
    """

    launch: str
    rollback: str
    expected: dict[str, JsonValue]
    basis: Literal["measured", "predicted", "typed"]
    why: str
    then: tuple[str, ...]
    first: str = ""
    where: str = ""


class AfterRepairEntry(Frozen):
    """What one client is expected to get with so many draft steps once the drafter is fed as it was trained: predicted
    from its acceptance alone and the measured cycles. Accept length in tokens per target forward, bonus token included.
    """

    draft_steps: int
    accept_length: float
    throughput_tok_s: float
    throughput_interval: Interval
    estimator: str


class DatedEntry(Frozen):
    """A figure in an older log: when its last line was written (seconds since the epoch, its zone taken for UTC),
    whether the recalled figure agrees with it, and whether it is of the state before the last start of container or
    host (`earlier`), after it (`present`), or nobody can tell.
    """

    log: str
    at: float
    value: float
    interval: Interval | None
    lines: int | None
    agrees: bool
    state: Literal["earlier", "present", "unclear"]
    evidence: str


class ClaimEntry(Frozen):
    """A figure that somebody typed. `tested`: a hypothesis about it was decided; `other-state`: a memory of another
    state of the system; `open`: neither. `dated`: what an older log of the host shows of a recalled one.
    """

    text: str
    metric: str
    role: str
    value: float
    recalled_at: str | None
    status: Literal["other-state", "tested", "open"]
    why: str
    dated: DatedEntry | None = None


class BreakEvenEntry(Frozen):
    """Both sides of break-even for the launch as found, from measured figures: what this cycle needs in tokens a cycle
    (bonus token included), and the longest cycle (ms) that this accept length can bear.

    A wished throughput (`target_tok_s`) needs `accept_length_for_target`; `feasible` says whether these draft steps can
    give that, `why` what stands against it (`maximum_accept_length` is steps + 1).
    """

    accept_length: float
    accept_length_interval: Interval | None
    cycle_ms: float
    cycle_interval: Interval | None
    measured_accept_length: float
    measured_cycle_ms: float
    baseline_tok_s: float
    maximum_accept_length: int
    target_tok_s: float | None
    accept_length_for_target: float | None
    feasible: bool | None
    why: str | None
    estimator: str
    evidence: tuple[str, ...]


class ComparisonEntry(Frozen):
    """Two launches of this run: ratios of the second over the first at 95 %, with the spread between starts in them.

    `visible` is the smallest relative difference that one start of each shows, `at_stake` the one in question,
    `starts_needed` how many starts of each that would take (null where it would have shown).
    """

    about: str
    first: str
    second: str
    first_software: str
    second_software: str
    throughput_ratio: float
    throughput_ratio_interval: Interval | None
    cycle_ratio: float | None
    cycle_ratio_interval: Interval | None
    outcome: str
    visible: float
    at_stake: float | None
    starts_needed: int | None
    text: str
    evidence: tuple[str, ...]


class StateSuspectEntry(Frozen):
    """What could have changed since the remembered figures; `fit` 3 and more: explains both factors."""

    cause: str
    what: str
    fit: float
    why: str


class StateChangeEntry(Frozen):
    """Remembered figures against those measured: factors of baseline step and cycle, suspects most likely first."""

    baseline_step_factor: float
    baseline_step_interval: Interval | None
    cycle_factor: float
    cycle_interval: Interval | None
    shape: str
    since: str
    suspects: tuple[StateSuspectEntry, ...]
    text: str


class ByHandEntry(Frozen):
    """A launch that is left to a person: the line to paste on the host, and the one to undo it."""

    launch: str
    launch_key: str
    start: str
    back: str


class Cost(Frozen):
    """What the run took: starts of the server (the restoring ones too), seconds without a server, seconds in all.

    `still_down`: nothing has come up by the end of it.
    `llm_tokens`: prompts and answers of a language model, `llm_cost` what they cost, null without prices.
    """

    restarts: int
    downtime_s: float
    wall_s: float
    still_down: bool = False
    llm_tokens: int = 0
    llm_calls: int = 0
    llm_cost: float | None = None


class ControlEntry(Frozen):
    """The original before and after the run: throughput after over before; `equal` null if it cannot be said."""

    before: str
    after: str
    equal: bool | None
    ratio: float | None
    ratio_interval: Interval | None
    text: str
