"""The break-even calculation in a few lines, each figure with its unit."""

from __future__ import annotations

from typing import Any

from specdoctor.analysis.break_even import BreakEven
from specdoctor.render.figures import amount
from specdoctor.render.layout import labelled

SCHEMA = "specdoctor.breakeven/1"
_LABEL_WIDTH = 12


def break_even_document(found: BreakEven) -> dict[str, Any]:
    """The calculation for machines, in full precision; rates as fractions, null where a figure was not given."""
    required = found.required
    return {
        "schema": SCHEMA,
        **found.figures.model_dump(mode="json"),
        "baseline_step_ms": found.baseline_step_ms,
        "break_even_accept_length": found.break_even_accept_length,
        "break_even_cycle_ms": found.break_even_cycle_ms,
        "accept_length_for_target": found.accept_length_for_target,
        "feasible": found.feasible,
        "why": None if required is None else required.obstacle,
        "equal_rate": None if required is None else required.equal_rate,
        "speedup": found.speedup,
        "speedup_measured": found.speedup_measured,
        "identity_gap": None if found.gap is None else found.gap.gap,
        "estimator": "typed figures, one request, accept length with the bonus token",
    }


def break_even_text(found: BreakEven, *, width: int) -> str:
    """The calculation for people."""
    rows = [("break-even", _break_even(found)), ("now", _now(found)), ("measured", _measured(found))]
    rows += [("target", _target(found)), ("assumes", _ASSUMES)]
    lines: list[str] = []
    for label, text in rows:
        if text:
            lines += labelled(label, text, label_width=_LABEL_WIDTH, width=width)
    return "\n".join(lines)


_ASSUMES = "the typed figures are exact and of one request, at one load, in one state of the system"


def _break_even(found: BreakEven) -> str:
    given = found.figures
    text = f"{amount(found.break_even_accept_length)} tokens a cycle (bonus token included) at {amount(given.cycle_ms)}"
    text += " ms a cycle" + (" (accept length / throughput)" if given.cycle_derived else "")
    text += f" against {amount(given.baseline_tok_s)} tok/s ({amount(found.baseline_step_ms)} ms) without"
    if found.break_even_cycle_ms is not None and given.accept_length is not None:
        text += f"; or a cycle under {amount(found.break_even_cycle_ms)} ms at {amount(given.accept_length)} tokens"
    return text


def _now(found: BreakEven) -> str:
    length, cycle_ms = found.figures.accept_length, found.figures.cycle_ms
    if found.speedup is None or length is None:
        return ""
    if found.figures.cycle_derived:
        speed = f"{amount(1000.0 * length / cycle_ms)} tok/s"
        return f"speculation {found.payoff}: {speed}, {found.speedup:.3f} of the baseline"
    decode = f"{amount(1000.0 * length / cycle_ms)} tok/s of decode"
    return f"speculation {found.payoff}: {decode}, {found.speedup:.3f} of the baseline"


def _measured(found: BreakEven) -> str:
    if found.speedup_measured is None or found.figures.cycle_derived:
        return ""
    text = f"{amount(found.figures.throughput_tok_s or 0.0)} tok/s, {found.speedup_measured:.3f} of the baseline"
    if found.gap is None:
        return text
    gap = found.gap.gap
    if found.gap.reading == "consistent":
        return f"{text}; agrees with accept length and cycle ({abs(gap):.1%} apart)"
    if gap > 0:
        why = "prefill in the clock, queueing, or figures of different windows"
        return f"{text}; {gap:.1%} slower than accept length / cycle: {why}"
    more = f"{-gap:.1%} faster than" if gap > -1 else f"{1 - gap:.3g} times"
    return f"{text}; {more} accept length / cycle: figures of different windows or loads, or of several requests"


def _target(found: BreakEven) -> str:
    given, required = found.figures, found.required
    aim = f"{amount(given.target_tok_s or given.baseline_tok_s)} tok/s"
    if required is None:
        needed = found.accept_length_for_target
        return "" if needed is None else f"{aim} needs {amount(needed)} tokens a cycle; can it? give --draft-steps"
    text = f"{aim} needs {amount(required.accept_length)} tokens a cycle; {given.draft_steps} steps give at most"
    text += f" {(given.draft_steps or 0) + 1}"
    if required.obstacle == "above-maximum":
        return f"{text}: impossible at this cycle"
    if required.equal_rate is None:
        return f"{text}: without speculation"
    if required.obstacle and required.equal_rate > 0.9995:
        return f"{text}: out of reach, no draft may ever be rejected"
    rate = f"each draft accepted {required.equal_rate:.1%} of the time, given those before it"
    return f"{text}: out of reach, it needs {rate}" if required.obstacle else f"{text}: possible with {rate}"
