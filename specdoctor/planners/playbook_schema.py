"""The format of a playbook: steps in order, each restart with a prediction, and what is expected at the end."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, FiniteFloat, Tag, field_validator, model_validator

from specdoctor.core.hypothesis import Answers
from specdoctor.core.model import Frozen, Role, Status, Verdict
from specdoctor.core.recorded import Recorded

AS_FOUND = "as found"
"""The label of the launch that a playbook begins with."""

FigureName = Literal["accept_length", "throughput_tok_s", "step_ms"]
FIGURE_UNITS: dict[FigureName, tuple[str, ...]] = {
    "accept_length": ("tokens/cycle", "tokens"),
    "throughput_tok_s": ("tok/s",),
    "step_ms": ("ms",),
}
Comparison = Literal[">=", ">", "<=", "<", "=="]
CauseId = Annotated[str, Field(pattern=r"^[A-Z]+-\d+$")]
Label = Annotated[str, Field(min_length=1)]
PromptName = Literal["mixed", "chat", "code", "maths", "short", "long", "predictable", "records"]


class Budgets(Frozen):
    """Starts of the server at most (the one that puts it back included), and minutes."""

    restarts: Annotated[int, Field(ge=0, le=1000)] = 3
    minutes: Annotated[FiniteFloat, Field(gt=0, le=1e6)] = 240.0


class Load(Frozen):
    """How every benchmark of the playbook is made."""

    concurrency: Annotated[int, Field(ge=1, le=4096)] = 1
    requests: Annotated[int, Field(ge=1, le=100_000)] = 12
    prompts: str = "mixed"
    form: Literal["chat", "generate"] = "generate"


class CheckStep(Frozen):
    """Judge what was read, with all checks or the named ones."""

    check: Annotated[tuple[str, ...], Field(min_length=1)]

    @field_validator("check", mode="before")
    @classmethod
    def _one_or_more(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @property
    def names(self) -> tuple[str, ...]:
        """The checks to run; empty for all of them."""
        return () if self.check == ("all",) else self.check


class WatchStep(Frozen):
    """Look on for some seconds without a request of our own."""

    watch: Annotated[float, Field(gt=0, le=600)]


class ComputeStep(Frozen):
    """Arithmetic on what was typed or measured so far: which predictions can be refuted without a launch?"""

    compute: Literal["typed", "measured"]


class BenchStep(Frozen):
    """Benchmark the launch of this label, which must be the one that runs; `prompts`: a built-in set for it alone."""

    bench: Label
    concurrency: Annotated[int, Field(ge=1)] | None = None
    prompts: PromptName | None = None


class Change(Frozen):
    """What a launch differs in from the server as found: exactly one of the five ways to say it.

    `other_install`: from the second installation of the engine that the targets file names.
    """

    off: Literal[True] | None = None
    other_install: Literal[True] | None = None
    undo: CauseId | None = None
    draft_steps: Annotated[int, Field(ge=1)] | None = None
    topk: Annotated[int, Field(ge=1)] | None = None
    draft_tokens: Annotated[int, Field(ge=2)] | None = None
    flags: dict[str, str | int | float | tuple[str | int | float, ...] | None] | None = None
    remove: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        speculation = self.draft_steps is not None or self.topk is not None or self.draft_tokens is not None
        flags = self.flags is not None or bool(self.remove)
        ways = sum((self.off is not None, self.other_install is not None, self.undo is not None, speculation, flags))
        if ways != 1:
            listed = "off, other_install, undo, draft_steps (with topk, draft_tokens), or flags (with remove)"
            raise ValueError(f"needs one of: {listed}")
        if speculation and self.draft_steps is None:
            raise ValueError("topk and draft_tokens need draft_steps beside them")
        return self


class StatedPrediction(Frozen):
    """What the launch will show if the claim is true: a figure against a value, or against another launch's figure."""

    metric: FigureName
    op: Literal[">=", ">", "<=", "<"]
    value: FiniteFloat | None = None
    than: Label | None = None

    @model_validator(mode="after")
    def _one_reference(self) -> Self:
        if (self.value is None) == (self.than is None):
            raise ValueError("needs either value or than (the label of another launch)")
        return self


class StatedHypothesis(Frozen):
    """The claim that a launch tests, with its prediction."""

    claim: Annotated[str, Field(min_length=1)]
    prediction: StatedPrediction
    cause: CauseId | None = None
    answers: Answers = "explains"


class RelaunchStep(Frozen):
    """Restart with a change, to test a hypothesis; `relaunch` is the label that later steps use."""

    relaunch: Label
    change: Change
    hypothesis: StatedHypothesis


class RestoreStep(Frozen):
    """Put the original back."""

    restore: Literal[True] | None = None


class IncludeStep(Frozen):
    """In its place the steps of another playbook, whose expectations join those of this one.

    `include` is its path from the folder of this file, `values` what its parameters are to be.
    """

    include: Label
    values: dict[str, bool | int | FiniteFloat | str] = Field(default_factory=dict)


STEPS: dict[str, type[Frozen]] = {
    "check": CheckStep,
    "watch": WatchStep,
    "compute": ComputeStep,
    "bench": BenchStep,
    "relaunch": RelaunchStep,
    "restore": RestoreStep,
    "include": IncludeStep,
}


