"""What a finished run found, in few words: kept in a playbook, so that a replay elsewhere can be held against it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat

from specdoctor.core.estimate import Estimate, Unit
from specdoctor.core.model import Frozen, Role, Status, Verdict

RecordedMetric = Literal["throughput_tok_s", "accept_length", "step_ms"]


class RecordedFigure(Frozen):
    """One figure of one launch with its 95 % interval, which is the noise that a later one is held against.

    `prompts` names a set other than the playbook's own.
    """

    launch: str
    metric: RecordedMetric
    clients: Annotated[int, Field(ge=1)] = 1
    prompts: str = ""
    value: FiniteFloat
    low: FiniteFloat
    high: FiniteFloat
    unit: Unit
    estimator: str
    n: int | None = None

    @property
    def estimate(self) -> Estimate:
        """The figure as estimates are reckoned with."""
        return Estimate(
            value=self.value, low=self.low, high=self.high, unit=self.unit, estimator=self.estimator, n=self.n
        )


class RecordedFinding(Frozen):
    """What one check said of one cause; `claim` is for people and is not compared."""

    check: str
    cause: str | None
    stance: Literal["supports", "refutes", "suggests"]
    claim: str = ""


class RecordedHypothesis(Frozen):
    """How the claim that a launch tested ended."""

    launch: str
    status: Status


class RecordedCause(Frozen):
    """A cause that the verdict named."""

    cause: str
    status: Literal["supported", "suspected"]
    role: Role


class Recorded(Frozen):
    """A run's outcome. `facts` are those of versions, arguments and hardware by name, as text, to be equal exactly."""

    run: str
    target: str = ""
    at: str = ""
    tool_version: str = ""
    facts: dict[str, str] = Field(default_factory=dict)
    figures: tuple[RecordedFigure, ...] = ()
    findings: tuple[RecordedFinding, ...] = ()
    hypotheses: tuple[RecordedHypothesis, ...] = ()
    verdict: Verdict | None = None
    causes: tuple[RecordedCause, ...] = ()
