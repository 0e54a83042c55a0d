"""A test of the drafter alone that somebody made and left with it: the document that `drafter eval --json` prints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from specdoctor.core.estimate import Estimate
from specdoctor.core.model import Frozen

SCHEMA = "specdoctor.drafter-eval/1"


class Alone(Frozen):
    """One feeding of such a test. `conditional` is the acceptance of draft i among chains that were right so far, each
    draft fed with the drafter's own, as in service.
    """

    where: str
    states: tuple[str, ...]
    conditional: tuple[Estimate, ...]

    def accept_length(self, steps: int) -> Estimate | None:
        """Accept length with the bonus token of a chain; None for a longer one than was tested."""
        if not 0 < steps <= len(self.conditional):
            return None
        value, low, high = (
            _length([getattr(rate, end) for rate in self.conditional[:steps]]) for end in ("value", "low", "high")
        )
        estimator = "the drafter alone, on stored states, fed with its own drafts; bonus token included"
        n = self.conditional[0].n
        return Estimate(value=value, low=low, high=high, unit="tokens/cycle", estimator=estimator, n=n)


def alone(texts: Mapping[str, str], states: tuple[str, ...]) -> Alone | None:
    """The newest-named test that fed these states in this order; None where no document tells of one."""
    found = [one for where in sorted(texts) for one in _read(where, texts[where]) if one.states == states]
    return found[-1] if found else None


def _read(where: str, text: str) -> list[Alone]:
    try:
        data = json.loads(text) if SCHEMA in text else None
    except (ValueError, RecursionError):
        return []
    fed = data.get("fed") if isinstance(data, Mapping) and data.get("schema") == SCHEMA else None
    found = [_fed(where, one) for one in fed if isinstance(one, Mapping)] if isinstance(fed, list) else []
    return [one for one in found if one is not None]


def _fed(where: str, fed: Mapping[str, Any]) -> Alone | None:
    states, steps = fed.get("states"), fed.get("steps")
    if not isinstance(states, list) or not isinstance(steps, list):
        return None
    rates: list[Estimate] = []
    for step in steps:
        try:
            rate = Estimate.model_validate(step.get("own") if isinstance(step, Mapping) else None)
        except ValidationError:
            break
        if not 0.0 <= rate.low <= rate.high <= 1.0:
            return None
        rates.append(rate)
    return Alone(where=where, states=tuple(map(str, states)), conditional=tuple(rates)) if rates else None


def _length(rates: list[float]) -> float:
    total, reached = 1.0, 1.0
    for rate in rates:
        reached *= rate
        total += reached
    return total
