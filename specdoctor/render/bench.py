"""A benchmark for people, and as the document specdoctor.bench/1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specdoctor.core.estimate import Estimate
from specdoctor.core.measurement import Measurement
from specdoctor.render.layout import labelled

LABEL = 16


def figure(estimate: Estimate | None) -> dict[str, Any] | None:
    """An estimate with all that belongs to it."""
    return None if estimate is None else estimate.model_dump(mode="json")


def block_document(load: dict[str, Any], measurement: Measurement, figures: dict[str, Any]) -> dict[str, Any]:
    """One block; its keys are those of a measurement, with the load and the figures beyond it."""
    return {"load": load, **measurement.model_dump(mode="json"), "figures": figures}


def measurement_lines(m: Measurement, figures: dict[str, Any], *, width: int) -> list[str]:
    """The figures of one block, one a line, each with its estimator."""
    rows: list[tuple[str, str]] = []
    names = {
        "throughput": m.throughput,
        "accept length": m.accept_length if m.spec.on else None,
        "cycle" if m.spec.on else "step": m.step,
        "first token": m.ttft_ms,
    }
    for name, estimate in names.items():
        if estimate is not None:
            rows.append((name, f"{estimate.with_unit()}  ({estimate.estimator}, n={estimate.n})"))
    if m.spec.on and m.accept_length is None:
        few = (
            "one request is too few for it (--requests 12)"
            if m.requests < 2
            else "neither answers nor counters tell it"
        )
        rows.append(("accept length", f"not known: {few}"))
    steady, token = figures.get("steady"), figures.get("token_ms")
    if steady:
        rows.append(("steady part", f"{steady['value']:.4g} tok/s  ({steady['estimator']})"))
    if token:
        rows.append(("per token", f"{token['value']:.4g} ms  ({token['estimator']}, n={token['n']})"))
    if figures.get("gap_p50_ms") is not None:
        chunk = figures.get("tokens_per_chunk")
        held = f", {chunk:.3g} tokens a chunk" if chunk else ""
        gaps = f"{figures['gap_p50_ms']:.4g} ms in the median, {figures['gap_p99_ms']:.4g} ms in the worst 1 %"
        rows.append(("between chunks", gaps + held))
    by = {name: value for name, value in figures.get("by_category", {}).items() if value is not None}
    if len(by) > 1:
        rows.append(("by category", ", ".join(f"{name} {value:.3g}" for name, value in by.items())))
    rows += [("note", flag) for flag in m.flags]
    return [line for label, text in rows for line in labelled(f"  {label}", text, label_width=LABEL, width=width)]


def text_of(title: str, rows: Sequence[tuple[str, str]], *, width: int) -> str:
    """A heading and its labelled lines."""
    return "\n".join(
        [title, *(line for label, text in rows for line in labelled(label, text, label_width=LABEL, width=width))]
    )
