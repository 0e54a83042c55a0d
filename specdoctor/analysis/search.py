"""Which launch to make next in the search for the fastest setting, and which setting to choose in the end.

A launch is worth what it is expected to add to the throughput of the setting that is chosen after it (knowledge
gradient): the joint belief over all settings is narrowed by the cycle and the acceptance that the launch would show.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specdoctor.analysis.draft_setting import OFF, DraftSetting
from specdoctor.analysis.forecast import Forecast, narrowing
from specdoctor.core.model import Frozen

WITHIN_NOISE = 0.005
"""Settings nearer than this to the best count as equal to it; the smallest of them is chosen."""
WORTH_A_LAUNCH = 0.008
"""Expected gain in throughput below which another launch only costs downtime."""
_DRAWS = 400
_NUMBERS = 20
"""More than any launch shows: its cycle, its accept length, acceptance at 15 positions."""


class Worth(Frozen):
    """What a launch of `setting` is expected to add to the throughput chosen afterwards, as a share of it."""

    setting: DraftSetting
    gain: float


def worth_of_launches(belief: Forecast, candidates: Sequence[DraftSetting], *, seed: int = 0) -> list[Worth]:
    """The expected gain of each candidate launch, the greatest first."""
    half = np.random.default_rng(seed).standard_normal((_DRAWS // 2, _NUMBERS))
    draws = np.concatenate([half, -half])
    found = []
    for setting in candidates:
        root = narrowing(belief, setting)
        after = np.exp(belief.mean - belief.mean.max() + draws[:, : root.shape[1]] @ root.T)
        found.append(Worth(setting=setting, gain=max(0.0, float(after.max(axis=1).mean() - after.mean(axis=0).max()))))
    return sorted(found, key=lambda worth: (-worth.gain, worth.setting.size))


def likely_loss(belief: Forecast, *, seed: int = 0) -> float:
    """Expected shortfall of the setting that looks best now against the truly best, as a share of its throughput."""
    source = np.random.default_rng(seed)
    draws = source.multivariate_normal(belief.mean, belief.covariance, size=_DRAWS, method="eigh")
    speeds = np.exp(draws - belief.mean.max())
    return float((speeds.max(axis=1) - speeds[:, int(belief.mean.argmax())]).mean())


def likeliest_rival(belief: Forecast, among: Sequence[DraftSetting], *, errors: float = 1.5) -> DraftSetting | None:
    """The setting that may most easily beat no speculation; None if none would by `errors` standard errors."""
    off = belief.settings.index(OFF)

    def best_case(setting: DraftSetting) -> float:
        at = belief.settings.index(setting)
        variance = belief.covariance[at, at] + belief.covariance[off, off] - 2.0 * belief.covariance[at, off]
        return float(belief.mean[at] - belief.mean[off] + errors * np.sqrt(max(variance, 0.0)))

    rival = max(among, key=best_case, default=None)
    return rival if rival is not None and best_case(rival) > 0.0 else None


def chosen(belief: Forecast, among: Sequence[DraftSetting], *, noise: float = WITHIN_NOISE) -> DraftSetting:
    """The smallest setting within noise of the best; no speculation is the smallest of all, and stands for "off"."""
    speeds = {s: float(belief.mean[belief.settings.index(s)]) for s in (OFF, *among)}
    least = max(speeds.values()) + np.log1p(-noise)
    return min((s for s, speed in speeds.items() if speed >= least), key=lambda s: s.size)
