"""Forecasts of a run: for people and for machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from specdoctor.analysis.forecast import Forecast
from specdoctor.analysis.launches import MeasuredFamily
from specdoctor.analysis.refusal import Refusal
from specdoctor.render.layout import columns, labelled
from specdoctor.render.tuned import predicted_document

PREDICT_SCHEMA = "specdoctor.predict/1"
_TREES_SHOWN = 8
_REFUSED_WIDTH = 10


@dataclass(frozen=True)
class Predicted:
    """What the launches of one family tell of settings that nobody ran, at one concurrency; `among` families there."""

    concurrency: int
    launches: MeasuredFamily
    belief: Forecast | Refusal
    among: int

    @property
    def measured(self) -> list[str]:
        return [f"{m.figures.setting.label} ({m.evidence})" for m in self.launches.rows]


def predict_document(run: str, found: Sequence[Predicted]) -> Any:
    """Forecasts of a run for machines; `refused` says why there is none of a family of launches at a concurrency."""
    rows = []
    for one in found:
        belief = one.belief
        refused = belief.reason if isinstance(belief, Refusal) else None
        predicted = [] if isinstance(belief, Refusal) else [predicted_document(belief.of(s)) for s in belief.settings]
        rows.append(
            {
                "concurrency": one.concurrency,
                "of": one.launches.name,
                "refused": refused,
                "kind": belief.kind if isinstance(belief, Refusal) else None,
                "measured": one.measured,
                "predicted": predicted,
            }
        )
    return {"schema": PREDICT_SCHEMA, "run": run, "results": rows}


def predict_text(found: Sequence[Predicted], *, width: int) -> str:
    """Forecasts of a run for people, the fastest first."""
    blocks: list[str] = []
    for one in found:
        belief = one.belief
        named = f", {one.launches.name}" if one.among > 1 or not one.launches.family.as_found else ""
        head = f"concurrency {one.concurrency}{named}, from {', '.join(one.measured)}"
        if isinstance(belief, Refusal):
            text = f"{head}: {belief.reason}"
            blocks.append("\n".join(labelled("refused", text, label_width=_REFUSED_WIDTH, width=width)))
            continue
        rows = sorted((belief.of(s) for s in belief.settings), key=lambda p: -p.throughput.value)
        chains = [p for p in rows if p.setting.topk <= 1]
        trees = sorted((p for p in rows if p.setting.topk > 1), key=lambda p: bool(p.beyond))[:_TREES_SHOWN]
        shown = (*chains, *trees)
        cells = [
            (
                f"{p.setting.label}{' *' if p.beyond else ''}",
                p.throughput.with_unit(),
                f"{p.accept_length:.2f}",
                f"{p.cycle_ms:.4g}",
            )
            for p in shown
        ]
        table = columns(("SETTING", "THROUGHPUT (95 %)", "ACCEPT LENGTH", "CYCLE MS"), cells, width=width)
        note = f"a fresh launch over the same prompts; {belief.spread:.1%} between launches reckoned with"
        beyond = "; ".join(dict.fromkeys(p.beyond for p in shown if p.beyond))
        marked = f"\n* extrapolated, choose none by this table: {beyond}; measure one first (specdoctor tune does)"
        blocks.append(f"{head}\n{table}\n{note}{marked if beyond else ''}")
    return "\n\n".join(blocks)
