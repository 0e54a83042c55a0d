"""Tests by a launch and a benchmark: what throughput it is predicted to have, and the steps that show it."""

from __future__ import annotations

from specdoctor.core.estimate import Estimate
from specdoctor.core.hypothesis import Operator, Prediction, Priority
from specdoctor.core.launch import LaunchChange
from specdoctor.core.measurement import Measurement
from specdoctor.core.server import SpecSetting


def throughput_under(
    change: LaunchChange,
    *,
    op: Operator,
    value: float,
    value_from: str,
    concurrency: int,
    setting: SpecSetting | None = None,
) -> Prediction:
    """A prediction of a launch's throughput in tok/s at a number of clients; `value_from` says where it comes from."""
    return Prediction(
        metric="throughput_tok_s",
        op=op,
        value=value,
        under=change.key,
        under_label=change.label,
        concurrency=concurrency,
        value_from=value_from,
        setting=setting,
    )


def faster_than_found(
    now: Measurement, found: Estimate, change: LaunchChange, *, setting: SpecSetting | None = None
) -> Prediction:
    """That a launch gives more than the server as found: `found` is the throughput of its measurement `now`."""
    return throughput_under(
        change,
        op=">",
        value=found.value,
        value_from=as_found(now),
        concurrency=now.concurrency,
        setting=setting,
    )


def as_found(measurement: Measurement) -> str:
    """Where a figure of the server as found comes from."""
    return f"as found, {measurement.evidence}"


def launch_and_bench(launch: str, priority: Priority = "high") -> tuple[tuple[str, Priority], ...]:
    """The two steps of such a test; `launch` is the launch in words."""
    return (f"launch {launch}", priority), ("benchmark it with the same prompts", priority)
