"""Accuracy by step from a trainer's log, with what kind of figure it is.

Known keys: SpecForge and the EAGLE reference write `acc_I` (agreement of step I under the text's own tokens; what a
reduced vocabulary lacks counts as wrong). speculators writes `cond_acc_I` (agreement where all steps before were right,
own tokens fed), `full_acc_I` (agreement of step I whatever the steps before were), and `reference_acc_at_pos_I` or
`reference_prefix_acc_I` (share of chains right up to there: marginal). Steps count from 0, in `prefix` from 1.
"""

from __future__ import annotations

import re
from typing import Literal

from specdoctor.analysis.acceptance import chain_from_marginal
from specdoctor.analysis.figure import FigureError, fraction
from specdoctor.core.model import Frozen

LAST_VALUES = 20
Kind = Literal["cond_acc", "reference_acc_at_pos", "reference_prefix_acc", "acc", "full_acc"]
KINDS: tuple[Kind, ...] = ("cond_acc", "reference_acc_at_pos", "reference_prefix_acc", "acc", "full_acc")
_KEY = re.compile(
    r"(?P<split>train|val|valid|validation|eval|test)?[/_.]?(?<![A-Za-z])"
    r"(?P<kind>cond_acc|full_acc|reference_acc_at_pos|reference_prefix_acc|acc)_(?P<step>\d{1,2})(?:_epoch)?"
    r"['\"]?\s*[:=]\s*['\"]?(?P<value>\d*\.?\d+(?:[eE][-+]?\d+)?)\b"
)
_HELD_OUT = ("val", "valid", "validation", "eval", "test")
CAVEATS: dict[Kind, str] = {
    "cond_acc": "conditional: own tokens fed, among chains right so far",
    "reference_acc_at_pos": "marginal in the log, made conditional here",
    "reference_prefix_acc": "marginal in the log, made conditional here",
    "acc": "by step under the text's own tokens; service feeds the drafter's own, which can only lower later steps",
    "full_acc": "by step whatever the steps before were: close to conditional, and not it",
}


class TrainerAccuracy(Frozen):
    """Conditional accuracy by step. `kind` is the key's name in the log, `held_out` whether it is of held-out data.

    `values` is how many logged values went into the first step's mean: the last ones.
    """

    rates: tuple[float, ...]
    kind: Kind
    held_out: bool
    values: int

    @property
    def caveat(self) -> str:
        return CAVEATS[self.kind]


def read_trainer_log(text: str) -> TrainerAccuracy:
    """The mean of the last values of each step, of held-out data if there are any.

    Raises FigureError when the log has no known key, misses a step, or holds what is no accuracy.
    """
    found: dict[tuple[bool, Kind], dict[int, list[float]]] = {}
    for match in _KEY.finditer(text):
        kind = next(k for k in KINDS if k == match["kind"])
        held_out = match["split"] in _HELD_OUT
        step = int(match["step"]) - (1 if kind == "reference_prefix_acc" else 0)
        found.setdefault((held_out, kind), {}).setdefault(step, []).append(float(match["value"]))
    for kind in KINDS:
        for held_out in (True, False):
            steps = found.get((held_out, kind))
            if steps:
                return _accuracy(steps, kind, held_out)
    raise FigureError(
        "no accuracy by step in this log",
        tried=f"keys {', '.join(f'{kind}_0' for kind in KINDS)}, as key: value or key=value",
        next_step="give it by step with --trained: 0.747,0.67",
    )


def _accuracy(steps: dict[int, list[float]], kind: Kind, held_out: bool) -> TrainerAccuracy:
    if sorted(steps) != list(range(len(steps))):
        raise FigureError(
            f"the log has {kind} of steps {sorted(steps)}, which leaves a hole", next_step="give it with --trained"
        )
    means = [_mean(values[-LAST_VALUES:], kind) for _, values in sorted(steps.items())]
    rates = chain_from_marginal(means).conditional if kind.startswith("reference") else tuple(means)
    return TrainerAccuracy(rates=rates, kind=kind, held_out=held_out, values=len(steps[0][-LAST_VALUES:]))


def _mean(values: list[float], kind: Kind) -> float:
    return sum(fraction(f"{kind} in the log", value) for value in values) / len(values)
