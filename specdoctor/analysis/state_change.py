"""What has changed since figures that are remembered: how much baseline step and cycle have grown, and what fits that.

What slows the GPU slows both by the same factor. What costs time per launch or per message slows the cycle more, for a
cycle launches more. What lies in the model itself cannot have changed with the state of the machine. The figures are
memories, so the order of the suspects is all that follows from them; they decide nothing.
"""

from __future__ import annotations

from typing import Literal

from specdoctor.analysis.attribution import UNIFORM_WITHIN, Shape
from specdoctor.analysis.interval import Estimate, mapped
from specdoctor.analysis.recall import state_began
from specdoctor.core.ledger import Ledger
from specdoctor.core.model import Frozen, Status

Slows = Literal["both alike", "the cycle more", "nothing new"]

SUSPECTS: tuple[tuple[str, str, Slows], ...] = (
    ("ENV-4", "CPU and memory binding, CPU clock", "the cycle more"),
    ("ENV-1", "the all-reduce path", "the cycle more"),
    ("GRAPH-2", "forwards outside CUDA graphs", "the cycle more"),
    ("GRAPH-4", "host time between the forwards", "the cycle more"),
    ("ENV-3", "clocks or power of the GPUs", "both alike"),
    ("LOAD-3", "expert traffic of the verified tokens", "nothing new"),
)


class StateSuspect(Frozen):
    """A kind of change of the machine, how well it fits both factors (3 well, 0 not), and why."""

    cause: str
    what: str
    fit: float
    why: str


class StateChange(Frozen):
    """Factors now over then: the baseline step, and the cycle. `since` says what has started since, where known."""

    baseline_step: Estimate
    cycle: Estimate
    shape: Shape
    since: str
    suspects: tuple[StateSuspect, ...]

    @property
    def words(self) -> str:
        grown = f"the baseline step {_grown(self.baseline_step)}, the cycle {_grown(self.cycle)}"
        meaning = {
            "cycle more": "not a slower GPU alone, which would slow both alike",
            "uniform": "both alike, as a slower GPU would",
            "unknown": "the baseline step grew more than the cycle, which nothing here explains",
        }[self.shape]
        order = ", ".join(f"{s.cause} {s.what}" for s in self.suspects if s.fit >= 2.0)
        last = ", ".join(s.cause for s in self.suspects if s.fit < 2.0)
        since = f"; {self.since} since" if self.since else ""
        return (
            f"against the figures remembered {grown}: {meaning}{since}; suspects in this order: {order}; hardly {last}"
        )


def _grown(factor: Estimate) -> str:
    low, high = 100.0 * (factor.low - 1.0), 100.0 * (factor.high - 1.0)
    span = f" ({low:+.0f} to {high:+.0f} %)" if round(low) != round(high) else ""
    return f"{100.0 * (factor.value - 1.0):+.0f} %{span}"


def state_change(ledger: Ledger) -> StateChange | None:
    """None unless a baseline and a cycle are remembered, and both were measured in this run with one client."""
    if ledger.started is None:
        return None
    then_off = _recalled(ledger, "throughput_tok_s", "baseline")
    then_cycle = _recalled(ledger, "step_ms", "with speculation")
    now, off = ledger.measured("original", concurrency=1), ledger.baseline(1)
    if then_off is None or then_cycle is None or now is None or off is None or not now.spec.on:
        return None
    if now.step is None or off.throughput is None or off.throughput.low <= 0.0:
        return None
    step = mapped(
        off.throughput, lambda tok_s: then_off / tok_s, unit="ratio", estimator="baseline step, now over remembered"
    )
    cycle = mapped(now.step, lambda ms: ms / then_cycle, unit="ratio", estimator="cycle, now over remembered")
    shape = _shape(step.value, cycle.value)
    began = state_began(now)
    return StateChange(
        baseline_step=step,
        cycle=cycle,
        shape=shape,
        since=f"{began[0]} has been started" if began is not None else "",
        suspects=tuple(sorted(_suspects(ledger, shape), key=lambda s: -s.fit)),
    )


def _recalled(ledger: Ledger, metric: str, role: str) -> float | None:
    return next((c.value for c in ledger.recalled if c.metric == metric and c.role == role), None)


def _shape(step: float, cycle: float) -> Shape:
    if abs(cycle / step - 1.0) < UNIFORM_WITHIN:
        return "uniform"
    return "cycle more" if cycle > step else "unknown"


def _suspects(ledger: Ledger, shape: Shape) -> list[StateSuspect]:
    """Those that were not ruled out; what a check has seen a sign of comes before what only could be."""
    seen = {o.cause for o in ledger.observed() if o.stance in ("suggests", "supports")}
    gone = {h.cause for h in ledger.hypotheses.values() if h.status is Status.FALSIFIED}
    why = {
        "both alike": "slows baseline and cycle by the same factor",
        "the cycle more": "costs time per launch or message, and a cycle launches more",
        "nothing new": "lies in the model, which is the same as then",
    }
    fits: dict[Slows, dict[Shape, float]] = {
        "both alike": {"uniform": 3.0, "cycle more": 1.0, "unknown": 1.0},
        "the cycle more": {"uniform": 1.0, "cycle more": 3.0, "unknown": 2.0},
        "nothing new": {"uniform": 0.0, "cycle more": 0.0, "unknown": 0.0},
    }
    return [
        StateSuspect(cause=cause, what=what, fit=fits[slows][shape] + (0.5 if cause in seen else 0.0), why=why[slows])
        for cause, what, slows in SUSPECTS
        if cause not in gone
    ]
