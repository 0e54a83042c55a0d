"""What one launch showed at one concurrency, as forecasts take it."""

from __future__ import annotations

from specdoctor.analysis.draft_setting import DraftSetting
from specdoctor.analysis.interval import Estimate
from specdoctor.core.model import Frozen


class WideStep(Frozen):
    """A decode step without speculation of `requests` at once, over that of one alone, in the same launch."""

    requests: int
    slower: Estimate


class LaunchFigures(Frozen):
    """One launch measured at one concurrency: a decode step (a cycle) in ms, throughput in tok/s of all requests.

    `accept_length` includes the bonus token; `conditional` lists the conditional acceptance by draft position.
    `wide` tells what a forward of more tokens costs, where a launch without speculation was asked by more clients.
    """

    setting: DraftSetting
    step: Estimate
    throughput: Estimate
    accept_length: Estimate | None = None
    conditional: tuple[Estimate, ...] = ()
    wide: tuple[WideStep, ...] = ()