class FigureExpectation(Frozen):
    """A figure of one launch against a value or another launch; `tolerance` is the share by which it may be missed.

    `concurrency`: of the benchmarks with so many clients, where that is not the playbook's own number. `prompts`: of
    the benchmark with this built-in set; what it is compared with is with the playbook's own prompts. `unit` says what
    `value` is meant in, and must be the metric's own.
    """

    metric: FigureName
    of: Label
    op: Comparison
    value: FiniteFloat | None = None
    than: Label | None = None
    tolerance: Annotated[FiniteFloat, Field(ge=0, lt=1)] = 0.0
    concurrency: Annotated[int, Field(ge=1)] | None = None
    prompts: PromptName | None = None
    unit: str | None = None

    @model_validator(mode="after")
    def _one_reference(self) -> Self:
        if (self.value is None) == (self.than is None):
            raise ValueError("needs either value or than (the label of another launch)")
        if self.unit is not None and self.unit not in FIGURE_UNITS[self.metric]:
            raise ValueError(f"{self.metric} is in {FIGURE_UNITS[self.metric][0]}, not in {self.unit}")
        return self


def _listed(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


class HypothesisExpectation(Frozen):
    """How the hypothesis of a relaunch step ends."""

    hypothesis: Label
    status: Annotated[tuple[Status, ...], Field(min_length=1)]

    _list = field_validator("status", mode="before")(_listed)


class CauseExpectation(Frozen):
    """What the verdict says of a cause; `absent` that it does not name it."""

    cause: CauseId
    status: Annotated[tuple[Literal["supported", "suspected", "absent"], ...], Field(min_length=1)] = ("supported",)
    role: Annotated[tuple[Role, ...], Field(min_length=1)] = tuple(Role)

    _lists = field_validator("status", "role", mode="before")(_listed)


Ended = Literal[Verdict.CAUSE, Verdict.HEALTHY, Verdict.NOT_ENOUGH_EVIDENCE]


class VerdictExpectation(Frozen):
    """The verdict, one of several."""

    verdict: Annotated[tuple[Ended, ...], Field(min_length=1)]

    _list = field_validator("verdict", mode="before")(_listed)


EXPECTATIONS: dict[str, type[Frozen]] = {
    "metric": FigureExpectation,
    "hypothesis": HypothesisExpectation,
    "cause": CauseExpectation,
    "verdict": VerdictExpectation,
}


def _tag_of(kinds: dict[str, type[Frozen]], value: Any) -> str | None:
    """Which kind a mapping is, by the one key that only this kind begins with; a model is what it is."""
    for tag, model in kinds.items():
        if isinstance(value, model) or (isinstance(value, dict) and tag in value):
            return tag
    return None


def _step_tag(value: Any) -> str | None:
    return _tag_of(STEPS, value)


def _expectation_tag(value: Any) -> str | None:
    return _tag_of(EXPECTATIONS, value)


Step = Annotated[
    Annotated[CheckStep, Tag("check")]
    | Annotated[WatchStep, Tag("watch")]
    | Annotated[ComputeStep, Tag("compute")]
    | Annotated[BenchStep, Tag("bench")]
    | Annotated[RelaunchStep, Tag("relaunch")]
    | Annotated[RestoreStep, Tag("restore")],
    Discriminator(_step_tag),
]
WrittenStep = Annotated[
    Annotated[CheckStep, Tag("check")]
    | Annotated[WatchStep, Tag("watch")]
    | Annotated[ComputeStep, Tag("compute")]
    | Annotated[BenchStep, Tag("bench")]
    | Annotated[RelaunchStep, Tag("relaunch")]
    | Annotated[RestoreStep, Tag("restore")]
    | Annotated[IncludeStep, Tag("include")],
    Discriminator(_step_tag),
]
Expectation = Annotated[
    Annotated[FigureExpectation, Tag("metric")]
    | Annotated[HypothesisExpectation, Tag("hypothesis")]
    | Annotated[CauseExpectation, Tag("cause")]
    | Annotated[VerdictExpectation, Tag("verdict")],
    Discriminator(_expectation_tag),
]


class Parameter(Frozen):
    """A value that whoever replays or includes the playbook may set; it is of the kind of its default."""

    default: bool | int | FiniteFloat | str
    about: str = ""


class _Head(Frozen):
    """What a playbook says beside its steps."""

    title: Annotated[str, Field(min_length=1)]
    about: str = ""
    allow: Literal["read", "load", "restart"] = "read"
    symptom: str = ""
    budgets: Budgets = Budgets()
    load: Load = Load()
    expect: tuple[Expectation, ...] = ()
    recorded: Recorded | None = None


class PlaybookFile(_Head):
    """A playbook as it is written: `$(name)` stands for a parameter, and a step may include another file."""

    parameters: dict[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], Parameter] = Field(
        default_factory=dict
    )
    steps: Annotated[tuple[WrittenStep, ...], Field(min_length=1)]


class Playbook(_Head):
    """One playbook. `allow` is the highest tier that its steps need, and that replaying it permits.

    `recorded`: what the run found that it was made from; a replay tells what differs.
    """

    steps: Annotated[tuple[Step, ...], Field(min_length=1)]
